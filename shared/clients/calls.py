"""Calls to services: each has a deadline, and is measured."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from shared.clients.telemetry.metrics import Metrics, pipeline_metrics
from shared.core.errors import ServiceSilentError, add_details
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


log = logging.getLogger(__name__)
SERVICE_NAMES = {
    "cosmos": "Cosmos DB",
    "servicebus": "Service Bus",
    "search": "AI Search",
    "blobs": "Blob storage",
    "embedding": "the embedding service",
    "encoder": "the encoder",
    "chat": "the chat model",
}


class Calls:
    """The calls to one dependency."""

    def __init__(
        self, dependency: str, metrics: Metrics | None = None, *, deadlines: Deadlines | None = None
    ) -> None:
        self._dependency = dependency
        self._metrics = metrics or pipeline_metrics()
        self._deadlines = deadlines or Deadlines()

    @property
    def service(self) -> str:
        return SERVICE_NAMES.get(self._dependency, self._dependency)

    def measured(
        self, operation: str, *, writes: bool = False, stage_seconds: float | None = None
    ) -> "MeasuredCall":
        """The call inside, with the deadline of its kind; `stage_seconds` is a stage's where it is another.

        It is given what renews the deadline, for a transfer that makes progress. An error that goes through
        says of which service it is.
        """
        return MeasuredCall(self, operation, self._deadlines.seconds(writes=writes, stage=stage_seconds))

    def refuse_silent(self, operation: str) -> None:
        """Of one request, a service is waited for once."""
        request = current_request()
        if request is not None and self._dependency in request.silent:
            raise ServiceSilentError(f"{self.service} does not answer ({operation})", self.service)

    def silent(self, operation: str, allowed: float) -> ServiceSilentError:
        request = current_request()
        if request is not None:
            request.silent.add(self._dependency)
        return ServiceSilentError(
            f"{self.service} did not answer within {allowed:g} s ({operation})", self.service
        )

    def report(self, operation: str, outcome: str, seconds: float, allowed: float) -> None:
        attributes = {"dependency": self._dependency, "operation": operation}
        self._metrics.dependency_duration.record(seconds, attributes)
        self._metrics.dependency_calls.add(1, {**attributes, "outcome": outcome})
        if seconds > allowed * self._deadlines.slow_share:
            self._metrics.dependency_slow.add(1, attributes)
            log.warning(
                "a slow call: %s took %.1f s for %s (%s); its deadline is %g s",
                self.service, seconds, operation, outcome, allowed,
            )  # fmt: skip

    def throttled(self) -> None:
        self._metrics.dependency_throttled.add(1, {"dependency": self._dependency})

    def request_units(self, charge: float, container: str) -> None:
        self._metrics.request_units.add(charge, {"container": container})


class MeasuredCall:
    """One call, as a context. A class, because a generator costs more, and there is one for every call."""

    __slots__ = ("_allowed", "_calls", "_deadline", "_operation", "_started")

    def __init__(self, calls: Calls, operation: str, allowed: float) -> None:
        self._calls, self._operation, self._allowed = calls, operation, allowed
        self._deadline = Deadline(allowed)

    async def __aenter__(self) -> Callable[[], None]:
        self._calls.refuse_silent(self._operation)
        self._started = time.perf_counter()
        await self._deadline.__aenter__()
        return self._deadline.renew

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        outcome = "ok" if error is None else "error"
        try:
            await self._deadline.__aexit__(error_type, error, traceback)
        except TimeoutError as late:
            outcome = "deadline"
            raise self._calls.silent(self._operation, self._allowed) from late
        else:
            if isinstance(error, TimeoutError) and self._deadline.expired:
                outcome = "deadline"
                raise self._calls.silent(self._operation, self._allowed) from error
            if isinstance(error, Exception) and not isinstance(error, TimeoutError):
                add_details(error, service=self._calls.service)
        finally:
            self._calls.report(self._operation, outcome, time.perf_counter() - self._started, self._allowed)
