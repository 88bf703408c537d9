"""The ids of archives, messages, threads and chunks: hashes of what makes each of them unique.

Fields are joined with their lengths in front (netstring style), so that no two different tuples of
fields can ever make the same input: ("ab", "c") and ("a", "bc") stay apart whatever they contain.
"""

import hashlib
import json
from datetime import UTC, datetime

__all__ = [
    "HASH_ID",
    "ID_LENGTH",
    "REPORT_ID",
    "archive_id",
    "chunk_id",
    "failure_id",
    "file_hash",
    "invalid_key",
    "is_without_id",
    "message_key",
    "message_key_without_id",
    "node_without_id",
    "removal_id",
    "report_id",
    "resubmitted_id",
    "thread_id",
]

ID_LENGTH = 16
_NO_ID = "@no-message-id.invalid>"


HASH_ID = r"^[0-9a-f]{16}$"  # of archives, threads, messages and chunks

REPORT_ID = r"^rpt-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


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


def report_id(summary_id: str) -> str:
    return f"rpt-{summary_id}"


def removal_id(kind: str, target: str) -> str:
    return hashlib.sha256(f"{kind}:{target}".encode()).hexdigest()[:32]


def failure_id(idempotency_key: str, attempt: int) -> str:
    return f"{idempotency_key}-{attempt}"


def invalid_key(stage: str, body: bytes) -> str:
    """The idempotency key of a message that is no event: what it says is all that it is."""
    return f"{stage}-invalid-{hashlib.sha256(body).hexdigest()[:16]}"


def resubmitted_id(operation: str, queue: str, number: int, original: str | None) -> str:
    """Always the same for one letter in one operation: sent twice, it is recognisably the same message."""
    return hashlib.sha256(json.dumps([operation, queue, number, original]).encode()).hexdigest()
