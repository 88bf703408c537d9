"""Messages: parsed mails."""

from typing import Any

from pydantic import Field

from shared.documents.base import ProcessingStatus, SharedPartitionDocument, Subdocument, UtcTime


class Address(Subdocument):
    name: str = ""
    email: str = ""


class Attachment(Subdocument):
    filename: str | None = None
    content_type: str
    size_bytes: int = Field(ge=0)
    content_id: str | None = None


class Message(SharedPartitionDocument):
    container = "messages"
    partition_field = "thread_id"
    shared_partitions = 48
    key_field = "message_key"

    message_key: str
    message_id: str
    archive_id: str
    archive_ids: list[str] = []
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
    attachments: list[Attachment] = []
    draft_mentions: list[str] = []
    warnings: list[str] = []
    variant: str = ""  # of several mails with this id, the one whose variant sorts first is stored
    status: ProcessingStatus = ProcessingStatus.PENDING
