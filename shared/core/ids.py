"""The ids of the app and their patterns. Ids hash their fields with lengths, so tuples stay distinct."""

import hashlib
import json
import re
import zlib
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from shared.core.errors import InvalidIdError
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    import uuid
else:
    uuid = lazy("uuid")

SOURCE_DIGITS = 4
SOURCE_PARTITIONS = 32  # For the messages of one source. Stored ids depend on it.
REPORT_PREFIX = "rpt-"
_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

HASH_ID = r"^[0-9a-f]{16}$"  # Of archives and people.
MESSAGE_KEY = r"^[0-9a-f]{20}$"  # Of messages and threads: four digits of the source, then of the message.
CHUNK_ID = r"^[0-9a-f]{20}-[0-9]{1,16}-[0-9a-f]{4}-[0-9]{3,6}$"
PATTERNS = {"thread": MESSAGE_KEY, "message": MESSAGE_KEY, "placement": MESSAGE_KEY, "chunk": CHUNK_ID}
"""The patterns of ids in URLs. All other ids are a HASH_ID."""
REPORT_ID = rf"^{REPORT_PREFIX}{_UUID}$"
OPERATION_ID = r"^[0-9a-f]{32}$"  # Of fetches and deletions.
CORRECTION_ID = r"^[0-9a-f]{32}$"
SUBSCRIPTION_ID = r"^[0-9a-f]{32}$"  # Also of the key of their address.
AUDIT_ID = r"^[0-9]{8}-[0-9a-f]{8}$"  # Of operators' actions.
CAUSE_ID = r"^[0-9a-f]{8}$"  # Of dead letters with the same cause.

# A document id has no control character, no URL delimiter, and not only dots.
_ID_CHARACTER = r"[^\x00-\x1f\x7f-\x9f/\\?#]"
DOCUMENT_ID = rf"^{_ID_CHARACTER}*[^.\x00-\x1f\x7f-\x9f/\\?#]{_ID_CHARACTER}*$"
LONGEST_ID = 255
_DOCUMENT_ID = re.compile(DOCUMENT_ID)

_FAILURE_ID = re.compile(r"(?P<key>.+)-(?P<attempt>[1-9][0-9]{0,8})$", re.DOTALL)
_THREAD_SUMMARIES = "6f1c1c62-6a3e-4f0a-9b57-2d6f3a5f0c11"
_DIGEST_SUMMARIES = "0b8f8b64-6a0f-4c0e-8f55-55b1f60d6a3e"
_FEEDS = "3d0f54c1-3e52-4f0b-8a53-0d3c4f1a9b77"


def checked_id(id_: str) -> str:
    """Return the id if it is safe in a URL."""
    if len(id_) > LONGEST_ID or not _DOCUMENT_ID.fullmatch(id_):
        raise InvalidIdError(f"{id_[:80]!r} cannot be the id of a document")
    return id_


def file_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive_id(full_hash: str, source: str) -> str:
    """Return the id of a source's copy of a file (see `file_hash`)."""
    return _short(_join(source, full_hash))


@lru_cache(8192)
def message_key(message_id: str, source: str = "") -> str:
    """Return the key of a source's copy of a message, or without a source the key of all copies."""
    if not source:
        return _short(message_id)
    return source_key(source) + _short(_join(source, message_id))


def source_key(source: str) -> str:
    return _short(source)[:SOURCE_DIGITS]


def source_partition(key: str) -> str:
    """Return the partition of a source's threads, from the key of a message or thread."""
    return key[:SOURCE_DIGITS]


def message_partition(key: str) -> str:
    """Return the partition of a message and its chunks, which depends only on the key.

    Cosmos DB writes documents of one partition in one batch. A partition for each message would cost an
    archive thousands of small calls.
    """
    return _numbered(key, zlib.crc32(key.encode()) % SOURCE_PARTITIONS)


def _numbered(key: str, number: int) -> str:
    return f"{source_partition(key)}{number:02x}"


def node_without_id(key: str) -> str:
    """Return the key in a thread of a message without a Message-ID."""
    return f"<{key}@no-message-id.invalid>"


def message_key_without_id(date: datetime | None, sender: str, subject: str, body: str) -> str:
    when = date.astimezone(UTC).isoformat() if date else ""
    return _short(_join(when, sender, subject, body))


def thread_id(root_message_id: str, source: str = "") -> str:
    return message_key(root_message_id, source)


def chunk_set(text_version: int, splitting: str) -> str:
    """Return the part that the ids of a message's chunks share: the versions of text and splitting."""
    return f"{text_version:d}-{_hash(splitting)[:4]}"


def chunk_id(key: str, chunk_set: str, chunk_index: int) -> str:
    return f"{key}-{chunk_set}-{chunk_index:03d}"


def set_of_chunk(id_: str) -> str:
    return id_.partition("-")[2].rpartition("-")[0]


