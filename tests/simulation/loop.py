"""An event loop with one thread, virtual time, and hosts that can stop between any two of their steps.

Time jumps to the next timer when no callback is ready. The callbacks of a crashed host are dropped, so no
`finally` runs, as after SIGKILL. The callbacks of a paused host wait, in order, until it continues.
"""

import asyncio
import contextvars
import heapq
from asyncio import base_events
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol


class Process(Protocol):
    """A host, as far as the loop needs it."""

    alive: bool
    paused: bool
    backlog: list[Any]


HOST: contextvars.ContextVar[Any] = contextvars.ContextVar("HOST", default=None)
NOBODY = contextvars.Context()  # the services' own context, which no host's crash stops


class QuietError(Exception):
    """Nothing can happen any more."""


class Step:
    """A callback that waits for its turn or its time: a reduced asyncio handle."""

    __slots__ = ("args", "callback", "context", "is_cancelled", "time")

    def __init__(self, callback: Any, args: tuple[Any, ...], context: Any, time: float) -> None:
        self.callback, self.args = callback, args
        self.context = contextvars.copy_context() if context is None else context
        self.time, self.is_cancelled = time, False

    def cancel(self) -> None:
        """Release the callback, which often references the step, so that no collector is needed."""
        self.is_cancelled, self.callback, self.args = True, None, ()

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self.time


class VirtualLoop(base_events.BaseEventLoop):
    def __init__(self, think: Callable[[], float], start: float = 0.0) -> None:
        """Create the loop. `think` returns the seconds that work in a thread takes."""
        super().__init__()
        self._steps: deque[Step] = deque()
        self._timers: list[tuple[float, int, Step]] = []  # a heap, with the earlier step first at equal times
        self._timer_number = 0
        self._virtual = start
        self._stopping: bool
        self._think = think
        # A crash destroys the pending tasks of its host, so warnings about them are expected.
        self.set_exception_handler(lambda _loop, _context: None)

    def run_forever(self) -> None:
        """Run without the hooks for asynchronous generators, because a crash never closes its own."""
        asyncio._set_running_loop(self)
        try:
            self._run_once()
        finally:
            self._stopping = False
            asyncio._set_running_loop(None)

    def time(self) -> float:
        return self._virtual

    def call_soon(  # type: ignore[override]  # these three omit the names of their types
        self, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        step = Step(callback, args, context, self._virtual)
        self._steps.append(step)
        return step

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        step = Step(callback, args, context, when)
        self._timer_number += 1
        heapq.heappush(self._timers, (when, self._timer_number, step))
        return step

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        return self.call_at(self._virtual + delay, callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Any, *args: Any
    ) -> "asyncio.Future[Any]":
        """Run the work in this thread, a little later. The caller's host may crash before or after it."""
        future = self.create_future()

        def run() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except Exception as error:  # noqa: BLE001 - it is raised where the future is awaited
                future.set_exception(error)

        self.call_later(self._think(), run)
        return future

    def resume(self, process: Process) -> None:
        process.paused = False
        self._steps.extend(process.backlog)
        process.backlog.clear()

    def _write_to_self(self) -> None:
        """Nothing to wake: there is no selector."""

    def _process_events(self, event_list: Any) -> None:
        """Nothing to process: there are no sockets."""

    def _run_once(self) -> None:
        """Run until the loop is stopped. The stop runs as a step, so it takes effect after that step."""
        steps, timers = self._steps, self._timers
        while not self._stopping:
            if not steps:
                self._jump()
            while timers and timers[0][0] <= self._virtual:
                steps.append(heapq.heappop(timers)[2])
            for _ in range(len(steps)):
                self._run_step(steps.popleft())

    def _run_step(self, step: Step) -> None:
        if step.is_cancelled:
            return
        process = step.context.get(HOST)
        if process is not None:
            if not process.alive:
                return
            if process.paused:
                process.backlog.append(step)
                return
        step.context.run(step.callback, *step.args)

    def _jump(self) -> None:
        timers = self._timers
        while timers and timers[0][2].is_cancelled:
            heapq.heappop(timers)
        if not timers:
            raise QuietError
        self._virtual = max(self._virtual, timers[0][0])
