"""Messages as they are stored, built from parsed mails without a pydantic model in between.

An archive has thousands, and validating each would cost more than parsing it. A test compares the result with
what the model would store (tests/threads/test_message_documents.py).
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from shared.clients.cosmos.batches import Patch, RawDocument
from shared.core.times import stored_time
from shared.documents.messages import Message
from shared.documents.prepared_message import PreparedMessage
from shared.pipeline.lifecycle.attempts import RESET_ATTEMPTS

ADDED_BYTES = 1000  # at most, beside what was parsed
_REPLACED = datetime.min.replace(tzinfo=UTC)  # by the time that the message is stored
_EMPTY = Message(
    id="-", message_key="-", message_id="-", archive_id="-", thread_id="-", created_at=_REPLACED
).to_cosmos()
"""What a new message has besides what was parsed."""


def message_documents(
    messages: Sequence[PreparedMessage], thread_of: Mapping[str, str], archive_id: str, now: datetime
) -> dict[str, RawDocument]:
    """The documents by message key; `thread_of` has the thread of each node."""
    created = stored_time(now)
    # In reverse, so that the first variant of a message overwrites the others.
    ordered = sorted(messages, key=lambda message: message.document["variant"], reverse=True)
    return {
        message.key: _raw(message, thread_of[message.links.node], archive_id, created) for message in ordered
    }


def _raw(message: PreparedMessage, thread_id: str, archive_id: str, created: str) -> RawDocument:
    stored = stored_message(message, thread_id, archive_id, created)
    return RawDocument(Message.container, thread_id, stored, message.json_bytes + ADDED_BYTES)


def merge_into_stored(
    stored: Sequence[Mapping[str, Any]], documents: Mapping[str, RawDocument], archive_id: str
) -> tuple[list[Patch], list[RawDocument]]:
    """What this archive changes about stored messages: patches, and documents that replace the stored ones.

    It adds itself to the archives that have the message. A variant that sorts before the stored one replaces
    it, and is pending: it has to be chunked again.
    """
    patches, replaced = [], []
    for row in stored:
        document = documents[row["id"]]
        archives = sorted({*row["archive_ids"], archive_id})
        seen = {"archive_ids": archives, "archive_id": archives[0], "thread_id": document.partition_value}
        if document.stored["variant"] < row["variant"]:
            content = {**document.stored, **seen, "created_at": row["created_at"]}
            replaced.append(RawDocument(document.container, document.partition_value, content))
        elif archives != row["archive_ids"] or document.partition_value != row["thread_id"]:
            # Its chunks name its first archive: pending, so that they do even if the event of this is lost.
            again = RESET_ATTEMPTS if archives[0] != row["archive_ids"][0] else {}
            patches.append(Patch(row["id"], document.partition_value, set={**seen, **again}))
    return patches, replaced


def stored_message(message: PreparedMessage, thread_id: str, archive_id: str, created: str) -> dict[str, Any]:
    return {
        **_EMPTY,
        **message.document,
        "created_at": created,
        "thread_id": thread_id,
        "shelf": Message.partition_of(thread_id),
        "archive_id": archive_id,
        "archive_ids": [archive_id],
    }