def text_version_of_chunk(id_: str) -> int:
    version = set_of_chunk(id_).partition("-")[0]
    return int(version) if version.isdecimal() else 0


def message_of_chunk(id_: str) -> str:
    return id_.partition("-")[0]


def message_entry_id(key: str) -> str:
    """Return the id of the entry of a Message-ID, stored or only referenced, next to the source's threads."""
    return f"id-{key}"


def subject_entry_id(period: int, subject: str, source: str) -> str:
    return f"subject-{source_key(source)}{_hash(_join('subject', str(period), source, subject))[:20]}"


def version_entry_id(source: str) -> str:
    return f"version-{_short(source)}"


def todo_entry_id(source: str, version: int) -> str:
    return f"todo-{_short(source)}-{version:d}"


def placement_entry_id(key: str) -> str:
    return f"placement-{key}"


def tombstone_entry_id(source: str, archive: str) -> str:
    return f"gone-{source_key(source)}{archive}"


def entry_partition(id_: str) -> str:
    """Return the partition of an entry, which is the partition of its source's threads."""
    return id_.partition("-")[2][:SOURCE_DIGITS]


def thread_summary_id(thread_id: str, version: str, template: str, backend: str, model: str) -> str:
    return _uuid(_THREAD_SUMMARIES, json.dumps([thread_id, version, template, backend, model]))


def digest_summary_id(scope: str, version: str, template: str, model: str) -> str:
    return _uuid(_DIGEST_SUMMARIES, json.dumps([scope, version, template, model]))


def scope_id(scope: str) -> str:
    """Return the id of a scope's single documents: its digest and its report."""
    return _hash(scope)[:32]


def report_id(summary_id: str) -> str:
    return f"{REPORT_PREFIX}{summary_id}"


def delivery_id(report_id: str, webhook: str) -> str:
    """Return the id of a delivery. It is the same for every attempt, so the receiver can detect a repeat."""
    return _hash(json.dumps([report_id, webhook]))[:32]


def upload_id(source: str, filename: str, size: int, modified: int) -> str:
    """Return the id of an upload. It is the same for the same file, so the upload can be resumed."""
    return _hash(json.dumps(["upload", source, filename, size, modified]))[:32]


def address_key(address: str) -> str:
    """Return the key of all subscriptions of an address, ignoring case."""
    return _hash(json.dumps(["address", address.lower()]))[:32]


def subscription_id(address: str, kind: str, name: str) -> str:
    return _hash(json.dumps(["subscription", address, kind, name]))[:32]


def digest_mail_id(subscription: str, moment: str, domain: str) -> str:
    return f"<{_hash(json.dumps([subscription, moment]))[:32]}@{domain}>"


def feed_id(*parts: str) -> str:
    return f"urn:uuid:{_uuid(_FEEDS, chr(0).join(parts))}"


def person_id(address: str) -> str:
    """Return the id of a person's page, which hides the address."""
    return _short(f"person:{address.strip().lower()}")


def correction_id(kind: str, message_id: str, person: str, sentence: str) -> str:
    """Return the id of the one correction of this position, sentence or outcome."""
    return _hash(_join("correction", kind, message_id, person, sentence))[:32]


def removal_id(kind: str, target: str) -> str:
    return _hash(f"{kind}:{target}")[:32]


def audit_id(day: datetime, new_id: str) -> str:
    """Return the id of an audit record. It starts with the day, which is its partition."""
    return f"{day:%Y%m%d}-{new_id[:8]}"


def day_of_audit(id_: str) -> str | None:
    """Return the partition of an audit record, or None if the id is invalid."""
    day = id_.partition("-")[0]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}" if re.fullmatch("[0-9]{8}", day) else None


def failure_id(idempotency_key: str, attempt: int) -> str:
    return f"{idempotency_key}-{attempt}"


def failed_event_of(failure: str) -> tuple[str, int]:
    """Return the idempotency key and the attempt in a failure's id. The attempt is 1 if the id has none."""
    named = _FAILURE_ID.match(failure)
    return (named["key"], int(named["attempt"])) if named else (failure, 1)


def invalid_key(stage: str, body: bytes) -> str:
    """Return an idempotency key for a message that is not an event, from its content."""
    return f"{stage}-invalid-{hashlib.sha256(body).hexdigest()[:16]}"


def cause_id(*parts: str) -> str:
    """Return the id of a cause of dead letters, short enough to type."""
    return _hash(json.dumps(parts))[:8]


def resubmitted_id(operation: str, queue: str, number: int, original: str | None) -> str:
    """Return the message id of a resubmission. It is stable, so the broker drops a repeat."""
    return _hash(json.dumps([operation, queue, number, original]))


def _uuid(space: str, name: str) -> str:
    return str(uuid.uuid5(uuid.UUID(space), name))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _short(text: str) -> str:
    return _hash(text)[:16]


def _join(*fields: str) -> str:
    return "".join([f"{len(field)}:{field}," for field in fields])
