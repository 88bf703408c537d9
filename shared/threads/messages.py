"""A message as it is stored, straight from what was parsed.

Thousands are written at a time, so none is made into a model first. That it is what the model would store is
tested over all the mail there is (tests/pipeline/test_stored_messages.py).
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from shared.documents import Message, stored_time
from shared.mail.models import Message as ParsedMessage
from shared.store import Ready

__all__ = ["message_documents", "stored_message"]

_EMPTY = Message(id="-", message_key="-", message_id="-", archive_id="-", thread_id="-").to_cosmos()
"""What a new message has besides what was parsed."""


def message_documents(
    messages: Sequence[ParsedMessage], places: Mapping[str, str], archive_id: str
) -> dict[str, Ready]:
    """Each message's document by its key; `places` has each node's thread."""
    now = datetime.now(UTC)
    documents = (stored_message(each, places[each.node], archive_id, now) for each in messages)
    return {each["id"]: Ready(Message.container, each["thread_id"], each) for each in documents}


def stored_message(message: ParsedMessage, thread_id: str, archive_id: str, now: datetime) -> dict[str, Any]:
    return {
        **_EMPTY,
        "id": message.message_key,
        "created_at": stored_time(now),
        "message_key": message.message_key,
        "message_id": message.node,
        "archive_id": archive_id,
        "archive_ids": [archive_id],
        "thread_id": thread_id,
        "in_reply_to": message.in_reply_to[0] if message.in_reply_to else None,
        "references": message.references,
        "subject": message.subject,
        "from": message.sender._asdict(),
        "to": [each._asdict() for each in message.to],
        "cc": [each._asdict() for each in message.cc],
        "date": stored_time(message.date) if message.date else None,
        "body_raw": message.body_raw,
        "body_normalized": message.body_normalized,
        "body_html": message.body_html,
        "segments": [{"kind": s.kind.value, "start": s.start, "end": s.end} for s in message.segments],
        "headers": message.headers,
        "attachments": [
            {"filename": a.filename, "content_type": a.content_type, "size_bytes": a.size, "content_id": None}
            for a in message.attachments
        ],
        "draft_mentions": message.draft_mentions,
        "warnings": message.warnings,
    }
