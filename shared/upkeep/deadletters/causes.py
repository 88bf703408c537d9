"""Why a message is a dead letter: the failure ledger knows more than the broker's reason."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.clients.servicebus.dead_letters import DeadLetter
from shared.core.concurrency import batches_of
from shared.core.errors import ClassifiedError, ErrorKind, InvalidEventError, NewerVersionError
from shared.core.ids import cause_id, failure_id, invalid_key
from shared.documents.queries.operations import FAILURES_BY_ID
from shared.pipeline.events.envelope import parse_event
from shared.pipeline.failures import error_hash

IDS_PER_QUERY = 500
TOO_MANY_DELIVERIES = "MaxDeliveryCountExceeded"  # the broker's word
BROKEN_OFF = (
    "Each delivery was broken off before its failure could be recorded:"
    " by a crash, a stop, or a lock that ran out."
)


@dataclass(frozen=True)
class Cause:
    reason: str
    error_hash: str
    error_type: str
    error: str
    seen_at: datetime
    failure_id: str | None = None  # None where only the broker tells
    trace_id: str | None = None


@dataclass(frozen=True)
class Diagnosed:
    """A dead letter and its cause."""

    letter: DeadLetter
    cause: Cause
    satisfied: bool = False  # whether what it asked for is done by now, where that was looked at

    @property
    def group(self) -> str:
        """The same for all dead letters of a stage with the same reason and the same error."""
        return cause_id(self.letter.queue, self.cause.reason, self.cause.error_hash)


async def diagnose(store: Store, letters: Sequence[DeadLetter]) -> list[Diagnosed]:
    """Each letter of one queue with its cause: its failure record, else what the broker says."""
    if not letters:
        return []
    queue = letters[0].queue
    named = {letter.sequence_number: _named_record(letter) for letter in letters}
    records = await _records(store, queue, {id_ for id_ in named.values() if id_ is not None})
    nameless = {
        letter.sequence_number: failure_id(invalid_key(queue, letter.copy.data()), 1)
        for letter in letters
        if named[letter.sequence_number] not in records
    }
    records |= await _records(store, queue, set(nameless.values()))
    return [
        Diagnosed(letter, _cause(letter, records.get(nameless.get(number, named[number]))))
        for letter in letters
        for number in (letter.sequence_number,)
    ]


def _named_record(letter: DeadLetter) -> str | None:
    """By the properties that we send with an event; where somebody left them out, by the event itself."""
    key, attempt = letter.properties.get("idempotency_key"), letter.properties.get("attempt", 1)
    if isinstance(key, str) and isinstance(attempt, int):
        return failure_id(key, attempt)
    try:
        event = parse_event(letter.copy.data())
    except (InvalidEventError, NewerVersionError):
        return None
    return failure_id(event.idempotency_key(letter.queue), event.attempt)


async def _records(store: Store, stage: str, ids: Iterable[str]) -> dict[str | None, dict[str, Any]]:
    found = dict[str | None, dict[str, Any]]()
    for batch in batches_of(sorted(ids), IDS_PER_QUERY):
        async for record in store.query(FAILURES_BY_ID, Session(), partition_value=stage, ids=batch):
            found[record["id"]] = record
    return found


def _by_the_broker(letter: DeadLetter) -> str:
    """Without a record nothing of ours saw the failure: the broker knows no more than how it ended."""
    said = letter.description or "the broker gives no description"
    return f"{said} {BROKEN_OFF}" if letter.reason == TOO_MANY_DELIVERIES else said


def _cause(letter: DeadLetter, record: dict[str, Any] | None) -> Cause:
    reason = letter.reason or "unknown"
    if record is None:
        failure = ClassifiedError(ErrorKind.PERMANENT, reason, letter.description)
        return Cause(
            reason,
            error_hash(letter.queue, failure),
            error_type="",
            error=_by_the_broker(letter),
            seen_at=letter.enqueued_at,
        )
    return Cause(
        reason,
        record["error_hash"],
        record["error_type"],
        record["last_error"],
        datetime.fromisoformat(record["timestamp"]),
        record["id"],
        record.get("trace_id"),
    )
