"""What can go wrong while an archive is brought in. What can be wrong in the archive: unpacking/errors.

PermanentError
├── ArchiveTooLargeError    larger than ARCHIVE_MAX_BYTES
├── ArchiveChangedError     not the file that was sent
├── HashCollisionError      another file has the same archive id
├── ForbiddenAddressError   the source points to where the app must not go
├── SourceError             the source, as it is defined, cannot be fetched
├── SourceRemovedError      the source is being deleted with all that came from it
└── ArchiveRemovedError     the same archive is being deleted
TransientError
└── FetchError              the source did not give its archive this time
"""

from shared.core.errors import PermanentError


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
