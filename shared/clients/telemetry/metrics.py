"""The instruments of the pipeline and of the sweep."""

from dataclasses import dataclass
from functools import lru_cache

from opentelemetry import metrics
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.metrics import _Gauge as Gauge

from shared.clients.telemetry.tracing import INSTRUMENTATION

__all__ = ["Metrics", "SweepMetrics", "pipeline_metrics", "sweep_metrics"]


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
    chunks_created: Counter
    chunk_size: Histogram
    queue_depth: Gauge
    dead_letters: Gauge

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
            chunks_created=meter.create_counter("chunks_created_total"),
            chunk_size=meter.create_histogram("chunk_size_tokens"),
            queue_depth=meter.create_gauge("queue_depth"),
            dead_letters=meter.create_gauge("dead_letter_depth"),
        )


@lru_cache(maxsize=1)
def pipeline_metrics() -> Metrics:
    return Metrics.on(metrics.get_meter(INSTRUMENTATION))


@dataclass(frozen=True)
class SweepMetrics:
    requeued: Counter
    skipped_backoff: Counter
    max_retries_exceeded: Counter
    held_back: Counter
    runs: Counter
    errors: Counter
    stuck: Gauge
    failed: Gauge
    circuit_open: Gauge
    duration: Histogram
    inconsistencies: Gauge

    @classmethod
    def on(cls, meter: Meter) -> "SweepMetrics":
        return cls(
            requeued=meter.create_counter("retry_job_documents_requeued_total"),
            skipped_backoff=meter.create_counter("retry_job_documents_skipped_backoff_total"),
            max_retries_exceeded=meter.create_counter("retry_job_documents_max_retries_exceeded_total"),
            held_back=meter.create_counter("retry_job_documents_held_back_total"),
            runs=meter.create_counter("retry_job_runs_total"),
            errors=meter.create_counter("retry_job_errors_total"),
            stuck=meter.create_gauge("retry_job_stuck_documents"),
            failed=meter.create_gauge("retry_job_failed_documents"),
            circuit_open=meter.create_gauge("retry_job_circuit_open"),
            duration=meter.create_histogram("retry_job_duration_seconds", unit="s"),
            inconsistencies=meter.create_gauge("inconsistent_documents"),
        )


@lru_cache(maxsize=1)
def sweep_metrics() -> SweepMetrics:
    return SweepMetrics.on(metrics.get_meter(INSTRUMENTATION))
