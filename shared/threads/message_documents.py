"""Messages as they are stored, built from parsed mails without a pydantic model in between.

An archive has thousands, and validating each would cost more than parsing it. A test compares the result with
what the model would store (tests/threads/test_message_documents.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.clients.cosmos.batches import Patch, RawDocument
from shared.core.ids import message_key
from shared.core.times import stored_time
from shared.documents.threads import Message
from shared.pipeline.lifecycle.attempts import RESET_ATTEMPTS
from shared.threads.message_copies import Arrival, Row, provenance

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
        writes.created.append(_raw(document, arrival, thread_id))
    elif arrival.is_replaced:
        document = {**stored_message(arrival, thread_id, source, stored["created_at"]), **known}
        writes.replaced.append(_raw(document, arrival, thread_id))
    elif any(known[name] != stored[name] for name in known) or stored["thread_id"] != thread_id:
        patch = Patch(stored["id"], thread_id, set={**known, "thread_id": thread_id})
        writes.patches.append(patch)
        writes.flagged |= {thread_id} if known["conflicts"] != stored["conflicts"] else set()
        if known["archive_ids"] != stored["archive_ids"]:
            # Its chunks name its archives: pending, so that they do even if the event of this is lost.
            writes.patches.append(Patch(stored["id"], thread_id, set=RESET_ATTEMPTS))


def _write_elsewhere(row: Row, source: str, identity: str, writes: MessageWrites) -> None:
    """Another source's copy of the message learns of this one."""
    others = [one for one in row["elsewhere"] if one["source"] != source]
    elsewhere = [*others, {"source": source, "identity": identity}]
    known = provenance(row["source"], row["copies"], row["archive_ids"], elsewhere)
    changed = {
        name: known[name] for name in ("elsewhere", "sources", "conflicts") if known[name] != row[name]
    }
    if changed:
        writes.patches.append(Patch(row["id"], row["thread_id"], set=changed))
    if "conflicts" in changed:
        writes.touched_elsewhere[row["id"]] = row["thread_id"]
        writes.flagged.add(row["thread_id"])


def _raw(document: dict[str, Any], arrival: Arrival, thread_id: str) -> RawDocument:
    size = arrival.message.json_bytes + ADDED_BYTES if len(arrival.copies) == 1 else None
    return RawDocument(Message.container, thread_id, document, size)


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
        "shelf": Message.partition_of(thread_id),
    }
