"""The allowed attributes of spans: one list for the code, the dashboards and the alerts."""

# Azure Monitor drops attributes named messaging.*, db.*, http.* and so on, so ours have their own prefix.
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
# Counts of a stage's work, under the stage's names: pipeline.count.messages, pipeline.count.chunks, ...
COUNT_PREFIX = "pipeline.count."
