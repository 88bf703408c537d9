"""Corrections of readings and placements of messages, as people decided them."""

from enum import StrEnum

from pydantic import Field

from shared.models.base import Document, Subdocument, UtcTime
from shared.models.values import CorrectionKind, Genre, OutcomeKind, PositionStance


class CorrectionAct(StrEnum):
    MADE = "made"
    REVOKED = "revoked"


class SentencePlace(Subdocument):
    """A sentence: its span in the message's body_normalized, and a hash of its text."""

    start: int = Field(ge=0)
    end: int = Field(gt=0)
    digest: str


class CorrectedValue(Subdocument):
    """The corrected value. The kind determines which field is set."""

    stance: PositionStance | None = None
    outcome: OutcomeKind | None = None
    sentence: str = ""
    genre: Genre | None = None


class CorrectionEntry(Subdocument):
    """One change of a correction: person, action, time and reason."""

    act: CorrectionAct
    by: str
    via: str
    at: UtcTime
    reason: str
    value: CorrectedValue = CorrectedValue()


class Correction(Document):
    """A correction. It has no text or address of a mail, so it outlives merges and deleted archives."""

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


class PlacementAct(StrEnum):
    SPLIT = "split"
    MOVED = "moved"
    REATTACHED = "reattached"
    UNDONE = "undone"


class PlacementEntry(Subdocument):
    """Who did what, when and why."""

    act: PlacementAct
    by: str
    via: str
    at: UtcTime
    reason: str
    thread_id: str  # where the message was until then
    parent: str = ""


class Placement(Document):
    """The thread and parent that an operator set for a message. It outlives threads and archives."""

    container = "placements"
    partition_field = "source"

    source: str
    message_key: str
    message_id: str
    parent: str = ""  # the Message-ID of the parent, or empty for the first message of a thread
    revoked: bool = False
    applied: bool = False  # whether the threads are changed. If not, housekeeping repeats it.
    entries: list[PlacementEntry] = Field(min_length=1)  # the last fifty

    @property
    def last(self) -> PlacementEntry:
        return self.entries[-1]
