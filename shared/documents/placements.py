"""Placements: where an operator says that a message belongs, whatever its headers say.

One for each message of a source, with all that was done about it. They hold no text and no address of mails,
so they outlive threads, and the deletion and return of an archive. They are few, and those of a source share
a partition: whoever threads mails of the source reads them in one call.
"""

from enum import StrEnum

from pydantic import Field

from shared.documents.base import Document, Subdocument, UtcTime


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
    container = "placements"
    partition_field = "source"

    source: str
    message_key: str
    message_id: str
    parent: str = ""  # the Message-ID that it goes under; empty where it begins a thread
    revoked: bool = False
    applied: bool = False  # whether the threads are as it says; else housekeeping repeats it
    entries: list[PlacementEntry] = Field(min_length=1)  # the last fifty

    @property
    def last(self) -> PlacementEntry:
        return self.entries[-1]
