"""What can go wrong while an archive is read."""

from shared.core.errors import PermanentError, TransientError


class UnreadableArchiveError(PermanentError):
    """The archive cannot be read as mail."""


class ReaderDiedError(TransientError):
    """The process that reads archives ended before the archive did."""


class ReaderStuckError(TransientError):
    """The process that reads archives said nothing for too long, and was ended."""
