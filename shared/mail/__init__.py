"""Mail: reading archives, decoding messages, telling apart what a body is made of, threading.

Pure: nothing here does I/O of its own or knows of a cloud. `parse_archive` gives messages,
`assign` threads them.
"""

from shared.mail.errors import EmptyArchiveError, MailboxError, NotAMailboxError
from shared.mail.mbox import read_archive, read_eml, read_mbox
from shared.mail.mentions import draft_base, find_mentions
from shared.mail.models import Address, Attachment, Kind, Limits, Message, RawMessage, Segment, Skipped
from shared.mail.normalize import NormalizedBody, segment
from shared.mail.parse import parse_archive, parse_message
from shared.mail.threading import InMemoryThreads, KnownThreads, Merge, ThreadingResult, ThreadState, assign

__all__ = [
    "Address",
    "Attachment",
    "EmptyArchiveError",
    "InMemoryThreads",
    "Kind",
    "KnownThreads",
    "Limits",
    "MailboxError",
    "Merge",
    "Message",
    "NormalizedBody",
    "NotAMailboxError",
    "RawMessage",
    "Segment",
    "Skipped",
    "ThreadState",
    "ThreadingResult",
    "assign",
    "draft_base",
    "find_mentions",
    "parse_archive",
    "parse_message",
    "read_archive",
    "read_eml",
    "read_mbox",
    "segment",
]
