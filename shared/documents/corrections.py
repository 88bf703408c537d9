"""Corrections: what people say of a reading instead of what was read.

They hold no text and no address of mails, and are keyed by the message that they are about (its sender is the
person): so they outlive summaries, merges of threads, and the deletion and return of an archive.
"""

from enum import StrEnum

from pydantic import Field

from shared.documents.base import Document, Subdocument, UtcTime
from shared.documents.values import CorrectionKind, Genre, OutcomeKind, PositionStance


class CorrectionAct(StrEnum):
    MADE = "made"
    REVOKED = "revoked"


class SentencePlace(Subdocument):
    """A sentence by its span in the message's body_normalized, and a hash of what stands there."""

    start: int = Field(ge=0)
    end: int = Field(gt=0)
    digest: str


class CorrectedValue(Subdocument):
    """What holds instead; the kind says which field."""

    stance: PositionStance | None = None
    outcome: OutcomeKind | None = None
    sentence: str = ""
    genre: Genre | None = None


class CorrectionEntry(Subdocument):
    """Who did what, when and why."""

    act: CorrectionAct
    by: str
    via: str
    at: UtcTime
    reason: str
    value: CorrectedValue = CorrectedValue()


class Correction(Document):
    container = "corrections"
    partition_field = "message_key"

    message_key: str
    message_id: str
    kind: CorrectionKind
    value: CorrectedValue = CorrectedValue()
    place: SentencePlace | None = None
    revoked: bool = False
    entries: list[CorrectionEntry] = Field(min_length=1)  # the last fifty

    @property
    def last(self) -> CorrectionEntry:
        return self.entries[-1]
