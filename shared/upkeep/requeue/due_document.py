"""What the sweep looks after: four kinds of documents, each with the stage that works on it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shared.documents.archives import Archive
from shared.documents.base import RetryableDocument
from shared.documents.chunks import Chunk
from shared.documents.messages import Message
from shared.documents.threads import Thread
from shared.pipeline.lifecycle.attempts import SeenAttempt
from shared.pipeline.stage import Subject

__all__ = [
    "ARCHIVES",
    "CHUNKS",
    "COLLECTIONS",
    "MESSAGES",
    "THREADS",
    "Collection",
    "DueDocument",
    "RetryReason",
]


@dataclass(frozen=True)
class Collection:
    name: str
    model: type[RetryableDocument]
    stage: str
    fields: tuple[str, ...] = ()  # what its event is rebuilt from
    alive: str = "true"  # of documents that have a pending status and yet nothing to be done


ARCHIVES = Collection(
    "archives",
    Archive,
    "parsing",
    ("source", "source_type", "source_url", "file_path", "file_size_bytes", "file_hash", "ingestion_date"),
)
MESSAGES = Collection("messages", Message, "chunking", ("archive_id",))
CHUNKS = Collection("chunks", Chunk, "embedding", ("message_key", "token_count", "archive_id"))
THREADS = Collection("threads", Thread, "summarization", alive="NOT IS_STRING(c.merged_into)")
COLLECTIONS = (ARCHIVES, MESSAGES, CHUNKS, THREADS)


class RetryReason(StrEnum):
    FAILED = "failed"  # its last attempt is known to have failed
    SILENT = "silent"  # nothing was heard of its last attempt
    NEVER = "never"  # it was never attempted


@dataclass(frozen=True)
class DueDocument:
    """A document to be asked for again, or to be given up."""

    collection: Collection
    why: RetryReason
    id: str
    partition: str
    attempts: int
    last_attempt: str | None
    last_error: str | None
    requeued_at: str | None
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def subject(self) -> Subject:
        return Subject(self.collection.model, self.id, self.partition)

    @property
    def seen(self) -> SeenAttempt:
        return SeenAttempt(self.attempts, self.last_attempt)

    @property
    def next_attempt(self) -> int:
        return self.attempts + 1

    @property
    def reason(self) -> str:
        """Its last error; where there is none, that there is none is what is wrong with it."""
        if self.last_error:
            return self.last_error
        if self.last_attempt is None:
            return "NoOutcome: no attempt at it was recorded"
        return f"NoOutcome: nothing was heard of attempt {self.attempts} at {self.last_attempt}"
