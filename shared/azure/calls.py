"""Calls to services, each with a deadline and metrics."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType

from shared.azure.telemetry.metrics import Metrics, pipeline_metrics
from shared.core.errors import ServiceSilentError, add_details

TICKS = 4


REQUEST_SECONDS = 2.0  # the deadline of a read in a request. All other deadlines are multiples.
WRITE_TIMES = 1.5  # longer, because a write is harder to repeat
STAGE_TIMES = 15  # no person waits for a stage
SLOW_SHARE = 0.5  # a call that takes a larger share of its deadline is logged and counted

# The services that did not answer the current request. They are not called again.
_silent: ContextVar[set[str] | None] = ContextVar("silent", default=None)


def is_request() -> bool:
    return _silent.get() is not None


@contextmanager
def as_request() -> Iterator[None]:
    """Give calls inside the deadlines of a request: a page, the API, or a command with output."""
    token = _silent.set(set())
    try:
        yield
    finally:
        _silent.reset(token)


@contextmanager
def as_in_stage() -> Iterator[None]:
    """Give calls inside the deadlines of a stage although a user waits, because a chat model is slow."""
    token = _silent.set(None)
    try:
        yield
    finally:
        _silent.reset(token)


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
    def __init__(
        self, dependency: str, metrics: Metrics | None = None, *, request_seconds: float = REQUEST_SECONDS
    ) -> None:
        self._dependency = dependency
        self._metrics = metrics or pipeline_metrics()
        self._request_seconds = request_seconds

    @property
    def service(self) -> str:
        return SERVICE_NAMES.get(self._dependency, self._dependency)

    def measured(
        self, operation: str, *, writes: bool = False, stage_seconds: float | None = None
    ) -> "MeasuredCall":
        """Measure the call inside. Its deadline depends on its kind. `stage_seconds` is for a stage."""
        if is_request():
            seconds = self._request_seconds * (WRITE_TIMES if writes else 1)
        else:
            seconds = stage_seconds or self._request_seconds * STAGE_TIMES
        return MeasuredCall(self, operation, seconds)

    def refuse_silent(self, operation: str) -> None:
        if self._dependency in (_silent.get() or ()):
            raise ServiceSilentError(f"{self.service} does not answer ({operation})", self.service)

    def silent(self, operation: str, allowed: float) -> ServiceSilentError:
        if (silent := _silent.get()) is not None:
            silent.add(self._dependency)
        return ServiceSilentError(
            f"{self.service} did not answer within {allowed:g} s ({operation})", self.service
        )

    def report(self, operation: str, outcome: str, seconds: float, allowed: float) -> None:
        attributes = {"dependency": self._dependency, "operation": operation}
        self._metrics.dependency_duration.record(seconds, attributes)
        self._metrics.dependency_calls.add(1, {**attributes, "outcome": outcome})
        if seconds > allowed * SLOW_SHARE:
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
    """The context of a call. Its deadline is counted in ticks, so a pause of the process costs one tick."""

    __slots__ = ("_allowed", "_calls", "_operation", "_started", "_timeout", "_timer")

    def __init__(self, calls: Calls, operation: str, allowed: float) -> None:
        self._calls, self._operation, self._allowed = calls, operation, allowed

    async def __aenter__(self) -> Callable[[], None]:
        self._calls.refuse_silent(self._operation)
        self._started, self._timeout = time.perf_counter(), asyncio.timeout(None)
        await self._timeout.__aenter__()
        self._tick(TICKS)
        return self._renew

    def _renew(self) -> None:
        if not self._timeout.expired():
            self._timer.cancel()
            self._tick(TICKS)

    def _tick(self, left: int) -> None:
        loop = asyncio.get_running_loop()
        if left:
            self._timer = loop.call_later(self._allowed / TICKS, self._tick, left - 1)
        else:
            self._timeout.reschedule(loop.time())

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        outcome = "ok" if error is None else "error"
        try:
            await self._timeout.__aexit__(error_type, error, traceback)
            if isinstance(error, TimeoutError) and self._timeout.expired():
                raise error
            if isinstance(error, Exception) and not isinstance(error, TimeoutError):
                add_details(error, service=self._calls.service)
        except TimeoutError as late:
            outcome = "deadline"
            raise self._calls.silent(self._operation, self._allowed) from late
        finally:
            self._calls.report(self._operation, outcome, time.perf_counter() - self._started, self._allowed)
