"""The topology of the pipeline: one row for each stage, and one for each other queue.

A stage's name is also the name of its queue, of the topic's subscription that forwards to that queue, and of
its Function. Triggers, the catalogue of events, the failure ledger, the sweep, the dead-letter tools and the
status page read this table; a test compares it with infra/servicebus/Config.json and host.json.
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
    """A queue, and the Function of the same name that takes its messages."""

    name: str
    max_deliveries: int = 10  # the broker's: then it moves the message to the dead letters
    concurrent_calls: int = 16  # in each instance of the app: host.json has one figure for all triggers
    patience: float = 1.0  # how many times the usual 30 minutes a message may wait here


@dataclass(frozen=True, kw_only=True)
class ProducerRow(QueueRow):
    """A queue whose Function publishes events."""

    announces: tuple[type[EventData], ...]
    fails_as: type[FailureData]


@dataclass(frozen=True, kw_only=True)
class StageRow(ProducerRow, Generic[Data]):
    """A stage: it is triggered by an event, and its documents remember their attempts."""

    consumes: type[Data]
    document: type[RetryableDocument]  # what its event is about
    internal: tuple[type[EventData], ...] = ()  # what it sends to its own queue, past the topic
    # The setting that bounds the attempts at one document; None where the sweep does not requeue for this
    # stage, because the documents are another stage's to finish.
    max_attempts: str | None = None
    rebuild_fields: tuple[str, ...] = ()  # of the document: what the sweep rebuilds the event from
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

# In the order in which an archive goes through them.
STAGES: tuple[StageRow[Any], ...] = (
    PARSING, CHUNKING, EMBEDDING, ORCHESTRATION, SUMMARIZATION, REPORTING,
)  # fmt: skip
SWEPT = tuple(stage for stage in STAGES if stage.max_attempts is not None)
PRODUCERS: tuple[ProducerRow, ...] = (INGESTION, *STAGES)
STAGE_OF_FAILURE = {producer.fails_as.__name__: producer.name for producer in PRODUCERS}

FAILURES = QueueRow(name="failures")  # the ledger: every *Failed event
OPERATIONS = QueueRow(name="operations", patience=2)  # operators' requests that run in the background
REMOVAL = QueueRow(name="removal", patience=2)  # deletions of archives and sources; one may run 20 minutes
DELIVERIES = QueueRow(name="deliveries")  # the times at which reports are due at webhooks
QUEUE_ROWS: tuple[QueueRow, ...] = (*PRODUCERS, FAILURES, OPERATIONS, REMOVAL, DELIVERIES)
QUEUES = tuple(row.name for row in QUEUE_ROWS)
