"""The real exporters, with a receiver behind them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from azure.monitor.opentelemetry.exporter import AzureMonitorMetricExporter, AzureMonitorTraceExporter
from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind

from shared.azure.telemetry.metrics import METRICS, MetricKind, Metrics
from tests.support.receiver import Receiver, receiving

QUIET = ("STATSBEAT_DISABLED_ALL", "SDKSTATS_DISABLED", "CONTROLPLANE_DISABLED")


@dataclass
class Sender:
    """Emits as the app does, with the real exporter."""

    receiver: Receiver
    provider: MeterProvider
    tracers: TracerProvider
    instruments: dict[str, Any] = field(default_factory=dict)

    @property
    def meter(self) -> Meter:
        return self.provider.get_meter("alerts")

    @property
    def metrics(self) -> Metrics:
        return Metrics.on(self.meter)

    def emit(self, name: str, value: float, /, **labels: str) -> None:
        """Emit one value of a listed metric, with exactly its labels."""
        listed = METRICS[name]
        assert frozenset(labels) == listed.labels, name
        if name not in self.instruments:
            make: dict[MetricKind, Callable[[str], Any]] = {
                MetricKind.COUNTER: self.meter.create_counter,
                MetricKind.GAUGE: self.meter.create_gauge,
                MetricKind.HISTOGRAM: self.meter.create_histogram,
            }
            self.instruments[name] = make[listed.kind](name)
        record = {MetricKind.COUNTER: "add", MetricKind.GAUGE: "set", MetricKind.HISTOGRAM: "record"}[
            listed.kind
        ]
        getattr(self.instruments[name], record)(value, labels)
        self.provider.force_flush()

    def answer(self, status: int) -> None:
        """Emit a request as the Functions host reports it."""
        attributes: dict[str, str | int] = {
            "http.request.method": "GET",
            "http.response.status_code": status,
            "url.path": "/api/x",
        }
        tracer = self.tracers.get_tracer("host")
        tracer.start_span("GET x", kind=SpanKind.SERVER, attributes=attributes).end()


@pytest.fixture
def sender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sender]:
    for name in QUIET:
        monkeypatch.setenv(f"APPLICATIONINSIGHTS_{name}", "true")
    with receiving(tmp_path) as receiver:
        options: dict[str, Any] = {
            "connection_string": receiver.connection_string,
            "disable_offline_storage": True,
        }
        reader = PeriodicExportingMetricReader(AzureMonitorMetricExporter(**options))
        provider, tracers = MeterProvider([reader], shutdown_on_exit=False), TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(AzureMonitorTraceExporter(**options)))
        yield Sender(receiver, provider, tracers)
        provider.shutdown()
        tracers.shutdown()
