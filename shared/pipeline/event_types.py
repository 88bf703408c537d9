"""The data of each event in docs/requirements.md, with extensions marked.

The name of a class is its event type. Two events with equal `identity` fields are the same event.
"""

from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from shared.core.ids import DOCUMENT_ID, LONGEST_ID

Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID, pattern=DOCUMENT_ID)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Amount = Annotated[float, Field(ge=0)]
Ids = Annotated[list[Id], Field(min_length=1)]


def _inside(path: str) -> str:
    """Check that the path stays inside its container and is printable in a log."""
    if any(part in {"", ".", ".."} for part in path.removeprefix("/").split("/")) or not path.isprintable():
        raise ValueError("must be a path inside the container")
    return path


BlobPath = Annotated[str, Field(max_length=1024), AfterValidator(_inside)]


class EventData(BaseModel):
    """The data of an event. Unknown fields of a newer publisher are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    routing_key: ClassVar[str]
    version: ClassVar[str] = "1.0"
    identity: ClassVar[tuple[str, ...]]
    ids_field: ClassVar[str]  # the ids of its documents, for idempotency keys

    def subject_ids(self) -> list[str]:
        value = getattr(self, self.ids_field)
        return list(value) if isinstance(value, list) else [value]

    def trace_ids(self) -> dict[str, list[str]]:
        """Return the ids in the event by kind, for traces."""
        ids: dict[str, list[Any]] = {
            "archive_id": [getattr(self, "archive_id", None)],
            "thread_id": [
                getattr(self, "thread_id", None),
                *getattr(self, "thread_ids", []),
                *getattr(self, "chunk_threads", []),
            ],
            "message_key": getattr(self, "message_keys", []),
            "chunk_id": getattr(self, "chunk_ids", []),
            "summary_id": [getattr(self, "summary_id", None)],
            "report_id": [getattr(self, "report_id", None)],
        }
        return {name: [id_ for id_ in values if id_] for name, values in ids.items()}

    def named_threads(self) -> list[str]:
        """Return the threads of the event, including threads without a chunk in it."""
        return sorted({*getattr(self, "thread_ids", ()), *getattr(self, "chunk_threads", ())})

    def identity_values(self) -> list[Any]:
        return [getattr(self, name) for name in self.identity]


class FailureData(EventData):
    """The fields of every *Failed event."""

    error_message: str
    error_type: str
    retry_count: Count
    record_id: Id | None = None  # extension: the id of the stage's failure record, even if it is not stored


class ArchiveIngested(EventData):
    routing_key = "archive.ingested"
    identity = ("archive_id",)
    ids_field = "archive_id"

    archive_id: Id
    source_name: str
    source_type: str
    source_url: str
    file_path: BlobPath
    file_size_bytes: Count
    file_hash_sha256: str
    ingestion_started_at: datetime
    ingestion_completed_at: datetime


class ArchiveIngestionFailed(FailureData):
    routing_key = "archive.ingestion.failed"
    identity = ("source_name", "source_url", "error_type", "ingestion_started_at")
    ids_field = "source_name"

    source_name: Id
    source_type: str
    source_url: str
    ingestion_started_at: datetime
    failed_at: datetime


class JSONParsed(EventData):
    routing_key = "json.parsed"
    identity = ("archive_id", "message_keys", "source_version")
    ids_field = "message_keys"

    archive_id: Id
    message_count: Count
    message_keys: Ids
    thread_count: Count
    thread_ids: list[Id]
    parsing_duration_seconds: Amount
    message_threads: list[Id] = []  # extension: the thread of each key
    source_version: Count = 0  # extension: the highest version of labels and texts of these messages


class ParsingFailed(FailureData):
    routing_key = "parsing.failed"
    identity = ("archive_id", "error_type")
    ids_field = "archive_id"

    archive_id: Id
    file_path: str
    messages_parsed_before_failure: Count
    failed_at: datetime


class ChunksPrepared(EventData):
    routing_key = "chunks.prepared"
    identity = ("chunk_ids", "message_keys", "versions")
    ids_field = "chunk_ids"

    message_keys: list[Id]
    chunk_count: Count
    chunk_ids: list[Id]  # empty if the messages have only quotes
    chunks_ready: bool
    chunking_strategy: str
    avg_chunk_size_tokens: Amount
    chunk_threads: list[Id] = []  # extension: the thread of each chunk
    chunk_messages: list[Id] = []  # extension: the message key of each chunk
    chunk_labels: list[Count] = []  # extension: the label version of each chunk
    thread_ids: list[Id] = []  # extension: threads that have changed, those without a chunk here included
    versions: str = ""  # extension: a hash of the messages' text versions, label versions and conflicts
    archive_id: Id | None = None  # extension: the archive of the messages

    def subject_ids(self) -> list[str]:
        return self.chunk_ids or self.message_keys


class ChunkingFailed(FailureData):
    routing_key = "chunks.failed"
    identity = ("message_keys", "error_type")
    ids_field = "message_keys"

    message_keys: Ids
    failed_at: datetime


class EmbeddingsGenerated(EventData):
    routing_key = "embeddings.generated"
    identity = ("chunk_ids", "embedding_model", "thread_ids", "versions")
    ids_field = "chunk_ids"

    chunk_ids: list[Id]
    embedding_count: Count
    embedding_model: str
    embedding_backend: str
    embedding_dimension: Annotated[int, Field(gt=0)]
    vector_store_collection: str
    vector_store_updated: bool
    avg_generation_time_ms: Amount
    chunk_threads: list[Id] = []  # extension: the thread of each chunk
    thread_ids: list[Id] = []  # extension: threads that have changed, those without a chunk here included
    versions: str = ""  # extension: the same as in ChunksPrepared

    def subject_ids(self) -> list[str]:
        return self.chunk_ids or self.thread_ids


class EmbeddingGenerationFailed(FailureData):
    routing_key = "embeddings.failed"
    identity = ("chunk_ids", "error_type")
    ids_field = "chunk_ids"

    chunk_ids: list[Id]
    embedding_backend: str
    failed_at: datetime


class SummarizationRequested(EventData):
    routing_key = "summarization.requested"
    identity = ("thread_ids", "content_hashes", "prompt_template", "llm_backend", "llm_model")
    ids_field = "thread_ids"

    thread_ids: Ids
    top_k: Annotated[int, Field(gt=0)]
    llm_backend: str
    llm_model: str
    context_window_tokens: Annotated[int, Field(gt=0)]
    prompt_template: str
    content_hashes: list[str] = []  # extension: the version of each thread


class SummaryRecheck(EventData):
    """A private event that orchestration schedules on its own queue for the end of the quiet period."""

    routing_key = "summary.recheck"
    identity = ("thread_ids", "versions", "claimed_by")
    ids_field = "thread_ids"

    thread_ids: Ids
    versions: list[str]  # of each thread, when it was claimed
    claimed_by: Id  # the event that holds the claims


class OrchestrationFailed(FailureData):
    routing_key = "orchestration.failed"
    identity = ("thread_ids", "error_type")
    ids_field = "thread_ids"

    thread_ids: Ids


class EventCitation(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    message_id: str
    chunk_id: str
    offset: Count


class SummaryComplete(EventData):
    routing_key = "summary.complete"
    identity = ("thread_id", "summary_id", "llm_model", "summary_number")
    ids_field = "thread_id"

    thread_id: Id
    summary_markdown: str
    citations: list[EventCitation]
    llm_backend: str
    llm_model: str
    tokens_prompt: Count
    tokens_completion: Count
    latency_ms: Amount
    summary_id: str | None = None  # extension: the stored summary, which has the whole text
    summary_type: str = "thread"  # extension: for a digest, thread_id is its scope
    summary_number: Count | None = None  # extension: a summary that becomes current again gets a new number


class SummarizationFailed(FailureData):
    routing_key = "summarization.failed"
    identity = ("thread_id", "error_type")
    ids_field = "thread_id"

    thread_id: Id


class ReportPublished(EventData):
    routing_key = "report.published"
    identity = ("report_id",)
    ids_field = "report_id"

    thread_id: Id
    report_id: Id
    format: str
    notified: bool
    delivery_channels: list[str]
    summary_url: str


class ReportDeliveryFailed(FailureData):
    routing_key = "report.delivery_failed"
    identity = ("report_id", "delivery_channel", "error_type")
    ids_field = "report_id"

    report_id: Id
    thread_id: Id
    delivery_channel: str
