"""Errors while an archive is brought in, unpacked and read: each says what, in which file, and what to do."""

from shared.core.errors import PermanentError, TransientError


class ArchiveTooLargeError(PermanentError):
    """The archive is too large."""


class ArchiveChangedError(PermanentError):
    """What lies where a file was sent to is not that file."""


class HashCollisionError(PermanentError):
    """Another archive has the same id."""


class SourceRemovedError(PermanentError):
    """The source is being deleted."""


class ArchiveRemovedError(PermanentError):
    """The same archive is being deleted: what is acknowledged now would be lost."""


class ArchiveError(ValueError):
    """The archive cannot be read."""


class AllErasedError(ArchiveError):
    """All mails of the archive were erased or deleted, and do not come in again."""

    def __init__(self) -> None:
        super().__init__("all of its mails were erased or deleted, and do not come in again")


class ArchiveBombError(ArchiveError):
    """The archive unpacks to more than the limits allow."""


class CorruptArchiveError(ArchiveError):
    """The archive is damaged. Fetch it again."""


class UnsupportedArchiveError(ArchiveError):
    """The file is not an archive of mail that we can read."""


class UnreadableArchiveError(PermanentError):
    """The archive cannot be read as mail."""


class ReaderDiedError(TransientError):
    """The process that reads archives ended before the archive did."""


class ReaderStuckError(TransientError):
    """The process that reads archives said nothing for too long, and was ended."""
