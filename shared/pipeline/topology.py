"""The topology of the pipeline: one row for each stage and one for each other queue.

A stage, its queue, its Function, and the subscription that forwards its event to the queue have one name.
A test compares this table with infra/servicebus/Config.json and host.json.
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from shared.models.base import RetryableDocument
from shared.models.sources import Archive
from shared.models.threads import Chunk, Message, Thread
from shared.pipeline import event_types as data
from shared.pipeline.event_types import EventData, FailureData

Data = TypeVar("Data", bound=EventData)


@dataclass(frozen=True, kw_only=True)
class QueueRow:
    """A queue and the Function of the same name that receives its messages."""

    name: str
    max_deliveries: int = 10  # after these deliveries the broker makes the message a dead letter
    concurrent_calls: int = 16  # in each instance of the app. host.json has one figure for all triggers.
    patience: float = 1.0  # multiplies the 30 minutes after which a waiting message raises an alert


@dataclass(frozen=True, kw_only=True)
class ProducerRow(QueueRow):
    """A queue whose Function publishes events."""

    announces: tuple[type[EventData], ...]
    fails_as: type[FailureData]


@dataclass(frozen=True, kw_only=True)
class StageRow(ProducerRow, Generic[Data]):
    """A stage, which an event triggers. Its documents count their attempts."""

    consumes: type[Data]
    document: type[RetryableDocument]
    internal: tuple[type[EventData], ...] = ()  # events that it sends to its own queue, not to the topic
    # The setting that limits the attempts at one document. None if the sweep does not requeue for this stage,
    # because another stage finishes the documents.
    max_attempts: str | None = None
    rebuild_fields: tuple[str, ...] = ()  # the document's fields that the sweep rebuilds the event from
    open_condition: str = "true"  # false for documents with a pending status that need no work


INGESTION = ProducerRow(
    name="ingestion",
    announces=(data.ArchiveIngested,),
    fails_as=data.ArchiveIngestionFailed,
    patience=2,  # a fetch alone may take 25 minutes
)
PARSING = StageRow(
    name="parsing",
    consumes=data.ArchiveIngested,
    announces=(data.JSONParsed,),
    fails_as=data.ParsingFailed,
    document=Archive,
    max_attempts="RETRY_JOB_MAX_ATTEMPTS_ARCHIVES",
    rebuild_fields=(
        "source", "source_type", "source_url", "file_path", "file_size_bytes", "file_hash", "ingestion_date",
    ),
)  # fmt: skip
CHUNKING = StageRow(
    name="chunking",
    consumes=data.JSONParsed,
    announces=(data.ChunksPrepared,),
    fails_as=data.ChunkingFailed,
    document=Message,
    max_attempts="RETRY_JOB_MAX_ATTEMPTS_MESSAGES",
    rebuild_fields=("archive_id",),
)
EMBEDDING = StageRow(
    name="embedding",
    consumes=data.ChunksPrepared,
    announces=(data.EmbeddingsGenerated,),
    fails_as=data.EmbeddingGenerationFailed,
    document=Chunk,
    max_attempts="RETRY_JOB_MAX_ATTEMPTS_CHUNKS",
    rebuild_fields=("message_key", "token_count", "archive_id", "label_version"),
)
ORCHESTRATION = StageRow(
    name="orchestration",
    consumes=data.EmbeddingsGenerated,
    announces=(data.SummarizationRequested,),
    fails_as=data.OrchestrationFailed,
    internal=(data.SummaryRecheck,),
    document=Thread,
)
SUMMARIZATION = StageRow(
    name="summarization",
    consumes=data.SummarizationRequested,
    announces=(data.SummaryComplete,),
    fails_as=data.SummarizationFailed,
    document=Thread,
    max_attempts="RETRY_JOB_MAX_ATTEMPTS_THREADS",
    open_condition="NOT IS_STRING(c.merged_into)",
)
REPORTING = StageRow(
    name="reporting",
    consumes=data.SummaryComplete,
    announces=(data.ReportPublished,),
    fails_as=data.ReportDeliveryFailed,
    document=Thread,
)

# In the order that an archive passes them.
STAGES: tuple[StageRow[Any], ...] = (
    PARSING, CHUNKING, EMBEDDING, ORCHESTRATION, SUMMARIZATION, REPORTING,
)  # fmt: skip
SWEPT = tuple(stage for stage in STAGES if stage.max_attempts is not None)
PRODUCERS: tuple[ProducerRow, ...] = (INGESTION, *STAGES)
STAGE_OF_FAILURE = {producer.fails_as.__name__: producer.name for producer in PRODUCERS}

FAILURES = QueueRow(name="failures")  # the ledger: every *Failed event
OPERATIONS = QueueRow(name="operations", patience=2)  # requests of operators that run in the background
REMOVAL = QueueRow(name="removal", patience=2)  # deletions of archives and sources, up to 20 minutes each
DELIVERIES = QueueRow(name="deliveries")  # scheduled messages for reports that are due at webhooks
QUEUE_ROWS: tuple[QueueRow, ...] = (*PRODUCERS, FAILURES, OPERATIONS, REMOVAL, DELIVERIES)
QUEUES = tuple(row.name for row in QUEUE_ROWS)
