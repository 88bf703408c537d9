"""Documents that are stuck or have failed: list them, explain them, reset them and try them again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError, PermanentError
from shared.core.times import stored_time
from shared.models.containers import DOCUMENTS
from shared.models.queries import several_containers as queries
from shared.operations.due_documents import COLLECTIONS, THREADS, Collection, DueDocument, Policy, RetryReason
from shared.operations.requeue import Requeuer, rebuild_events
from shared.pipeline.event_builders import summary_request
from shared.pipeline.progress import ArchiveProgress, archive_progress
from shared.pipeline.readiness import ready_thread
from shared.pipeline.state.attempts import reset


class LeftOutError(PermanentError):
    """The document cannot be tried again now."""


@dataclass(frozen=True)
class BulkResult:
    changed: int
    left: list[tuple[str, str]]  # ids, and why each was not changed


def _document(collection: Collection, row: dict[str, Any]) -> DueDocument:
    return DueDocument.of(collection, RetryReason.FAILED, row, str(row[collection.model.thread_field()]))


def collection_named(name: str) -> Collection:
    for collection in COLLECTIONS:
        if name in {collection.name, collection.name[:-1], collection.stage}:
            return collection
    names = ", ".join(collection.name for collection in COLLECTIONS)
    raise PermanentError(f"there is no collection {name!r}: it is one of {names}")


async def stuck_documents(
    clients: Clients, collections: Sequence[Collection] = COLLECTIONS
) -> AsyncIterator[DueDocument]:
    """Yield pending documents without an outcome for longer than the stuck threshold, oldest first."""
    old = stored_time(clients.runtime.now() - Policy.from_settings(clients.settings).stuck_after)
    for collection in collections:
        async for stored in clients.store.query(queries.stuck_documents(collection), Session(), old=old):
            yield _document(collection, stored)


async def failed_documents(
    clients: Clients, collections: Sequence[Collection] = COLLECTIONS
) -> AsyncIterator[DueDocument]:
    """Yield failed documents. The sweep does not try them again."""
    for collection in collections:
        async for stored in clients.store.query(queries.failed_documents(collection), Session()):
            yield _document(collection, stored)


async def documents_by_id(clients: Clients, collection: Collection, ids: Sequence[str]) -> list[DueDocument]:
    """Return these documents in any state. Raise PermanentError if one does not exist."""
    query = queries.documents_by_ids(collection)
    found = {
        str(row["id"]): _document(collection, row)
        async for row in clients.store.query(query, Session(), ids=list(ids))
    }
    missing = [id_ for id_ in ids if id_ not in found]
    if missing:
        raise PermanentError(f"there is no document {missing[0]!r} in {collection.name}")
    return [found[id_] for id_ in dict.fromkeys(ids)]


async def reset_documents(clients: Clients, documents: Sequence[DueDocument]) -> BulkResult:
    """Set the documents to pending with no attempts (R-806). The next sweep requeues them."""
    return await _change_all(documents, lambda document: _reset(clients, document))


async def retry_documents(clients: Clients, documents: Sequence[DueDocument]) -> BulkResult:
    """Try the documents again now, as attempt 1, in their own stage only."""
    requeuer = Requeuer(clients, bypass_topic=True)
    return await _change_all(documents, lambda document: _retry(requeuer, document))


async def _change_all(
    documents: Sequence[DueDocument], act: Callable[[DueDocument], Awaitable[None]]
) -> BulkResult:
    left: list[tuple[str, str]] = []
    for document in documents:
        try:
            await act(document)
        except (PermanentError, DocumentNotFoundError) as error:
            left.append((document.id, str(error)))
    return BulkResult(len(documents) - len(left), left)


async def _retry(requeuer: Requeuer, document: DueDocument) -> None:
    clients, why = requeuer.clients, document.reason
    due = replace(document, attempts=0, last_attempt=None, last_error=why, requeued_at=None)
    # Built before any change, so that a thread that is not ready stays unchanged.
    if due.collection is not THREADS:
        policy = Policy.from_settings(clients.settings)
        requests = rebuild_events([due], policy, clients.settings, alone=True)
    elif ready := await ready_thread(clients, due.id, Session()):
        requests = [(summary_request(due.id, ready.version, clients.settings), due.next_attempt)]
    else:
        raise LeftOutError(
            "it is not ready: not all its messages are chunked and embedded yet; `documents list` shows which"
        )
    await _reset(clients, due, error=why)
    if not await requeuer.requeue([due], lambda counted: requests if counted else []):
        raise LeftOutError("another operation or the sweep requested it at the same time")


async def _reset(clients: Clients, document: DueDocument, *, error: str | None = None) -> None:
    if not await reset(clients.store, document.subject, Session(), error=error):
        raise LeftOutError("it is already processed")


async def find_anywhere(clients: Clients, id_: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (container, row)
        for container in DOCUMENTS
        async for row in clients.store.query(queries.documents_with_id(container), Session(), id=id_)
    ]


MOST = 5000  # documents of a collection that are read
GIVEN_UP = ("failed_max_retries", "failed")


@dataclass
class Blocker:
    """Documents that wait for the same reason."""

    collection: str
    stage: str
    state: str
    error: str | None
    next: str
    at: datetime | None = None  # the earliest time of the next step
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        return {**vars(self), "at": self.at.isoformat() if self.at else None}


@dataclass(frozen=True)
class WhyNotDone:
    progress: ArchiveProgress
    obstacles: list[Blocker]

    def shown(self) -> dict[str, Any]:
        return {
            "archive_id": self.progress.archive_id,
            "status": self.progress.status,
            "complete": self.progress.complete,
            "percent": self.progress.percent,
            "obstacles": [blocker.shown() for blocker in self.obstacles],
        }


async def find_blockers(clients: Clients, archive_id: str) -> WhyNotDone:
    progress = await archive_progress(clients, archive_id)
    found = await asyncio.gather(
        *(_find_blockers_in(clients, collection, archive_id) for collection in COLLECTIONS)
    )
    return WhyNotDone(progress, [blocker for blockers in found for blocker in blockers])


async def _find_blockers_in(clients: Clients, collection: Collection, archive_id: str) -> list[Blocker]:
    policy = Policy.from_settings(clients.settings)
    most = policy.max_attempts[collection.name]
    grouped: dict[tuple[str, str | None, str], Blocker] = {}
    seen = 0
    async for row in clients.store.query(
        queries.unfinished_of_archive(collection), Session(), archive=archive_id
    ):
        attempts, error = int(row.get("attemptCount") or 0), row.get("lastError")
        state, following, at = _next(row, attempts, policy, most)
        shortened = None if error is None else str(error).partition("\n")[0][:200]
        new = Blocker(collection.name, collection.stage, state, shortened, following)
        known = grouped.setdefault((state, shortened, following), new)
        known.count += 1
        known.examples = [*known.examples, str(row["id"])][:3]
        known.at = min(filter(None, (known.at, at)), default=None)
        seen += 1
        if seen == MOST:
            break
    return sorted(grouped.values(), key=lambda blocker: -blocker.count)


def _next(row: dict[str, Any], attempts: int, policy: Policy, most: int) -> tuple[str, str, datetime | None]:
    """Return the state, the next step and its earliest time, by the rules of the sweep."""
    if row["status"] in GIVEN_UP:
        return "failed", "no automatic retry: fix the cause, then `documents retry`", None
    last, requeued = row.get("lastAttemptTime"), row.get("requeued_at")
    last_known = max((str(time) for time in (last, requeued) if time), default=None)
    if last_known is None:
        since = datetime.fromisoformat(row["created_at"])
        return "not attempted yet", "the sweep sends it again", since + policy.interval
    if row.get("lastError") and requeued is None:
        due = datetime.fromisoformat(last_known) + policy.delay(attempts)
        following = "the sweep marks it as failed" if attempts >= most else "the sweep tries it again"
        return f"failed, attempt {attempts} of {most}", following, due
    again = "without a result, the sweep tries it again"
    return (
        f"under way, attempt {attempts}",
        again,
        datetime.fromisoformat(last_known) + policy.silence(attempts),
    )
