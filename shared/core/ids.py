"""Every id of the app and its pattern. Fields are joined with their lengths: no two tuples collide."""

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
SOURCE_PARTITIONS = 32  # of the messages of a source. It is part of what is stored
REPORT_PREFIX = "rpt-"
_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

HASH_ID = r"^[0-9a-f]{16}$"  # of archives and people
MESSAGE_KEY = r"^[0-9a-f]{20}$"  # of messages and threads: four digits of the source, then of the message
CHUNK_ID = r"^[0-9a-f]{20}-[0-9]{1,16}-[0-9a-f]{4}-[0-9]{3,6}$"
PATTERNS = {"thread": MESSAGE_KEY, "message": MESSAGE_KEY, "placement": MESSAGE_KEY, "chunk": CHUNK_ID}
"""Of ids that addresses name; the others are a HASH_ID."""
REPORT_ID = rf"^{REPORT_PREFIX}{_UUID}$"
OPERATION_ID = r"^[0-9a-f]{32}$"  # of fetches and deletions
CORRECTION_ID = r"^[0-9a-f]{32}$"
SUBSCRIPTION_ID = r"^[0-9a-f]{32}$"  # and of the address that they belong to
AUDIT_ID = r"^[0-9]{8}-[0-9a-f]{8}$"  # of operators' operations
CAUSE_ID = r"^[0-9a-f]{8}$"  # of dead letters with the same cause

# Of any document: no controls, nothing that an address is made of, and not dots alone.
_ID_CHARACTER = r"[^\x00-\x1f\x7f-\x9f/\\?#]"
DOCUMENT_ID = rf"^{_ID_CHARACTER}*[^.\x00-\x1f\x7f-\x9f/\\?#]{_ID_CHARACTER}*$"
LONGEST_ID = 255
_DOCUMENT_ID = re.compile(DOCUMENT_ID)

_FAILURE_ID = re.compile(r"(?P<key>.+)-(?P<attempt>[1-9][0-9]{0,8})$", re.DOTALL)
_THREAD_SUMMARIES = "6f1c1c62-6a3e-4f0a-9b57-2d6f3a5f0c11"
_DIGEST_SUMMARIES = "0b8f8b64-6a0f-4c0e-8f55-55b1f60d6a3e"
_FEEDS = "3d0f54c1-3e52-4f0b-8a53-0d3c4f1a9b77"


def checked_id(id_: str) -> str:
    """The id, which goes into an address as it is."""
    if len(id_) > LONGEST_ID or not _DOCUMENT_ID.fullmatch(id_):
        raise InvalidIdError(f"{id_[:80]!r} cannot be the id of a document")
    return id_


def file_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive_id(full_hash: str, source: str) -> str:
    """Of a source's own archive of a file (see `file_hash`)."""
    return _short(_join(source, full_hash))


@lru_cache(8192)
def message_key(message_id: str, source: str = "") -> str:
    """Of a source's own copy of a message; without a source what all copies have in common."""
    if not source:
        return _short(message_id)
    return source_key(source) + _short(_join(source, message_id))


def source_key(source: str) -> str:
    """What the keys of all messages and threads of a source begin with."""
    return _short(source)[:SOURCE_DIGITS]


def source_partition(key: str) -> str:
    """The partition of the threads of a source, by the key of any of its messages or threads."""
    return key[:SOURCE_DIGITS]


def message_partition(key: str) -> str:
    """The partition of a message and its chunks. A message never moves, so it depends on nothing else.

    Cosmos DB writes documents of one partition in one batch. With a partition for each message, an archive
    would be thousands of small calls.
    """
    return _numbered(key, zlib.crc32(key.encode()) % SOURCE_PARTITIONS)


def _numbered(key: str, number: int) -> str:
    return f"{source_partition(key)}{number:02x}"


def node_without_id(key: str) -> str:
    """What stands in a thread for a message that came without a Message-ID."""
    return f"<{key}@no-message-id.invalid>"


def message_key_without_id(date: datetime | None, sender: str, subject: str, body: str) -> str:
    when = date.astimezone(UTC).isoformat() if date else ""
    return _short(_join(when, sender, subject, body))


def thread_id(root_message_id: str, source: str = "") -> str:
    return message_key(root_message_id, source)


def chunk_set(text_version: int, splitting: str) -> str:
    """What the ids of all chunks of a message have in common: its text, and how that was split."""
    return f"{text_version:d}-{_hash(splitting)[:4]}"


def chunk_id(key: str, chunk_set: str, chunk_index: int) -> str:
    return f"{key}-{chunk_set}-{chunk_index:03d}"


