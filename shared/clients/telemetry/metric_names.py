"""Every metric by its name, kind and labels: one list for the code, the dashboards and the alerts.

`spec` says where the name comes from. Those without one are ours.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["COUNT_PREFIX", "METRICS", "SPAN_ATTRIBUTES", "MetricKind", "MetricName"]


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class MetricName:
    name: str
    kind: MetricKind
    labels: frozenset[str] = frozenset()
    spec: str | None = None


def _counter(name: str, *labels: str, spec: str | None = None) -> MetricName:
    return MetricName(name, MetricKind.COUNTER, frozenset(labels), spec)


def _gauge(name: str, *labels: str, spec: str | None = None) -> MetricName:
    return MetricName(name, MetricKind.GAUGE, frozenset(labels), spec)


def _histogram(name: str, *labels: str, spec: str | None = None) -> MetricName:
    return MetricName(name, MetricKind.HISTOGRAM, frozenset(labels), spec)


METRICS: dict[str, MetricName] = {
    metric.name: metric
    for metric in (
        # what a stage does
        _counter("events_processed_total", "service", "event_type", spec="000"),
        _counter("failures_total", "service", "error_type", spec="000"),
        _histogram("processing_duration_seconds", "service", spec="000"),
        _counter("chunks_created_total", "service", spec="000"),
        _histogram("chunk_size_tokens", "service", spec="000"),
        _gauge("queue_depth", "service", spec="000"),
        _gauge("dead_letter_depth", "service"),
        # the sweep
        _counter("retry_job_documents_requeued_total", "collection", spec="001"),
        _counter("retry_job_documents_skipped_backoff_total", "collection", spec="001"),
        _counter("retry_job_documents_max_retries_exceeded_total", "collection", spec="001"),
        _counter("retry_job_runs_total", "status", spec="001"),
        _counter("retry_job_errors_total", "error_type", spec="001"),
        _gauge("retry_job_stuck_documents", "collection", spec="001"),
        _gauge("retry_job_failed_documents", "collection", spec="001"),
        _histogram("retry_job_duration_seconds", spec="001"),
        _counter("retry_job_documents_held_back_total", "collection"),
        _gauge("retry_job_circuit_open", "collection"),
        _gauge("inconsistent_documents", "kind"),
        # races between an event and its document
        _counter("event_retry_success_total", "service", "attempt", spec="002"),
        _histogram("event_retry_latency_seconds", "service", spec="002"),
        _counter("event_retry_dlq_total", "service", "reason", spec="002"),
        _histogram("event_retry_attempt_count", "service", spec="002"),
        # calls to other services
        _counter("dependency_calls_total", "dependency", "operation", "outcome"),
        _histogram("dependency_duration_seconds", "dependency", "operation"),
        _counter("dependency_throttled_total", "dependency"),
        _counter("cosmos_request_units_total", "container"),
    )
}

# Azure Monitor drops attributes named messaging.*, db.*, http.* and so on: ours have a prefix of their own.
SPAN_ATTRIBUTES = frozenset(
    {
        "pipeline.archive_id",
        "pipeline.attempt",
        "pipeline.chunk_id",
        "pipeline.chunk_ids",
        "pipeline.delivery_count",
        "pipeline.error_type",
        "pipeline.event_id",
        "pipeline.event_type",
        "pipeline.idempotency_key",
        "pipeline.message_key",
        "pipeline.message_keys",
        "pipeline.operation_id",
        "pipeline.outcome",
        "pipeline.report_id",
        "pipeline.source",
        "pipeline.stage",
        "pipeline.summary_id",
        "pipeline.thread_id",
        "pipeline.thread_ids",
    }
)
# What a stage did, by its own words: pipeline.count.messages, pipeline.count.chunks, ...
COUNT_PREFIX = "pipeline.count."
