"""Every call to a dependency has a deadline, and is measured: how often, how long, how it ended."""

import logging
import time
from collections.abc import Callable
from types import TracebackType

from shared.clients.deadlines import Deadline, Deadlines, current_request
from shared.clients.telemetry.metrics import Metrics, pipeline_metrics
from shared.core.errors import ServiceSilentError, add_details

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
