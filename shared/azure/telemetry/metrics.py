"""The app's spans and metrics. Each metric is declared once with its name, kind, unit and labels.

`requirement` is the number of the requirement in docs/requirements.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any, ClassVar, Self, TypeAlias

from opentelemetry import baggage, context, metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.metrics import _Gauge as Gauge
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

INSTRUMENTATION = "rough-consensus"
ARCHIVE = "pipeline.archive_id"
# Azure Monitor cuts an attribute at 8,192 characters. This number of ids always fits.
MOST_IDS = 400
# Other packages use this name, because they do not import the SDK.
PipelineSpan: TypeAlias = Span


@contextmanager
def span(
    name: str,
    *,
    parent: Context | None = None,
    kind: SpanKind = SpanKind.INTERNAL,
    attributes: Mapping[str, str | int] | None = None,
) -> Iterator[Span]:
    """Open a span. An error is recorded by its type alone, because its text may quote mail."""
    with (
        _within(context.get_current() if parent is None else parent),
        trace.get_tracer(INSTRUMENTATION).start_as_current_span(
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
            mark_failed(type(error).__name__)
            raise


def mark_failed(error_type: str) -> None:
    """Mark the current span as failed."""
    active = trace.get_current_span()
    active.set_attribute("pipeline.error_type", error_type)
    active.set_status(Status(StatusCode.ERROR, error_type))


def consumer_span(
    name: str, properties: Mapping[str, object], *, attributes: Mapping[str, str | int] | None = None
) -> AbstractContextManager[Span]:
    parent = propagate.extract({key: str(value) for key, value in properties.items()})
    return span(name, parent=parent, kind=SpanKind.CONSUMER, attributes=attributes)


def current_trace_id() -> str | None:
    active = trace.get_current_span().get_span_context()
    return trace.format_trace_id(active.trace_id) if active.is_valid else None


def set_ids(of: Span, name: str, ids: Sequence[str]) -> None:
    """Set one id as `pipeline.<name>`, or several distinct ids as `pipeline.<name>s`."""
    each_once = list(dict.fromkeys(ids))
    if len(each_once) == 1:
        of.set_attribute(f"pipeline.{name}", each_once[0])
    elif each_once:
        of.set_attribute(f"pipeline.{name}s", " ".join(each_once[:MOST_IDS]))


@contextmanager
def tag_with_archive(archive_id: str) -> Iterator[None]:
    """Add the archive's id to the trace of all events that are published inside and that follow from them."""
    trace.get_current_span().set_attribute(ARCHIVE, archive_id)
    with _within(baggage.set_baggage(ARCHIVE, archive_id)):
        yield


@contextmanager
def _within(parent: Context) -> Iterator[None]:
    token = context.attach(parent)
    try:
        yield
    finally:
        context.detach(token)


def trace_properties() -> dict[str, str]:
    """Return the trace as message properties. The Functions host reads `Diagnostic-Id`."""
    properties: dict[str, str] = {}
    propagate.inject(properties)
    if "traceparent" in properties:
        properties["Diagnostic-Id"] = properties["traceparent"]
    return properties


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric:
    name: str
    kind: MetricKind
    labels: frozenset[str]
    requirement: str | None
    unit: str


def _declared(
    kind: MetricKind, name: str, *labels: str, requirement: str | None = None, unit: str = ""
) -> Any:
    """Declare an attribute of an InstrumentSet, whose annotation is its type on an instance."""
    return Metric(name, kind, frozenset(labels), requirement, unit)


_counter = partial(_declared, MetricKind.COUNTER)
_gauge = partial(_declared, MetricKind.GAUGE)
_histogram = partial(_declared, MetricKind.HISTOGRAM)
# A value at the time of a check. Queries read its Max. Each instance repeats the last value of a gauge every
# minute, which would contradict the instance that checks now.
_sample = _histogram


class InstrumentSet:
    declared: ClassVar[dict[str, Metric]]

    def __init_subclass__(cls) -> None:
        cls.declared = {name: value for name, value in vars(cls).items() if isinstance(value, Metric)}

    @classmethod
    def on(cls, meter: Meter) -> Self:
        instruments = cls()
        for name, metric in cls.declared.items():
            setattr(instruments, name, getattr(meter, f"create_{metric.kind}")(metric.name, unit=metric.unit))
        return instruments


