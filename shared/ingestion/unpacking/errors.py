"""What can be wrong with an archive file. Each message says what, in which member, and what to do.

ArchiveError
├── ArchiveBombError           it unpacks to more than we are willing to read
├── CorruptArchiveError        it is damaged or cut off
└── UnsupportedArchiveError    it is no archive of mail, or packed in a way that we do not read
"""


class ArchiveError(ValueError):
    """The archive cannot be read."""


class ArchiveBombError(ArchiveError):
    """The archive unpacks to more than the limits allow."""


class CorruptArchiveError(ArchiveError):
    """The archive is damaged. Fetch it again."""


class UnsupportedArchiveError(ArchiveError):
    """The file is not an archive of mail that we can read."""
