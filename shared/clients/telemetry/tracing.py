"""The metrics and spans of the pipeline, by the names of the specification.

Instruments come from OpenTelemetry's global meter, which does nothing until an exporter is configured: a test
puts a reader there, the app Azure Monitor (`shared/clients/telemetry/setup.py`). Attributes never hold message
bodies, addresses or secrets.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from opentelemetry import baggage, context, metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.metrics import _Gauge as Gauge
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

__all__ = [
    "Metrics",
    "SweepMetrics",
    "carried",
    "pipeline_metrics",
    "received",
    "set_ids",
    "span",
    "started_by",
    "sweep_metrics",
    "tracer",
]

INSTRUMENTATION = "rough-consensus"
ARCHIVE = "pipeline.archive_id"
# Azure Monitor cuts an attribute at 8,192 characters: as many ids as surely fit.
MOST_IDS = 400


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


def tracer() -> trace.Tracer:
    return trace.get_tracer(INSTRUMENTATION)


@contextmanager
def span(
    name: str,
    *,
    parent: Context | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, str | int] | None = None,
) -> Iterator[Span]:
    """A span around some work. An error that goes through is told by its type: its text may hold mail."""
    with (
        _within(parent),
        tracer().start_as_current_span(
            name, kind=kind, record_exception=False, set_status_on_exception=False
        ) as started,
    ):
        started.set_attributes(dict(attributes or {}))
        archive = baggage.get_baggage(ARCHIVE)
        if isinstance(archive, str):
            started.set_attribute(ARCHIVE, archive)
        try:
            yield started
        except BaseException as error:
            started.set_attribute("pipeline.error_type", type(error).__name__)
            started.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def set_ids(of: Span, name: str, ids: Sequence[str]) -> None:
    """One under `pipeline.<name>`; several, each once, under `pipeline.<name>s`."""
    each_once = list(dict.fromkeys(ids))
    if len(each_once) == 1:
        of.set_attribute(f"pipeline.{name}", each_once[0])
    elif each_once:
        of.set_attribute(f"pipeline.{name}s", " ".join(each_once[:MOST_IDS]))


@contextmanager
def started_by(archive_id: str) -> Iterator[None]:
    """What is published in here, and what follows from it, says which archive it goes back to."""
    trace.get_current_span().set_attribute(ARCHIVE, archive_id)
    with _within(baggage.set_baggage(ARCHIVE, archive_id)):
        yield


@contextmanager
def _within(parent: Context | None) -> Iterator[None]:
    """With the parent's span and all that it carries, or as it is."""
    if parent is None:
        yield
        return
    token = context.attach(parent)
    try:
        yield
    finally:
        context.detach(token)


def carried() -> dict[str, str]:
    """The trace as a message's properties: `traceparent`, and where it began.

    The Functions host reads the parent of an invocation from `Diagnostic-Id`.
    """
    properties: dict[str, str] = {}
    propagate.inject(properties)
    if "traceparent" in properties:
        properties["Diagnostic-Id"] = properties["traceparent"]
    return properties


def received(properties: Mapping[str, object]) -> Context:
    """The trace that a message carries."""
    return propagate.extract({name: str(value) for name, value in properties.items()})
