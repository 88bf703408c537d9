"""Messages: parsed mails, a document for each source that has the mail."""

from typing import Any

from pydantic import Field

from shared.documents.base import ProcessingStatus, SharedPartitionDocument, Subdocument, UtcTime

FENCE = "fence"
"""The id of a document in each partition of messages or threads that is neither (clients/cosmos/fence.py)."""


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


class Message(SharedPartitionDocument):
    container = "messages"
    partition_field = "thread_id"
    shared_partitions = 48
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
    thread_id: str
    in_reply_to: str | None = None
    references: list[str] = []
    subject: str = ""
    from_: Address = Field(default_factory=Address, alias="from")
    to: list[Address] = []
    cc: list[Address] = []
    date: UtcTime | None = None
    body_raw: str = ""
    body_normalized: str = ""
    body_html: str | None = None
    segments: list[dict[str, Any]] = []
    headers: dict[str, Any] = {}
    trace: dict[str, list[str]] = {}  # fields of transport and authentication, the last hop first
    attachments: list[Attachment] = []
    draft_mentions: list[str] = []
    warnings: list[str] = []
    variant: str = ""
    identity: str = ""
    place: tuple[int, int, int] = (0, 0, 0)
    status: ProcessingStatus = ProcessingStatus.PENDING
