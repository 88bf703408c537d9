"""Hashes of erased mail and people, which keep the mail from being stored again."""

from enum import StrEnum

from shared.models.base import Document


class ErasureMode(StrEnum):
    TOMBSTONE = "tombstone"  # a stub stays in its thread
    DROPPED = "dropped"
    DELETED = "deleted"  # removed from fetched archives, but an upload stores it again


ALL_SOURCES = "*"


class Suppression(Document):
    """The suppressions of one erasure or deletion. They are kept permanently."""

    container = "suppressions"
    partition_field = "source"

    source: str  # or ALL_SOURCES
    mode: ErasureMode
    operation: str  # the operation that created it
    messages: list[str] = []  # hashes of messages, the same in all sources
    people: list[str] = []  # hashes of addresses
    quotes: list[str] = []  # hashes of lines, if mails that quote them are suppressed, too
