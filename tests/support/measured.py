"""Metrics for a test: its own instruments, and their recorded values."""

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from shared.azure.telemetry.metrics import Metrics


class Measured:
    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.metrics = Metrics.on(MeterProvider([self._reader], shutdown_on_exit=False).get_meter("test"))

    def take(self, name: str) -> dict[tuple[str, ...], Any]:
        """Return values by labels: a counter's or gauge's value, a histogram's sum."""
        data = self._reader.get_metrics_data()
        return {
            tuple(str(value) for value in (point.attributes or {}).values()): getattr(
                point, "sum", getattr(point, "value", None)
            )
            for resource in (data.resource_metrics if data else [])
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        }
