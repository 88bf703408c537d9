"""The attributes that a span may have: one list for the code, the dashboards and the alerts."""

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
