"""What was erased and must not come in again: hashes, which name nobody."""

from enum import StrEnum

from shared.models.base import Document


class ErasureMode(StrEnum):
    TOMBSTONE = "tombstone"  # a stub stays in its thread
    DROPPED = "dropped"
    DELETED = "deleted"  # dropped from what is fetched; an upload brings it back


ALL_SOURCES = "*"


class Suppression(Document):
    """Part of one erasure or deletion. It stays for good."""

    container = "suppressions"
    partition_field = "source"

    source: str  # or ALL_SOURCES
    mode: ErasureMode
    operation: str  # that made it
    messages: list[str] = []  # what messages are known by in all sources
    people: list[str] = []  # hashes of addresses
    quotes: list[str] = []  # hashes of lines, where mails that quote them go as well
