"""A circuit breaker: while what a stage needs is down, a few documents probe it, and the rest wait uncounted.

It goes by what is stored: the stage's latest failure records, and the documents that it finished since.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.errors import ErrorKind
from shared.core.times import stored_time
from shared.documents.queries.operations import RECENT_FAILURES
from shared.documents.queries.several_containers import finished_since
from shared.upkeep.requeue.due_document import Collection
from shared.upkeep.requeue.policy import Policy

FEWEST_FAILURES = 5
MOST = 0.8


@dataclass(frozen=True)
class FailureEvidence:
    """A stage's latest failures, newest first, and what it finished since the oldest and since the newest."""

    failures: tuple[tuple[str, str], ...]  # error type and kind
    finished_meanwhile: int = 0
    finished_since: int = 0


def circuit_open_reason(evidence: FailureEvidence, *, was_open: bool) -> str | None:
    """The error that says that the stage's dependency is down; None where it is not.

    Once open it stays so until something is finished, or fails with something else: the probes are few.
    """
    if evidence.finished_since:
        return None
    transient = [type_ for type_, kind in evidence.failures if kind != ErrorKind.PERMANENT]
    if not transient:
        return "no outcome of the probes yet" if was_open and not evidence.failures else None
    ((common, count),) = Counter(transient).most_common(1)
    enough = 1 if was_open else FEWEST_FAILURES
    dominant = count >= enough and count >= MOST * len(evidence.failures)
    return common if dominant and evidence.finished_meanwhile < len(evidence.failures) else None


async def find_evidence(
    store: Store, collection: Collection, policy: Policy, now: datetime, *, was_open: bool
) -> FailureEvidence:
    since = stored_time(now - 2 * policy.interval)
    found = [
        row
        async for row in store.query(
            RECENT_FAILURES, Session(), partition_value=collection.stage, since=since
        )
    ]
    if len(found) < FEWEST_FAILURES and not was_open:
        return FailureEvidence(())
    newest, oldest = (found[0]["timestamp"], found[-1]["timestamp"]) if found else (since, since)
    return FailureEvidence(
        tuple((row["error_type"], row["error_kind"]) for row in found),
        finished_meanwhile=await _finished(store, collection, oldest),
        finished_since=await _finished(store, collection, newest),
    )


async def _finished(store: Store, collection: Collection, since: str) -> int:
    """How many, up to the number of failures that are compared: more make no difference."""
    finished = store.query(finished_since(collection), Session(), since=since)
    return len([row async for row in finished])
