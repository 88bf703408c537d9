"""Every id of the app and its pattern: a hash of what makes the thing unique, or a prefix before another id.

Fields are joined with their lengths in front (netstring style), so that no two different tuples of
fields can ever make the same input: ("ab", "c") and ("a", "bc") stay apart whatever they contain.
"""

import hashlib
import json
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from shared.core.errors import InvalidIdError
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    import uuid
else:
    uuid = lazy("uuid")

ID_LENGTH = 16
REPORT_PREFIX = "rpt-"
_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

HASH_ID = r"^[0-9a-f]{16}$"  # of archives, threads, messages, chunks and people
REPORT_ID = rf"^{REPORT_PREFIX}{_UUID}$"
OPERATION_ID = r"^[0-9a-f]{32}$"  # of fetches and deletions
CORRECTION_ID = r"^[0-9a-f]{32}$"
SUBSCRIPTION_ID = r"^[0-9a-f]{32}$"  # and of the address that they belong to
AUDIT_ID = r"^[0-9]{8}-[0-9a-f]{8}$"  # of operators' operations
CAUSE_ID = r"^[0-9a-f]{8}$"  # of dead letters with the same cause

# What can be the id of a document, and so be named by an event: no controls, nothing that an address is made
# of, and not dots alone, which lead out of a folder.
_ID_CHARACTER = r"[^\x00-\x1f\x7f-\x9f/\\?#]"
DOCUMENT_ID = rf"^{_ID_CHARACTER}*[^.\x00-\x1f\x7f-\x9f/\\?#]{_ID_CHARACTER}*$"
LONGEST_ID = 255
_DOCUMENT_ID = re.compile(DOCUMENT_ID)

_FAILURE_ID = re.compile(r"(?P<key>.+)-(?P<attempt>[1-9][0-9]{0,8})$", re.DOTALL)
_NO_ID = "@no-message-id.invalid>"
_AUDIT_DAY_LENGTH = 8
_THREAD_SUMMARIES = "6f1c1c62-6a3e-4f0a-9b57-2d6f3a5f0c11"
_DIGEST_SUMMARIES = "0b8f8b64-6a0f-4c0e-8f55-55b1f60d6a3e"
_FEEDS = "3d0f54c1-3e52-4f0b-8a53-0d3c4f1a9b77"


def checked_id(id_: str) -> str:
    """The id, which goes into an address as it is. Whoever made it up, nothing else may."""
    if len(id_) > LONGEST_ID or not _DOCUMENT_ID.fullmatch(id_):
        raise InvalidIdError(f"{id_[:80]!r} cannot be the id of a document")
    return id_


# archives, messages, threads, chunks


def file_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive_id(full_hash: str, source: str = "") -> str:
    """Of a file (see `file_hash`), as a source has it: each source has its own archive of the same file.

    Without a source: as archives were named when a file could belong to one source only.
    """
    return _short(_join(source, full_hash)) if source else full_hash[:ID_LENGTH]


def message_key(message_id: str, source: str = "") -> str:
    """Each source has its own copy of a message. Without a source: what all copies have in common."""
    return _key_in(source, message_id) if source else _short(message_id)


@lru_cache(8192)
def _key_in(source: str, message_id: str) -> str:
    """A slice of an archive asks for each of its keys several times."""
    return _short(_join(source, message_id))


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


def thread_id(root_message_id: str, source: str = "") -> str:
    return message_key(root_message_id, source)


def chunk_id(key: str, chunk_index: int) -> str:
    return _short(_join(key, str(chunk_index)))


def subject_entry_id(period: int, subject: str, source: str) -> str:
    """The entry of the thread index for a subject of a source, in one period of time."""
    return _hash(_join("subject", str(period), source, subject))[:24]


# summaries, reports


def thread_summary_id(thread_id: str, version: str, template: str, backend: str, model: str) -> str:
    """One for each version of a thread and way to summarize it, however often it is requested."""
    return _uuid(_THREAD_SUMMARIES, json.dumps([thread_id, version, template, backend, model]))


def digest_summary_id(scope: str, version: str, template: str, model: str) -> str:
    return _uuid(_DIGEST_SUMMARIES, json.dumps([scope, version, template, model]))


def digest_id(scope: str) -> str:
    """Of its document: a source's name may hold what an id may not."""
    return _hash(scope)[:32]


def report_id(summary_id: str) -> str:
    return f"{REPORT_PREFIX}{summary_id}"


def delivery_id(report_id: str, webhook: str) -> str:
    """The same for every attempt: a receiver that knows it has seen this report."""
    return _hash(json.dumps([report_id, webhook]))[:32]


def upload_id(source: str, filename: str, size: int, modified: int) -> str:
    """The same for the same file: who sends it again goes on where it broke off."""
    return _hash(json.dumps(["upload", source, filename, size, modified]))[:32]


def address_key(address: str) -> str:
    """What the subscriptions of one address have in common. Servers take no notice of case, nearly all."""
    return _hash(json.dumps(["address", address.lower()]))[:32]


def subscription_id(address: str, kind: str, name: str) -> str:
    """One for an address (by its key) and a topic: who asks again asks for the same."""
    return _hash(json.dumps(["subscription", address, kind, name]))[:32]


def digest_mail_id(subscription: str, moment: str, domain: str) -> str:
    """The Message-ID of a mail to a subscriber: the same at every attempt."""
    return f"<{_hash(json.dumps([subscription, moment]))[:32]}@{domain}>"


def feed_id(*parts: str) -> str:
    """Of an Atom feed or entry: a URN that never changes."""
    return f"urn:uuid:{_uuid(_FEEDS, chr(0).join(parts))}"


def person_id(address: str) -> str:
    """Of somebody's page: it does not show the address that it is made of."""
    return _short(f"person:{address.strip().lower()}")


def correction_id(kind: str, message_id: str, person: str, sentence: str) -> str:
    """One for each thing that can be corrected, however often that is done."""
    return _hash(_join("correction", kind, message_id, person, sentence))[:32]


# operations, failures


def removal_id(kind: str, target: str) -> str:
    """Made of what is removed: so whether something was removed is a point read."""
    return _hash(f"{kind}:{target}")[:32]


def audit_id(day: datetime, new_id: str) -> str:
    """It begins with its day, which is its partition."""
    return f"{day:%Y%m%d}-{new_id[:8]}"


def day_of_audit(id_: str) -> str | None:
    """The partition of an audit record, by its id; None where it cannot be one's id."""
    day = id_.partition("-")[0]
    if len(day) != _AUDIT_DAY_LENGTH or not day.isdecimal():
        return None
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


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
    """Always the same for one letter in one operation: sent twice, it is recognisably the same message."""
    return _hash(json.dumps([operation, queue, number, original]))


def _uuid(space: str, name: str) -> str:
    return str(uuid.uuid5(uuid.UUID(space), name))


def _short(text: str) -> str:
    return _hash(text)[:ID_LENGTH]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _join(*fields: str) -> str:
    return "".join([f"{len(field)}:{field}," for field in fields])
