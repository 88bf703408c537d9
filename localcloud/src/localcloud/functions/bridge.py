"""Bridges between the host's loop and the threads that run the app's code.

A wake-up for each call would cost more than the call, so one wake-up serves all waiting calls.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

PATIENCE_SECONDS = 0.001
_WORK, _END = "work", "end"


class LoopBridge:
    """Passes calls from one thread's loop, or from threads without a loop, to another loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, source: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._loop = loop
        self._source = source
        self._calls: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._woken = False

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        # Append before reading the flag. _run_calls clears the flag before it empties the queue, so no call
        # is lost.
        self._calls.append((function, arguments))
        if self._woken:
            return
        self._woken = True
        if self._source is None:
            self._wake()
        else:
            self._source.call_soon(self._wake)  # at the end of this iteration, for all its calls

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._run_calls)

    def _run_calls(self) -> None:
        self._woken = False
        calls = self._calls
        try:
            while calls:
                function, arguments = calls.popleft()
                function(*arguments)
        finally:
            if calls:  # a call has raised: run the others later
                self._loop.call_soon(self._run_calls)


class LoopThread:
    """A loop in its own thread, for the app's async functions."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._thread = threading.Thread(target=self._run, name="functions-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def stop(self, seconds: float) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(seconds)


class FunctionThreads:
    """Runs sync functions in daemon threads, so that a function that never returns does not block the exit.

    One thread is woken for a batch of calls. If calls still wait a moment later, because a function blocks,
    more threads are woken. Short functions therefore share a wake-up, and blocking functions run in parallel.
    """

    def __init__(self, size: int, loop: asyncio.AbstractEventLoop) -> None:
        self._size = size
        self._loop = loop
        self._work: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._wakeups: SimpleQueue[str] = SimpleQueue()
        self._started = 0
        self._idle = 0
        self._lock = threading.Lock()
        self._looking = False

    def submit(self, function: Callable[..., object], *arguments: Any) -> None:
        """Queue a call. Only the loop may call this."""
        self._work.append((function, arguments))
        if not self._looking:
            self._looking = True
            self._loop.call_soon(self._wake, 1)

    def _wake(self, most: int) -> None:
        for _ in range(min(most, len(self._work))):
            if not self._idle and self._started < self._size:
                self._started += 1
                threading.Thread(target=self._run, name=f"function-{self._started}", daemon=True).start()
            self._wakeups.put(_WORK)
        self._looking = bool(self._work)
        if self._looking:
            self._loop.call_later(PATIENCE_SECONDS, self._wake, self._size)

    def _run(self) -> None:
        while True:
            self._count(1)
            wakeup = self._wakeups.get()
            self._count(-1)
            if wakeup == _END:
                return
            self._take_work()

    def _take_work(self) -> None:
        while self._work:
            try:
                function, arguments = self._work.popleft()
            except IndexError:  # another thread was faster
                return
            function(*arguments)

    def _count(self, change: int) -> None:
        with self._lock:
            self._idle += change

    def close(self) -> None:
        """End all threads, once they are idle."""
        for _ in range(self._started):
            self._wakeups.put(_END)
