"""Removals: a deletion under way, and what it has deleted."""

from shared.documents.base import Document, UtcTime
from shared.documents.operations import OperationStatus


class Removal(Document):
    """The deletion of an archive or a source with everything derived, and in the end its receipt.

    It stays as a tombstone: an event that is still under way finds out from it why its documents are gone.
    """

    container = "removals"

    target_kind: str
    target: str
    requested_by: str
    status: OperationStatus = OperationStatus.PENDING
    started_at: UtcTime | None = None
    updated_at: UtcTime
    finished_at: UtcTime | None = None
    looked_again_at: UtcTime | None = None  # for what was still on its way when it was done
    archives: list[str] = []  # those that are done with, of a source
    blobs: list[str] = []  # where they were: an upload that arrives late would leave one behind
    unit: str | None = None  # the thread, or the failures, being removed: they are counted already
    counts: dict[str, int] = {}  # what was removed
    left: dict[str, int] = {}  # what the last check found of it
    rounds: int = 0
    letters: list[str] = []  # the operations that take its dead letters away
    error: str | None = None
