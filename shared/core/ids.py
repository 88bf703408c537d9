"""The ids of archives, messages, threads and chunks: hashes of what makes each of them unique.

Fields are joined with their lengths in front (netstring style), so that no two different tuples of
fields can ever make the same input: ("ab", "c") and ("a", "bc") stay apart whatever they contain.
"""

import hashlib
from datetime import UTC, datetime

__all__ = [
    "ID_LENGTH",
    "archive_id",
    "chunk_id",
    "file_hash",
    "is_without_id",
    "message_key",
    "message_key_without_id",
    "node_without_id",
    "thread_id",
]

ID_LENGTH = 16
_NO_ID = "@no-message-id.invalid>"


def file_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive_id(full_hash: str) -> str:
    """The archive's id, from the full hash of its file (see `file_hash`)."""
    return full_hash[:ID_LENGTH]


def message_key(message_id: str) -> str:
    return _short(message_id)


def node_without_id(key: str) -> str:
    """What stands in a thread for a message that came without a Message-ID."""
    return f"<{key}{_NO_ID}"


def is_without_id(node: str) -> bool:
    """Whether it stands for such a message, or pretends to: then the message's key is not made of it."""
    return node.endswith(_NO_ID)


def message_key_without_id(date: datetime | None, sender: str, subject: str, body: str) -> str:
    """The key of a message that came without a Message-ID."""
    when = date.astimezone(UTC).isoformat() if date else ""
    return _short(_join(when, sender, subject, body))


def thread_id(root_message_id: str) -> str:
    return _short(root_message_id)


def chunk_id(key: str, chunk_index: int) -> str:
    return _short(_join(key, str(chunk_index)))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]


def _join(*fields: str) -> str:
    return "".join(f"{len(field)}:{field}," for field in fields)
