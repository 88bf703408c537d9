"""Every call to a dependency is measured: how often, how long, how it ended."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.clients.telemetry.metrics import Metrics, pipeline_metrics


class Calls:
    """The measurements of one dependency."""

    def __init__(self, dependency: str, metrics: Metrics | None = None) -> None:
        self._dependency = dependency
        self._metrics = metrics or pipeline_metrics()

    @asynccontextmanager
    async def measured(self, operation: str) -> AsyncIterator[None]:
        attributes = {"dependency": self._dependency, "operation": operation}
        started, outcome = time.perf_counter(), "error"
        try:
            yield
            outcome = "ok"
        finally:
            self._metrics.dependency_duration.record(time.perf_counter() - started, attributes)
            self._metrics.dependency_calls.add(1, {**attributes, "outcome": outcome})

    def throttled(self) -> None:
        self._metrics.dependency_throttled.add(1, {"dependency": self._dependency})

    def request_units(self, charge: float, container: str) -> None:
        self._metrics.request_units.add(charge, {"container": container})
