"""Threads and the version of their source, messages (parsed mails), and chunks (parts for an encoder)."""

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
    """A copy of the message that an archive of its source brought, and where it stands there."""

    archive_id: str
    arrived: str  # when its source got the archive
    place: tuple[int, int, int]  # which mailbox of the archive, offset and length in it
    variant: str  # tells apart what differs in anything
    identity: str  # the same where the same is said


class CopyElsewhere(Subdocument):
    """That another source has a message with this id, and whether it says the same."""

    source: str
    identity: str


class Message(KeyedDocument):
    container = "messages"
    key_field = "message_key"

    message_key: str
    message_id: str
    post_id: str = ""  # the same in all sources
    source: str = ""
    sources: list[str] = []  # all that have it with the same content
    archive_id: str
    archive_ids: list[str] = []
    copies: list[Copy] = []  # in the list's own order: the first is the one that is stored here
    elsewhere: list[CopyElsewhere] = []
    conflicts: int = 0  # how many other contents there are under its id
    thread_id: str  # a label: the member list of a thread decides
    label_version: int = 0  # the version of the source at which its labels were set
    text_version: int = 0  # raised with each other text; higher than that of any earlier message of this id
    replaced: bool = False  # it had another text before, of which chunks may be left
    in_reply_to: str | None = None
    references: list[str] = []
    subject: str = ""
    from_: Address = Field(default_factory=Address, alias="from")
    to: list[Address] = []
    cc: list[Address] = []
    date: UtcTime | None = None
    claimed_date: str = ""  # what its Date field says, where the mail cannot have that date
    body_raw: str = ""
    body_normalized: str = ""
    body_html: str | None = None
    hidden_text: str = ""  # of the HTML: what a reader of the mail may not see. It counts for nothing
    segments: list[dict[str, Any]] = []
    headers: dict[str, Any] = {}
    trace: dict[str, list[str]] = {}  # fields of transport and authentication, the last hop first
    attachments: list[Attachment] = []
    draft_mentions: list[str] = []
    warnings: list[str] = []
    variant: str = ""
    identity: str = ""
    place: tuple[int, int, int] = (0, 0, 0)
    chunk_set: str | None = None  # what the ids of its chunks have in common; set when it is processed
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
    open_call: ShownOpenCall | None = None  # likewise
    flags: dict[str, int] = {}  # of the summary, likewise
    summary_id: str | None = None  # the current one
    summary_number: int = 0  # raised whenever another summary is named, or none; never restarts
    revision: int = 0  # raised by whatever changes what a summary would say
    content_hash: str | None = None  # the version that a summary was last asked for
    requesting: dict[str, Any] | None = None  # the version that an event is about to ask for (orchestration)
    edition: str | None = None  # the operation that last had it read anew, though nothing in it had changed
    corrections: int = 0  # how often people have corrected what is said of it, or revoked that
    report_id: str | None = None  # the last report, of the summary that was the thread's then
    subject_at: UtcTime | None = None  # when the subject was given; 1900 where by the first message
    threading: dict[str, Any] = {}  # kept to thread further messages (shared/threading)
    vote_subject: str | None = None  # of a thread that calls a vote, or brings a result: what it is about
    vote_thread: str | None = None  # it brings the result of this vote
    result_thread: str | None = None  # it is a vote, and its summary was made with the result in this thread
    inexact: bool = False  # messages have left it, joined it or changed: dates and people are due to be set
    merged_into: str | None = None  # set on a thread that is another one now
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
    archive_ids: list[str] = []  # all that have its message; none where only `archive_id` was stored
    label_version: int = 0  # that of its message when it got these labels
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