def set_of_chunk(id_: str) -> str:
    return id_.partition("-")[2].rpartition("-")[0]


def text_version_of_chunk(id_: str) -> int:
    version = set_of_chunk(id_).partition("-")[0]
    return int(version) if version.isdecimal() else 0


def message_of_chunk(id_: str) -> str:
    """The key of the message that a chunk is a part of."""
    return id_.partition("-")[0]


def message_entry_id(key: str) -> str:
    """Of the entry of a Message-ID, which is stored or only named, beside the threads of its source."""
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
    """The partition of any of these entries: that of the threads of its source."""
    return id_.partition("-")[2][:SOURCE_DIGITS]


def thread_summary_id(thread_id: str, version: str, template: str, backend: str, model: str) -> str:
    return _uuid(_THREAD_SUMMARIES, json.dumps([thread_id, version, template, backend, model]))


def digest_summary_id(scope: str, version: str, template: str, model: str) -> str:
    return _uuid(_DIGEST_SUMMARIES, json.dumps([scope, version, template, model]))


def scope_id(scope: str) -> str:
    """Of the documents that there is one of for a scope: its digest, its report."""
    return _hash(scope)[:32]


def report_id(summary_id: str) -> str:
    return f"{REPORT_PREFIX}{summary_id}"


def delivery_id(report_id: str, webhook: str) -> str:
    """The same for every attempt, so that a receiver knows it."""
    return _hash(json.dumps([report_id, webhook]))[:32]


def upload_id(source: str, filename: str, size: int, modified: int) -> str:
    """The same for the same file, so that an upload can be resumed."""
    return _hash(json.dumps(["upload", source, filename, size, modified]))[:32]


def address_key(address: str) -> str:
    """Of all subscriptions of one address, in any case."""
    return _hash(json.dumps(["address", address.lower()]))[:32]


def subscription_id(address: str, kind: str, name: str) -> str:
    """One for an address (by its key) and a topic."""
    return _hash(json.dumps(["subscription", address, kind, name]))[:32]


def digest_mail_id(subscription: str, moment: str, domain: str) -> str:
    return f"<{_hash(json.dumps([subscription, moment]))[:32]}@{domain}>"


def feed_id(*parts: str) -> str:
    return f"urn:uuid:{_uuid(_FEEDS, chr(0).join(parts))}"


def person_id(address: str) -> str:
    """Of a person's page: it does not show the address."""
    return _short(f"person:{address.strip().lower()}")


def correction_id(kind: str, message_id: str, person: str, sentence: str) -> str:
    """One for each thing that can be corrected."""
    return _hash(_join("correction", kind, message_id, person, sentence))[:32]


def removal_id(kind: str, target: str) -> str:
    """Made of what is removed, so that the answer is a point read."""
    return _hash(f"{kind}:{target}")[:32]


def audit_id(day: datetime, new_id: str) -> str:
    """It begins with its day, which is its partition."""
    return f"{day:%Y%m%d}-{new_id[:8]}"


def day_of_audit(id_: str) -> str | None:
    """The partition of an audit record, by its id; None where it cannot be the id of an audit record."""
    day = id_.partition("-")[0]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}" if re.fullmatch("[0-9]{8}", day) else None


def failure_id(idempotency_key: str, attempt: int) -> str:
    return f"{idempotency_key}-{attempt}"


def failed_event_of(failure: str) -> tuple[str, int]:
    """The idempotency key and the attempt that a failure's id is made of; 1 where it names no attempt."""
    named = _FAILURE_ID.match(failure)
    return (named["key"], int(named["attempt"])) if named else (failure, 1)


def invalid_key(stage: str, body: bytes) -> str:
    """The idempotency key of a message that is no event: what it says is all that it is."""
    return f"{stage}-invalid-{hashlib.sha256(body).hexdigest()[:16]}"


def cause_id(*parts: str) -> str:
    """Of dead letters that have the same cause, short enough to be typed."""
    return _hash(json.dumps(parts))[:8]


def resubmitted_id(operation: str, queue: str, number: int, original: str | None) -> str:
    """The same for one dead letter in one operation, so that the broker drops a repetition."""
    return _hash(json.dumps([operation, queue, number, original]))


def _uuid(space: str, name: str) -> str:
    return str(uuid.uuid5(uuid.UUID(space), name))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _short(text: str) -> str:
    return _hash(text)[:16]


def _join(*fields: str) -> str:
    return "".join([f"{len(field)}:{field}," for field in fields])
