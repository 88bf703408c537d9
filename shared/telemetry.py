"""The metrics and spans of the pipeline, by the names of the specification.

Instruments come from OpenTelemetry's global meter, which does nothing until an exporter is configured: a test
puts a reader there, the app Azure Monitor. Attributes never hold message bodies, addresses or secrets.
"""

from dataclasses import dataclass
from functools import lru_cache

from opentelemetry import metrics, trace
from opentelemetry.metrics import Counter, Histogram, Meter

__all__ = ["Metrics", "pipeline_metrics", "tracer"]

INSTRUMENTATION = "rough-consensus"


@dataclass(frozen=True)
class Metrics:
    events_processed: Counter
    failures: Counter
    processing_duration: Histogram
    retry_success: Counter
    retry_latency: Histogram
    retry_dlq: Counter
    retry_attempts: Histogram
    dependency_calls: Counter
    dependency_duration: Histogram
    dependency_throttled: Counter
    request_units: Counter

    @classmethod
    def on(cls, meter: Meter) -> "Metrics":
        return cls(
            events_processed=meter.create_counter("events_processed_total"),
            failures=meter.create_counter("failures_total"),
            processing_duration=meter.create_histogram("processing_duration_seconds", unit="s"),
            retry_success=meter.create_counter("event_retry_success_total"),
            retry_latency=meter.create_histogram("event_retry_latency_seconds", unit="s"),
            retry_dlq=meter.create_counter("event_retry_dlq_total"),
            retry_attempts=meter.create_histogram("event_retry_attempt_count"),
            dependency_calls=meter.create_counter("dependency_calls_total"),
            dependency_duration=meter.create_histogram("dependency_duration_seconds", unit="s"),
            dependency_throttled=meter.create_counter("dependency_throttled_total"),
            request_units=meter.create_counter("cosmos_request_units_total", unit="RU"),
        )


@lru_cache(maxsize=1)
def pipeline_metrics() -> Metrics:
    return Metrics.on(metrics.get_meter(INSTRUMENTATION))


def tracer() -> trace.Tracer:
    return trace.get_tracer(INSTRUMENTATION)
