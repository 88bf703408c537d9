"""Archive files of mail: which format one has, and the mailboxes and messages inside it.

Pure: a local file in, streams out. Nothing is ever extracted to disk, and names inside an archive are never
used as paths.
"""

from shared.archives.errors import (
    ArchiveBombError,
    ArchiveError,
    CorruptArchiveError,
    UnsupportedArchiveError,
)
from shared.archives.formats import ArchiveFormat, detect_format
from shared.archives.limits import UnpackLimits
from shared.archives.members import Member, MemberKind, SkippedMember, check_archive, open_members

__all__ = [
    "ArchiveBombError",
    "ArchiveError",
    "ArchiveFormat",
    "CorruptArchiveError",
    "Member",
    "MemberKind",
    "SkippedMember",
    "UnpackLimits",
    "UnsupportedArchiveError",
    "check_archive",
    "detect_format",
    "open_members",
]
