"""Ways between the host's loop and the app's code, which runs elsewhere.

Under load a wake-up for each call would cost more than the call, so a loop is woken once for all that wait.
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
    """Hands calls from one thread's loop, or from threads without any, to another loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, source: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._loop = loop
        self._source = source
        self._calls: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._woken = False

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        # Appended before the flag is read, which is cleared before the queue is: no call is left behind.
        self._calls.append((function, arguments))
        if self._woken:
            return
        self._woken = True
        if self._source is None:
            self._wake()
        else:
            self._source.call_soon(self._wake)  # when this round of it is over, for all calls that it makes

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
            if calls:  # one of them has raised: that is no reason to forget the others
                self._loop.call_soon(self._run_calls)


class LoopThread:
    """A loop in a thread of its own, for the app's async functions."""

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
    """Runs sync functions. The threads are daemons: one that never returns does not keep the process.

    One thread is woken for a round of calls and takes them in turn; if some still wait a moment later, since
    one of them blocks, as many more are woken as there is work for. So short functions do not pay for a
    wake-up each, and blocking ones run side by side.
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
        """From the loop only."""
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
        """End the threads that are idle, and the others once they are."""
        for _ in range(self._started):
            self._wakeups.put(_END)
