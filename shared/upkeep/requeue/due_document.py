"""The documents that the sweep looks after, by the topology: each with the stage that works on it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shared.documents.base import RetryableDocument
from shared.pipeline.lifecycle.attempts import SeenAttempt
from shared.pipeline.stage import Subject
from shared.pipeline.topology import SWEPT


@dataclass(frozen=True)
class Collection:
    name: str
    model: type[RetryableDocument]
    stage: str
    fields: tuple[str, ...]  # what its event is rebuilt from
    alive: str  # a condition: false for documents that have a pending status and yet nothing to be done


COLLECTIONS = tuple(
    Collection(
        stage.document.container, stage.document, stage.name, stage.rebuild_fields, stage.open_condition
    )
    for stage in SWEPT
)
ARCHIVES, MESSAGES, CHUNKS, THREADS = COLLECTIONS


class RetryReason(StrEnum):
    FAILED = "failed"  # its last attempt is known to have failed
    SILENT = "silent"  # nothing was heard of its last attempt
    NEVER = "never"  # it was never attempted


@dataclass(frozen=True)
class DueDocument:
    """A document to be requeued, or to be given up."""

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
        """Its last error; without one, the lack of any outcome is the error."""
        if self.last_error:
            return self.last_error
        if self.last_attempt is None:
            return "NoOutcome: no attempt at it was recorded"
        return f"NoOutcome: nothing was heard of attempt {self.attempts} at {self.last_attempt}"