class Metrics(InstrumentSet):
    # the work of a stage
    events_processed: Counter = _counter(
        "events_processed_total", "service", "event_type", requirement="R-902"
    )
    failures: Counter = _counter("failures_total", "service", "error_type", requirement="R-902")
    processing_duration: Histogram = _histogram(
        "processing_duration_seconds", "service", requirement="R-902", unit="s"
    )
    chunks_created: Counter = _counter("chunks_created_total", "service", requirement="R-902")
    chunks_given_up: Counter = _counter("chunks_given_up_total", "service", "error_type")
    chunk_size: Histogram = _histogram("chunk_size_tokens", "service", requirement="R-902")
    queue_depth: Gauge = _gauge("queue_depth", "service", requirement="R-902")
    dead_letters: Gauge = _gauge("dead_letter_depth", "service")
    oldest_message: Histogram = _sample("queue_oldest_message_seconds", "service", unit="s")
    # the time from an upload to its reports, and its objective
    report_latency: Histogram = _histogram("report_latency_seconds", unit="s")
    report_objective: Counter = _counter("report_objective_total", "met")
    late_documents: Histogram = _sample("late_documents", "collection")
    old_documents: Histogram = _sample("week_old_documents", "collection")
    # settings that the alerts compare with, so that each is defined once
    bounds: Histogram = _sample("alert_bound", "name")
    queue_bounds: Histogram = _sample("queue_age_bound_seconds", "service", unit="s")
    # races between an event and its document
    retry_success: Counter = _counter("event_retry_success_total", "service", "attempt", requirement="R-903")
    retry_latency: Histogram = _histogram(
        "event_retry_latency_seconds", "service", requirement="R-903", unit="s"
    )
    retry_dlq: Counter = _counter("event_retry_dlq_total", "service", "reason", requirement="R-903")
    retry_attempts: Histogram = _histogram("event_retry_attempt_count", "service", requirement="R-903")
    # retries, restarts and duplicates
    events_retried: Counter = _counter("events_retried_total", "service", "error_type")
    encoder_restarts: Counter = _counter("encoder_restarts_total")
    duplicates: Counter = _counter("duplicates_detected_total", "service", "kind")
    # calls to other services
    dependency_calls: Counter = _counter("dependency_calls_total", "dependency", "operation", "outcome")
    dependency_duration: Histogram = _histogram(
        "dependency_duration_seconds", "dependency", "operation", unit="s"
    )
    dependency_slow: Counter = _counter("dependency_slow_calls_total", "dependency", "operation")
    dependency_throttled: Counter = _counter("dependency_throttled_total", "dependency")
    request_units: Counter = _counter("cosmos_request_units_total", "container", unit="RU")


class SweepMetrics(InstrumentSet):
    requeued: Counter = _counter("retry_job_documents_requeued_total", "collection", requirement="R-904")
    skipped_backoff: Counter = _counter(
        "retry_job_documents_skipped_backoff_total", "collection", requirement="R-904"
    )
    max_retries_exceeded: Counter = _counter(
        "retry_job_documents_max_retries_exceeded_total", "collection", requirement="R-904"
    )
    runs: Counter = _counter("retry_job_runs_total", "status", requirement="R-904")
    errors: Counter = _counter("retry_job_errors_total", "error_type", requirement="R-904")
    stuck: Gauge = _gauge("retry_job_stuck_documents", "collection", requirement="R-904")
    failed: Gauge = _gauge("retry_job_failed_documents", "collection", requirement="R-904")
    duration: Histogram = _histogram("retry_job_duration_seconds", requirement="R-904", unit="s")
    held_back: Counter = _counter("retry_job_documents_held_back_total", "collection")
    circuit_open: Gauge = _gauge("retry_job_circuit_open", "collection")
    inconsistencies: Gauge = _gauge("inconsistent_documents", "kind")


METRICS: dict[str, Metric] = {
    metric.name: metric for family in (Metrics, SweepMetrics) for metric in family.declared.values()
}


@lru_cache(maxsize=1)
def pipeline_metrics() -> Metrics:
    return Metrics.on(metrics.get_meter(INSTRUMENTATION))


@lru_cache(maxsize=1)
def sweep_metrics() -> SweepMetrics:
    return SweepMetrics.on(metrics.get_meter(INSTRUMENTATION))
