"""A message as it is stored, straight from what was parsed.

Thousands are written at a time, so none is made into a model first. That it is what the model would store is
tested over all the mail there is (tests/pipeline/test_stored_messages.py).
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from shared.documents import Message, stored_time
from shared.reading.arrivals import Arrival
from shared.store import Ready

__all__ = ["message_documents", "stored_message"]

_EMPTY = Message(id="-", message_key="-", message_id="-", archive_id="-", thread_id="-").to_cosmos()
"""What a new message has besides what was parsed."""


def message_documents(
    arrivals: Sequence[Arrival], places: Mapping[str, str], archive_id: str
) -> dict[str, Ready]:
    """Each message's document by its key; `places` has each node's thread."""
    now = datetime.now(UTC)
    documents = (stored_message(each, places[each.links.node], archive_id, now) for each in arrivals)
    return {each["id"]: Ready(Message.container, each["thread_id"], each) for each in documents}


def stored_message(arrival: Arrival, thread_id: str, archive_id: str, now: datetime) -> dict[str, Any]:
    return {
        **_EMPTY,
        **arrival.document,
        "created_at": stored_time(now),
        "thread_id": thread_id,
        "archive_id": archive_id,
        "archive_ids": [archive_id],
    }
