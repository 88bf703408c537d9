"""Threads, the version of their source, messages (parsed mails), and chunks (passages for the encoder)."""

from typing import Any

from pydantic import Field

from shared.core.ids import entry_partition, message_of_chunk, message_partition, source_partition
from shared.models.base import (
    KeyedDocument,
    ProcessingStatus,
    Subdocument,
    UtcTime,
)
from shared.models.readings import ShownOpenCall, ShownOutcome
from shared.models.values import ConsensusType, Genre


class Address(Subdocument):
    name: str = ""
    email: str = ""


class Attachment(Subdocument):
    filename: str | None = None
    content_type: str
    size_bytes: int = Field(ge=0)
    content_id: str | None = None


class Copy(Subdocument):
    """A copy of the message in an archive of its source, and its place in the archive."""

    archive_id: str
    arrived: str  # when the archive was stored
    place: tuple[int, int, int]  # the mailbox in the archive, and offset and length in the mailbox
    variant: str  # a hash that differs if anything differs
    identity: str  # a hash of the content


class CopyElsewhere(Subdocument):
    """A message with the same id in another source, and whether its content is the same."""

    source: str
    identity: str


class Message(KeyedDocument):
    container = "messages"
    key_field = "message_key"

    message_key: str
    message_id: str
    post_id: str = ""  # the same id in all sources
    source: str = ""
    sources: list[str] = []  # all sources that have it with the same content
    archive_id: str
    archive_ids: list[str] = []
    copies: list[Copy] = []  # in list order. The first copy is stored here.
    elsewhere: list[CopyElsewhere] = []
    conflicts: int = 0  # the number of other contents with the same id
    thread_id: str  # a label. The member list of a thread decides.
    label_version: int = 0  # the version of the source that set its labels
    text_version: int = 0  # raised when the text changes, and higher than in any earlier message with this id
    replaced: bool = False  # it had another text before, whose chunks may still exist
    in_reply_to: str | None = None
    references: list[str] = []
    subject: str = ""
    from_: Address = Field(default_factory=Address, alias="from")
    to: list[Address] = []
    cc: list[Address] = []
    date: UtcTime | None = None
    claimed_date: str = ""  # its Date field, if the mail cannot have that date
    body_raw: str = ""
    body_normalized: str = ""
    body_html: str | None = None
    hidden_text: str = ""  # HTML text that a mail program may hide. It is not read.
    segments: list[dict[str, Any]] = []
    headers: dict[str, Any] = {}
    trace: dict[str, list[str]] = {}  # header fields of transport and authentication, last hop first
    attachments: list[Attachment] = []
    draft_mentions: list[str] = []
    warnings: list[str] = []
    variant: str = ""
    identity: str = ""
    place: tuple[int, int, int] = (0, 0, 0)
    chunk_set: str | None = None  # the common part of the ids of its chunks, set when it is processed
    chunk_count: int = 0
    status: ProcessingStatus = ProcessingStatus.PENDING

    @classmethod
    def partition_of(cls, id_: str) -> str:
        return message_partition(id_)


class Thread(KeyedDocument):
    container = "threads"
    key_field = "thread_id"

    thread_id: str
    root_message_id: str
    archive_id: str
    archive_ids: list[str] = []
    source: str | None = None
    sources: list[str] = []
    subject: str = ""
    participants: list[Address] = []
    message_count: int = Field(default=0, ge=0)
    first_message_date: UtcTime | None = None
    last_message_date: UtcTime | None = None
    draft_mentions: list[str] = []
    has_consensus: bool = False
    consensus_type: ConsensusType | None = None
    outcome: ShownOutcome | None = None  # of the summary
    open_call: ShownOpenCall | None = None  # of the summary
    flags: dict[str, int] = {}  # of the summary
    summary_id: str | None = None  # the current summary
    summary_number: int = 0  # raised when the summary changes. It never restarts.
    revision: int = 0  # raised by every change that affects a summary
    content_hash: str | None = None  # the version that was requested last
    requesting: dict[str, Any] | None = None  # the claim of an event on a version (orchestration)
    edition: str | None = None  # the operation that last requested a rereading
    corrections: int = 0  # the number of corrections and revocations
    report_id: str | None = None  # the last report
    subject_at: UtcTime | None = None  # when the subject was set. 1900 if the first message set it.
    threading: dict[str, Any] = {}  # for the threading of further messages (shared/threading)
    vote_subject: str | None = None  # the subject of the vote that it calls, or whose result it announces
    vote_thread: str | None = None  # the vote whose result it announces
    result_thread: str | None = None  # the thread with the result that the vote's summary used
    inexact: bool = False  # its messages changed, so dates and people must be computed again
    merged_into: str | None = None  # the thread that it was merged into
    status: ProcessingStatus = ProcessingStatus.PENDING

    @classmethod
    def partition_of(cls, id_: str) -> str:
        return source_partition(id_)

    @property
    def genre(self) -> Genre | None:
        return self.outcome.genre if self.outcome else None


class SourceVersion(KeyedDocument):
    """The number that each commit to a source's threads raises (entries: shared/thread_store/entries.py)."""

    container = "threads"

    kind: str = "version"
    source: str
    version: int

    @classmethod
    def partition_of(cls, id_: str) -> str:
        return entry_partition(id_)


class Chunk(KeyedDocument):
    container = "chunks"
    key_field = "chunk_id"

    chunk_id: str
    message_key: str
    message_id: str
    thread_id: str
    archive_id: str
    archive_ids: list[str] = []  # all archives with its message. Empty if only `archive_id` was stored.
    label_version: int = 0  # the version of its message's labels when it got them
    chunk_index: int = Field(ge=0)
    text: str
    token_count: int = Field(ge=0)
    start_offset: int = Field(ge=0)
    end_offset: int = Field(ge=0)
    overlap_with_previous: bool = False
    metadata: dict[str, Any] = {}
    embedding_generated: bool = False
    embedding_model: str | None = None
    status: ProcessingStatus = ProcessingStatus.PENDING

    @classmethod
    def partition_of(cls, id_: str) -> str:
        return message_partition(message_of_chunk(id_))
