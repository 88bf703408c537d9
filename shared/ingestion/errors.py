"""Errors of ingestion. Each message names the file, the problem and the remedy."""

from shared.core.errors import PermanentError, TransientError


class ArchiveTooLargeError(PermanentError):
    """The archive is too large."""


class ArchiveChangedError(PermanentError):
    """The uploaded file changed after it was sent."""


class HashCollisionError(PermanentError):
    """Another archive has the same id."""


class SourceRemovedError(PermanentError):
    """The source is being deleted."""


class ArchiveRemovedError(PermanentError):
    """The archive is being deleted. An upload that is accepted now would be lost."""


class ArchiveError(ValueError):
    """The archive cannot be read."""


class AllErasedError(ArchiveError):
    """All mails of the archive were erased or deleted, and are not stored again."""

    def __init__(self) -> None:
        super().__init__("all of its mails were erased or deleted, and are not stored again")


class ArchiveBombError(ArchiveError):
    """The archive unpacks to more than the limits allow."""


class CorruptArchiveError(ArchiveError):
    """The archive is damaged. Fetch it again."""


class UnsupportedArchiveError(ArchiveError):
    """The file is not a supported mail archive."""


class UnreadableArchiveError(PermanentError):
    """The archive cannot be read as mail."""


class ReaderDiedError(TransientError):
    """The reader process ended before the archive did."""


class ReaderStuckError(TransientError):
    """The reader process sent no data for too long, and was ended."""
