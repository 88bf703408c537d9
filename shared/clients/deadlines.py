"""How long a call to a service may take: by who waits for it, and whether it writes.

Somebody at a page waits seconds, a stage half a minute. Who waits is a context variable, set where a request
comes in; a call that nobody set it for is a stage's.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from shared.settings.app import Settings

TICKS = 4


@dataclass(frozen=True)
class Deadlines:
    """In seconds, one for each kind of call. All follow from REQUEST_SECONDS."""

    request_read: float = 2.0
    request_write: float = 4.0  # twice as long: a write is not repeated as easily
    stage: float = 30.0  # 15 times as long: no person waits for a stage
    slow_share: float = 0.5  # of its deadline: a call that takes longer is logged and counted

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(
            request_read=settings.REQUEST_SECONDS,
            request_write=2 * settings.REQUEST_SECONDS,
            stage=15 * settings.REQUEST_SECONDS,
        )

    def seconds(self, *, writes: bool, stage: float | None = None) -> float:
        """Of a call now. A stage may wait longer for some services: `stage` says how long."""
        if _request.get() is None:
            return self.stage if stage is None else stage
        return self.request_write if writes else self.request_read


@dataclass
class WaitingRequest:
    """One request of somebody who waits."""

    silent: set[str] = field(default_factory=set)  # services that did not answer: they are not asked again


_request: ContextVar[WaitingRequest | None] = ContextVar("request", default=None)


def current_request() -> WaitingRequest | None:
    return _request.get()


@contextmanager
def somebody_waits() -> Iterator[WaitingRequest]:
    """Calls inside are those of a request: a page, the API, or a command that shows something."""
    request = WaitingRequest()
    token = _request.set(request)
    try:
        yield request
    finally:
        _request.reset(token)


class Deadline:
    """Ends the work inside by a TimeoutError after so many seconds without progress.

    The time is counted in ticks of a running event loop. Where our own process stood still, whatever the
    reason, the answer may long be there, waiting to be read: a pause counts as one tick, however long it was.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.expired = False
        self._left = TICKS
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline is for the work of a task")
        self._task, self._cancelling = task, task.cancelling()
        self._loop = asyncio.get_running_loop()
        self._wait()
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()
        # As asyncio.timeout does it: where somebody else cancelled the task as well, that one counts.
        if (
            self.expired
            and self._task.uncancel() <= self._cancelling
            and error_type is asyncio.CancelledError
        ):
            raise TimeoutError from error

    def renew(self) -> None:
        """Something came: count from here."""
        if not self.expired:
            self._stop()
            self._left = TICKS
            self._wait()

    def _wait(self) -> None:
        self._timer = self._loop.call_later(self.seconds / TICKS, self._tick)

    def _tick(self) -> None:
        self._left -= 1
        if self._left:
            self._wait()
        else:
            self.expired = True
            self._task.cancel()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
