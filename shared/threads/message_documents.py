"""Messages as they are stored, built from parsed mails, with all their copies.

Of several mails with one id, the first in the list's own order is the source's message: by the archives as
they came, then by the place in the archive, and never by a date in the mail. A copy that says something else
is a conflict: it is counted and shown, and changes nothing else. A pydantic model would cost more
than parsing; a test compares the result with the model.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.clients.cosmos.session import Patch, RawDocument
from shared.core.ids import message_key
from shared.core.times import stored_time
from shared.documents.threads import Message
from shared.domain.mail.models import ParsedAddress, ParsedMail
from shared.domain.threading.prepared_message import PreparedMessage
from shared.pipeline.lifecycle.attempts import RESET_ATTEMPTS

MAX_COPIES = 100
"""Of one message: the first ones. The archives are all kept."""

StoredCopy = dict[str, Any]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class ArchiveOfSource:
    """An archive of a source. Archives are ordered by the stored time at which they arrived."""

    id: str
    source: str
    arrived: str


@dataclass
class Arrival:
    """A message of a slice: what is stored of it after, and what was before."""

    message: PreparedMessage
    """The first copy of the slice."""
    copies: list[StoredCopy]
    """All of them, stored and new, in order."""
    stored: Row | None
    elsewhere: list[Row] = field(default_factory=list)
    """The copies of other sources, as they are stored."""

    @property
    def is_first(self) -> bool:
        """Whether the slice's copy comes before all others: then it is the one to store."""
        return self.copies[0]["variant"] == self.message.document["variant"] and (
            self.stored is None or self.copies[0] not in self.stored["copies"]
        )

    @property
    def is_replaced(self) -> bool:
        """Whether what is stored gives way to it."""
        stored = self.stored
        return stored is not None and self.is_first and stored["variant"] != self.copies[0]["variant"]

    @property
    def says_the_same(self) -> bool:
        """Whether the slice's copy says what the first one says: then its links are those of the message."""
        return bool(self.copies[0]["identity"] == self.message.document["identity"])


def arrivals_of(
    messages: Iterable[PreparedMessage],
    archive: ArchiveOfSource,
    stored: Mapping[str, Row],
    elsewhere: Mapping[str, Sequence[Row]],
) -> list[Arrival]:
    """By node: `stored` has the source's own messages, `elsewhere` those of others."""
    by_node: dict[str, list[PreparedMessage]] = {}
    for message in messages:
        by_node.setdefault(message.node, []).append(message)
    return [
        _arrival(sorted(copies, key=_place), archive, stored.get(node), elsewhere.get(node, ()))
        for node, copies in by_node.items()
    ]


def _arrival(
    messages: Sequence[PreparedMessage],
    archive: ArchiveOfSource,
    stored: Row | None,
    elsewhere: Sequence[Row],
) -> Arrival:
    copies = [_copy(message, archive) for message in messages]
    known = stored["copies"] if stored else []
    return Arrival(messages[0], in_list_order([*known, *copies]), stored, list(elsewhere))


def in_list_order(copies: Sequence[StoredCopy]) -> list[StoredCopy]:
    """Each once, the first ones."""
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
    said = {name: message.document[name] for name in ("place", "variant", "identity")}
    return {"archive_id": archive.id, "arrived": archive.arrived, **said}


def provenance(
    source: str, copies: Sequence[StoredCopy], archives: Collection[str], elsewhere: Collection[Row]
) -> dict[str, Any]:
    """The fields that say where a message comes from, and what else goes by its id."""
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


ADDED_BYTES = 1500  # at most, beside what was parsed, for a message with a few copies
_REPLACED = datetime.min.replace(tzinfo=UTC)  # by the time that the message is stored
_EMPTY = Message(
    id="-", message_key="-", message_id="-", archive_id="-", thread_id="-", created_at=_REPLACED
).to_cosmos()
"""What a new message has besides what was parsed."""


@dataclass
class MessageWrites:
    """What a slice writes about messages."""

    created: list[RawDocument] = field(default_factory=list)
    replaced: list[RawDocument] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    flagged: set[str] = field(default_factory=set)
    """Threads with a message that got or lost a conflict."""
    touched_elsewhere: dict[str, str] = field(default_factory=dict)
    """Messages of other sources that got or lost a conflict, and their threads."""


def message_writes(
    arrivals: Iterable[Arrival], thread_of: Mapping[str, str], source: str, now: datetime
) -> MessageWrites:
    """`thread_of` has the thread of each node."""
    writes, created = MessageWrites(), stored_time(now)
    for arrival in arrivals:
        thread_id = thread_of[arrival.message.node]
        _write_own(arrival, thread_id, source, created, writes)
        for row in arrival.elsewhere:
            _write_elsewhere(row, source, arrival.copies[0]["identity"], writes)
    return writes


def _write_own(arrival: Arrival, thread_id: str, source: str, created: str, writes: MessageWrites) -> None:
    stored = arrival.stored
    known = provenance(source, arrival.copies, stored["archive_ids"] if stored else (), arrival.elsewhere)
    if stored is None:
        document = {**stored_message(arrival, thread_id, source, created), **known}
        writes.created.append(_raw(document, arrival))
    elif arrival.is_replaced:
        document = {**stored_message(arrival, thread_id, source, stored["created_at"]), **known}
        writes.replaced.append(_raw(document, arrival))
    elif any(known[name] != stored[name] for name in known) or stored["thread_id"] != thread_id:
        patch = Patch(stored["id"], set={**known, "thread_id": thread_id})
        writes.patches.append(patch)
        writes.flagged |= {thread_id} if known["conflicts"] != stored["conflicts"] else set()
        if known["archive_ids"] != stored["archive_ids"] or stored["thread_id"] != thread_id:
            # Its chunks name its archives and thread: pending, so that they do even if the event is lost.
            writes.patches.append(Patch(stored["id"], set=RESET_ATTEMPTS))


def _write_elsewhere(row: Row, source: str, identity: str, writes: MessageWrites) -> None:
    """Another source's copy of the message learns of this one."""
    others = [one for one in row["elsewhere"] if one["source"] != source]
    elsewhere = [*others, {"source": source, "identity": identity}]
    known = provenance(row["source"], row["copies"], row["archive_ids"], elsewhere)
    changed = {
        name: known[name] for name in ("elsewhere", "sources", "conflicts") if known[name] != row[name]
    }
    if changed:
        writes.patches.append(Patch(row["id"], set=changed))
    if "conflicts" in changed:
        writes.touched_elsewhere[row["id"]] = row["thread_id"]
        writes.flagged.add(row["thread_id"])


def _raw(document: dict[str, Any], arrival: Arrival) -> RawDocument:
    size = arrival.message.json_bytes + ADDED_BYTES if len(arrival.copies) == 1 else None
    return RawDocument(Message.container, document["pk"], document, size)


def stored_message(arrival: Arrival, thread_id: str, source: str, created: str) -> dict[str, Any]:
    """The arrival's own copy as a document, without its provenance."""
    document = arrival.message.document
    key = message_key(arrival.message.node, source)
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


def parsed_mail(message: Message) -> ParsedMail:
    """A stored message as the parser returned it, as far as threading needs it."""
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
