"""The failure record: the payload of a dead letter (R-802), stored so that it can be sorted and searched."""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from shared.azure.classify import classify
from shared.azure.telemetry.metrics import current_trace_id
from shared.core.errors import ClassifiedError, ErrorKind
from shared.core.ids import failure_id, invalid_key
from shared.models.records import FailureRecord
from shared.pipeline.delivery import Delivery
from shared.pipeline.events import Event

_EXTENSION = r"\.(?:mbox|mbx|mail|eml|mime|txt|zip|tar|tgz|gz|bz2|xz|zst)\b(?:\.\w{1,5})?"
_VARIABLE = re.compile(
    rf"\A(?:[\w-]{{1,64}}/[^\n]{{1,300}}?|[^\n]{{1,300}}?{_EXTENSION})(?=: )"  # the file name at the start
    r"|[\w.@+%-]{0,300}(?:/[\w.@+%-]{1,300})+"  # a path: every archive has its own
    rf"|[\w@+%-]{{1,300}}{_EXTENSION}"
    r"|<[^>\s]+>|[0-9a-f]{8,}|0x[0-9a-f]+|\d+",
    re.IGNORECASE,
)
MAX_KEPT_BODY = 64 * 1024


def error_hash(stage: str, failure: ClassifiedError) -> str:
    """Return a hash of the cause, without the ids, paths and numbers in its message."""
    shape = _VARIABLE.sub("#", failure.message)
    return hashlib.sha256(json.dumps([stage, failure.error_type, shape]).encode()).hexdigest()[:16]


def failure_record(
    stage: str,
    failure: ClassifiedError,
    *,
    event: Event[Any] | None,
    delivery: Delivery | None = None,
    message_id: str | None = None,
    reason: str,
    attempt_count: int,
    now: datetime,
) -> FailureRecord:
    """Return the record of an event that failed, or of a delivery that is not an event.

    Its id contains the event's idempotency key and attempt, so a repeated report gives the same record.
    """
    body = delivery.body if delivery is not None else event.to_json() if event is not None else b""
    attempt = event.attempt if event is not None else 1
    key = event.idempotency_key(stage) if event is not None else invalid_key(stage, body)
    return FailureRecord(
        id=failure_id(key, attempt),
        stage=stage,
        original_event=_original(body),
        idempotency_key=key,
        attempt=attempt,
        attempt_count=attempt_count,
        last_error=f"{failure.error_type}: {failure.message}",
        error_type=failure.error_type,
        error_kind=failure.kind.value,
        error_hash=error_hash(stage, failure),
        abandoned_reason=reason,
        service_name=stage,
        timestamp=now,
        created_at=now,
        message_id=delivery.message_id if delivery is not None else message_id,
        delivery_count=delivery.delivery_count if delivery is not None else 1,
        trace_id=current_trace_id() if delivery is not None else None,
    )


def _original(body: bytes) -> dict[str, Any] | str:
    """Return the event, or the first 64 KB of a body that is too large or not a JSON object."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict) and len(body) <= MAX_KEPT_BODY:
        return parsed
    return body[:MAX_KEPT_BODY].decode("utf-8", "replace")


Item = TypeVar("Item")


async def isolate_failures(
    items: Sequence[Item], work: Callable[[Sequence[Item]], Awaitable[None]]
) -> list[tuple[Item, ClassifiedError]]:
    """Do the work on all items. Return the items that fail permanently, each with its error.

    A permanent failure splits the batch. Any other failure is raised, so that the whole batch is retried.
    """
    failed: list[tuple[Item, ClassifiedError]] = []
    waiting = [list(items)] if items else []
    while waiting:
        batch = waiting.pop()
        try:
            await work(batch)
        except Exception as error:
            failure = classify(error)
            if failure.kind is not ErrorKind.PERMANENT:
                raise
            middle = len(batch) // 2
            if middle:
                waiting += [batch[middle:], batch[:middle]]
            else:
                failed.append((batch[0], failure))
    return failed
