"""One thread, virtual time, and hosts that can stop between any two of their steps.

Time jumps to the next timer when nothing is ready. The callbacks of a host that has crashed are dropped: no
`finally` runs, as after SIGKILL. Those of a host that is paused wait, in order, until it goes on.
"""

import asyncio
import contextvars
import heapq
from asyncio import base_events
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol


class Process(Protocol):
    """A host, as far as the loop cares."""

    alive: bool
    paused: bool
    backlog: list[Any]


HOST: contextvars.ContextVar[Any] = contextvars.ContextVar("HOST", default=None)
NOBODY = contextvars.Context()  # the services' own context: no host's death stops them


class QuietError(Exception):
    """Nothing is left that could happen."""


class VirtualLoop(base_events.BaseEventLoop):
    def __init__(self, think: Callable[[], float]) -> None:
        """`think` gives the seconds that work in a thread takes."""
        super().__init__()
        self._ready: deque[Any]
        self._scheduled: list[Any]
        self._virtual = 0.0
        self._think = think
        self.steps = 0
        # A task of a crashed host is destroyed while it is pending: that is what the crash means.
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self) -> float:
        return self._virtual

    def call_soon_threadsafe(  # type: ignore[override]  # without the names of its types
        self, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Any, *args: Any
    ) -> "asyncio.Future[Any]":
        """In this thread, a little later: the caller's host may crash before or after."""
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
        self._ready.extend(process.backlog)
        process.backlog.clear()

    def _write_to_self(self) -> None:
        """There is no selector to wake."""

    def _process_events(self, event_list: Any) -> None:
        """There are no sockets."""

    def _run_once(self) -> None:
        ready, timers = self._ready, self._scheduled
        if not ready:
            self._jump(timers)
        while timers and timers[0]._when <= self._virtual:
            handle = heapq.heappop(timers)
            handle._scheduled = False
            if not handle._cancelled:
                ready.append(handle)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            process = handle._context.get(HOST)
            if process is not None:
                if not process.alive:
                    continue
                if process.paused:
                    process.backlog.append(handle)
                    continue
            self.steps += 1
            handle._run()

    def _jump(self, timers: list[Any]) -> None:
        while timers and timers[0]._cancelled:
            heapq.heappop(timers)._scheduled = False
        if not timers:
            raise QuietError
        self._virtual = max(self._virtual, timers[0]._when)
