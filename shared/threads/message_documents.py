"""A message as it is stored, straight from what was parsed.

Thousands are written at a time, so none is made into a model first. That it is what the model would store is
tested over all the mail there is (tests/threads/test_message_documents.py).
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from shared.clients.cosmos.batches import Patch, RawDocument
from shared.documents.base import stored_time
from shared.documents.messages import Message
from shared.documents.prepared_message import PreparedMessage

__all__ = ["merge_into_stored", "message_documents", "stored_message"]

OF_OURS = 1000  # bytes at most that we add to what was parsed
_REPLACED = datetime.min.replace(tzinfo=UTC)  # by the time that the message is stored
_EMPTY = Message(
    id="-", message_key="-", message_id="-", archive_id="-", thread_id="-", created_at=_REPLACED
).to_cosmos()
"""What a new message has besides what was parsed."""


def message_documents(
    arrivals: Sequence[PreparedMessage], places: Mapping[str, str], archive_id: str, now: datetime
) -> dict[str, RawDocument]:
    """Each message's document by its key; `places` has each node's thread."""
    created = stored_time(now)
    # In reverse, so that of several with the same id the first variant stays.
    ordered = sorted(arrivals, key=lambda message: message.document["variant"], reverse=True)
    return {
        message.key: _ready(message, places[message.links.node], archive_id, created) for message in ordered
    }


def _ready(arrival: PreparedMessage, thread_id: str, archive_id: str, now: str) -> RawDocument:
    stored = stored_message(arrival, thread_id, archive_id, now)
    return RawDocument(Message.container, thread_id, stored, arrival.json_bytes + OF_OURS)


def merge_into_stored(
    stored: Sequence[Mapping[str, Any]], documents: Mapping[str, RawDocument], archive_id: str
) -> tuple[list[Patch], list[RawDocument]]:
    """What this archive changes about messages that are there: it has them, too, or another variant of them.

    A variant that comes first takes the other's place, and has to be chunked anew.
    """
    patches, replaced = [], []
    for row in stored:
        ready = documents[row["id"]]
        archives = sorted({*row["archive_ids"], archive_id})
        seen = {"archive_ids": archives, "archive_id": archives[0], "thread_id": ready.partition_value}
        if ready.stored["variant"] < row["variant"]:
            content = {**ready.stored, **seen, "created_at": row["created_at"]}
            replaced.append(RawDocument(ready.container, ready.partition_value, content))
        elif archives != row["archive_ids"] or ready.partition_value != row["thread_id"]:
            patches.append(Patch(row["id"], ready.partition_value, set=seen))
    return patches, replaced


def stored_message(arrival: PreparedMessage, thread_id: str, archive_id: str, now: str) -> dict[str, Any]:
    return {
        **_EMPTY,
        **arrival.document,
        "created_at": now,
        "thread_id": thread_id,
        "shelf": Message.partition_of(thread_id),
        "archive_id": archive_id,
        "archive_ids": [archive_id],
    }
