"""One builder for each event, shared by the stages and by the tools that publish an event again.

Duplicate detection needs equal events from a stage, the sweep, the integrity check and the command line.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from shared.core.errors import ClassifiedError
from shared.core.ids import report_id
from shared.models.reports import Report, Summary, SummaryMetadata
from shared.models.threads import Chunk
from shared.models.values import Citation
from shared.pipeline.event_types import (
    ArchiveIngested,
    ChunksPrepared,
    EmbeddingsGenerated,
    EventCitation,
    EventData,
    FailureData,
    JSONParsed,
    ReportPublished,
    SummarizationRequested,
    SummaryComplete,
)
from shared.pipeline.events import Event
from shared.pipeline.topology import StageRow
from shared.settings.app import Settings

# An event stays far below the broker's 256 KB. Readers load the whole text from the stored summary.
MARKDOWN_IN_EVENT = 4000
CITATIONS_IN_EVENT = 100
# Fields of a request in the specification. The reader of a thread uses neither.
TOP_K = 12
TEMPLATE = "consensus-summary-v1"
API_CHANNEL = "api"  # every report is published here, before any webhook


class PreparedChunk(NamedTuple):
    id: str
    thread_id: str
    message_key: str
    label_version: int
    token_count: int


def archive_ingested(
    archive_id: str, stored: Mapping[str, Any], *, started_at: datetime, completed_at: datetime
) -> ArchiveIngested:
    """Build the event from the archive's stored fields."""
    return ArchiveIngested(
        archive_id=archive_id,
        source_name=stored["source"],
        source_type=stored.get("source_type") or "upload",  # archives of earlier versions have none
        source_url=stored["source_url"],
        file_path=stored["file_path"],
        file_size_bytes=stored["file_size_bytes"],
        file_hash_sha256=stored["file_hash"],
        ingestion_started_at=started_at,
        ingestion_completed_at=completed_at,
    )


def json_parsed(
    archive_id: str, messages: Sequence[tuple[str, str]], *, source_version: int = 0, seconds: float = 0.0
) -> JSONParsed:
    """Build the event from pairs of message key and thread id. `seconds` is the duration of the parsing."""
    threads = [thread for _, thread in messages]
    distinct = list(dict.fromkeys(threads))
    return JSONParsed(
        archive_id=archive_id,
        message_count=len(messages),
        message_keys=[key for key, _ in messages],
        thread_count=len(distinct),
        thread_ids=distinct,
        parsing_duration_seconds=round(seconds, 3),
        message_threads=threads,
        source_version=source_version,
    )


def chunks_prepared(
    chunks: Sequence[PreparedChunk],
    *,
    message_keys: Sequence[str],
    thread_ids: set[str],
    strategy: str,
    archive_id: str | None,
    versions: str = "",
) -> ChunksPrepared:
    """Build the event. Messages and threads are listed separately, because a message may have no chunks."""
    tokens = sum(chunk.token_count for chunk in chunks)
    return ChunksPrepared(
        message_keys=list(message_keys),
        chunk_count=len(chunks),
        chunk_ids=[chunk.id for chunk in chunks],
        chunks_ready=True,
        chunking_strategy=strategy,
        avg_chunk_size_tokens=round(tokens / max(len(chunks), 1), 1),
        chunk_threads=[chunk.thread_id for chunk in chunks],
        chunk_messages=[chunk.message_key for chunk in chunks],
        chunk_labels=[chunk.label_version for chunk in chunks],
        thread_ids=sorted(thread_ids),
        versions=versions,
        archive_id=archive_id,
    )


def embeddings_generated(
    prepared: ChunksPrepared,
    chunks: Sequence[Chunk],
    *,
    count: int,
    model: str,
    backend: str,
    dimension: int,
    collection: str,
    milliseconds_per_chunk: float,
) -> EmbeddingsGenerated:
    """Build the event. It lists the threads of the event before it, including threads without a chunk."""
    return EmbeddingsGenerated(
        chunk_ids=[chunk.id for chunk in chunks],
        embedding_count=count,
        embedding_model=model,
        embedding_backend=backend,
        embedding_dimension=dimension,
        vector_store_collection=collection,
        vector_store_updated=count > 0,
        avg_generation_time_ms=round(milliseconds_per_chunk, 2),
        chunk_threads=[chunk.thread_id for chunk in chunks],
        thread_ids=prepared.thread_ids,
        versions=prepared.versions,
    )


def summary_request(thread_id: str, version: str, settings: Settings) -> SummarizationRequested:
    """Build the request. The same thread and version give the same request."""
    return SummarizationRequested(
        thread_ids=[thread_id],
        top_k=TOP_K,
        llm_backend=settings.SUMMARY_BACKEND,
        llm_model=settings.SUMMARY_MODEL,
        context_window_tokens=settings.SUMMARY_CONTEXT_TOKENS,
        prompt_template=TEMPLATE,
        content_hashes=[version],
    )


def summary_complete(
    summary: Summary,
    number: int,
    *,
    backend: str,
    model: str,
    citations: Sequence[Citation] = (),
    usage: SummaryMetadata | None = None,
    latency_ms: float = 0.0,
) -> SummaryComplete:
    """Build the event of a thread's summary or a digest. `usage` has the tokens that a chat model counted."""
    usage = usage or SummaryMetadata()
    return SummaryComplete(
        thread_id=summary.thread_id or summary.scope,
        summary_id=summary.id,
        summary_type=summary.summary_type.value,
        summary_number=number,
        summary_markdown=summary.content_markdown[:MARKDOWN_IN_EVENT],
        citations=[
            EventCitation(
                message_id=citation.message_id, chunk_id=citation.chunk_id, offset=citation.offset or 0
            )
            for citation in citations[:CITATIONS_IN_EVENT]
        ],
        llm_backend=backend,
        llm_model=model,
        tokens_prompt=usage.tokens_prompt,
        tokens_completion=usage.tokens_completion,
        latency_ms=round(latency_ms, 1),
    )


def report_published(report: Report) -> ReportPublished:
    return ReportPublished(
        thread_id=report.thread_id or report.scope,
        report_id=report.report_id,
        format=report.format,
        notified=report.notified,
        delivery_channels=report.delivery_channels,
        summary_url=f"/api/reports/{report.report_id}",
    )


def failed_event(
    stage: StageRow[Any],
    event: Event[Any],
    failure: ClassifiedError,
    *,
    attempts: int,
    record_id: str | None = None,
    now: datetime,
) -> FailureData:
    """Build the stage's *Failed event about the event that failed, with the fields that both have."""
    data: EventData = event.data
    # The *Failed event needs an id, even if the event that failed names no thread.
    threads = data.named_threads() or data.subject_ids()[:1] or [event.event_id]
    known = {
        "thread_id": threads[0],
        **data.model_dump(),
        "thread_ids": threads,
        "messages_parsed_before_failure": failure.details.get("messages_parsed", 0),
        "embedding_backend": failure.details.get("backend", ""),
        "report_id": report_id(getattr(data, "summary_id", None) or "unknown"),
        "delivery_channel": API_CHANNEL,
        "failed_at": now,
        "record_id": record_id,
        **error_fields(failure, attempts),
    }
    return stage.fails_as(**{name: known[name] for name in stage.fails_as.model_fields})


def error_fields(failure: ClassifiedError, attempts: int) -> dict[str, Any]:
    """Return the fields of every *Failed event."""
    return {"error_message": failure.message, "error_type": failure.error_type, "retry_count": attempts}
