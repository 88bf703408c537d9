"""Build the stored documents of messages from parsed mails and all their copies.

Several mails may have one id. The source's message is the first of them in list order: by arrival of the
archive, then by the place in the archive, and never by a date in the mail. The entry of the id has the
copies, so one commit decides which copy is first. A copy with other content is a conflict, which is only
counted and shown. Documents are built without a pydantic model, which would cost more than parsing
(`tests/thread_store/test_message_documents.py` compares them with the model).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.azure.cosmos.session import RawDocument
from shared.core.ids import message_key
from shared.mail.models import ParsedAddress, ParsedMail
from shared.models.threads import Message
from shared.threading.prepared_message import PreparedMessage, latest_date

MAX_COPIES = 100
"""The number of copies that a message keeps. It keeps all archives."""

StoredCopy = dict[str, Any]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class ArchiveOfSource:
    """An archive of a source. Archives are ordered by the stored time at which they arrived."""

    id: str
    source: str
    arrived: str


@dataclass(frozen=True)
class IncomingMessage:
    """A message of a slice, with all its copies in the slice."""

    message: PreparedMessage
    """The first copy in the slice."""
    archive: ArchiveOfSource
    copies: Sequence[StoredCopy]

    @property
    def key(self) -> str:
        return message_key(self.message.node, self.archive.source)

    def copies_with(self, stored: Sequence[StoredCopy]) -> list[StoredCopy]:
        """Return all copies in list order, including the copies of other archives."""
        return in_list_order([*stored, *self.copies])

    def is_first(self, copies: Sequence[StoredCopy]) -> bool:
        """Return whether the slice's copy comes before all others, so that it is stored."""
        return (copies[0]["archive_id"], copies[0]["place"]) == (
            self.archive.id,
            self.message.document["place"],
        )

    def says_the_same(self, copies: Sequence[StoredCopy]) -> bool:
        """Return whether the slice's copy has the content of the first copy, so that its links count."""
        return bool(copies[0]["identity"] == self.message.document["identity"])


def incoming_messages(
    messages: Iterable[PreparedMessage], archive: ArchiveOfSource
) -> dict[str, IncomingMessage]:
    """Return the messages of a slice with their copies, by node."""
    by_node: dict[str, list[PreparedMessage]] = {}
    latest = latest_date(archive.arrived)
    for message in (message.not_after(latest) for message in messages):
        by_node.setdefault(message.node, []).append(message)
    return {
        node: IncomingMessage(
            min(copies, key=_place), archive, [_copy(message, archive) for message in copies]
        )
        for node, copies in by_node.items()
    }


def in_list_order(copies: Sequence[StoredCopy]) -> list[StoredCopy]:
    """Return the first copies in list order, each copy once."""
    if len(copies) == 1:
        return list(copies)
    unique = {(copy["archive_id"], *copy["place"]): copy for copy in copies}
    return sorted(unique.values(), key=_rank)[:MAX_COPIES]


def _rank(copy: StoredCopy) -> tuple[Any, ...]:
    return copy["arrived"], copy["archive_id"], *copy["place"]


def _place(message: PreparedMessage) -> list[int]:
    place: list[int] = message.document["place"]
    return place


def _copy(message: PreparedMessage, archive: ArchiveOfSource) -> StoredCopy:
    fields = {name: message.document[name] for name in ("place", "variant", "identity")}
    return {"archive_id": archive.id, "arrived": archive.arrived, **fields}


def provenance(
    source: str, copies: Sequence[StoredCopy], archives: Collection[str], elsewhere: Collection[Row]
) -> dict[str, Any]:
    """Return the fields that say where a message comes from and whether other content has its id."""
    identity = copies[0]["identity"]
    others = {row["source"]: row["identity"] for row in elsewhere}
    same = [name for name, other in others.items() if other == identity]
    contents = {*[copy["identity"] for copy in copies], *others.values()}
    known = sorted({*archives, *[copy["archive_id"] for copy in copies]})
    return {
        "copies": list(copies),
        "place": copies[0]["place"],
        "archive_ids": known,
        "archive_id": known[0],
        "elsewhere": [{"source": name, "identity": others[name]} for name in sorted(others)],
        "sources": sorted({source, *same}),
        "conflicts": len(contents) - 1,
    }


ADDED_BYTES = 1500  # at most, in addition to the parsed fields, for a message with a few copies
_REPLACED = datetime.min.replace(tzinfo=UTC)  # a placeholder for the time of storing
_EMPTY = Message(
    id="-", message_key="-", message_id="-", archive_id="-", thread_id="-", created_at=_REPLACED
).to_cosmos()
"""The fields of a new message that are not parsed."""


def stored_message(message: PreparedMessage, thread_id: str, source: str, created: str) -> dict[str, Any]:
    """Return a copy as a document, without its provenance."""
    document = message.document
    key = message_key(message.node, source)
    return {
        **_EMPTY,
        **document,
        "id": key,
        "message_key": key,
        "post_id": document["id"],
        "source": source,
        "created_at": created,
        "thread_id": thread_id,
        "pk": Message.partition_of(key),
    }


def raw_message(
    incoming: IncomingMessage,
    thread_id: str,
    created: str,
    labels: Mapping[str, Any],
    etag: str | None = None,
) -> RawDocument:
    """Return the document to create, or to replace if there is an ETag."""
    document = {
        **stored_message(incoming.message, thread_id, incoming.archive.source, created),
        **labels,
    }
    size = incoming.message.json_bytes + ADDED_BYTES if len(document["copies"]) == 1 else None
    return RawDocument(Message.container, document["pk"], document, size, etag)


def parsed_mail(message: Message) -> ParsedMail:
    """Return a stored message as a parsed mail, with the fields that threading needs."""
    return ParsedMail(
        message_key=message.message_key,
        message_id=message.message_id,
        in_reply_to=[message.in_reply_to] if message.in_reply_to else [],
        references=message.references,
        subject=message.subject,
        sender=ParsedAddress(message.from_.name, message.from_.email),
        to=[],
        cc=[],
        date=message.date,
        body_raw="",
        body_normalized="",
        body_html=None,
        segments=[],
        headers={},
        attachments=[],
        draft_mentions=[],
    )
