"""Documents that are stuck or were given up: found, shown, reset and tried again."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict
from shared.clients.servicebus.bus import to_message
from shared.core.errors import DocumentNotFoundError, PermanentError
from shared.documents.base import ProcessingStatus, stored_time
from shared.documents.containers import DOCUMENTS
from shared.documents.queries import retryable
from shared.documents.queries.conditions import OPEN
from shared.documents.queries.several_containers import documents_with_id
from shared.pipeline.events.envelope import Event
from shared.pipeline.events.splitting import split_to_fit
from shared.pipeline.readiness import ready_thread, summary_request
from shared.upkeep.requeue.due_document import COLLECTIONS, THREADS, Collection, DueDocument, RetryReason
from shared.upkeep.requeue.policy import Policy
from shared.upkeep.requeue.rebuild import Requeue, rebuild_events

__all__ = [
    "BulkResult",
    "SkippedDocument",
    "StuckDocument",
    "collection_named",
    "failed_documents",
    "find_anywhere",
    "reset_documents",
    "retry_documents",
    "stuck_documents",
    "troubled_by_id",
]


class LeftOutError(PermanentError):
    """The document cannot be tried again now."""


@dataclass(frozen=True)
class SkippedDocument:
    """A document that was chosen and not changed."""

    id: str
    why: str


@dataclass(frozen=True)
class BulkResult:
    changed: int
    left: list[SkippedDocument]


@dataclass(frozen=True)
class StuckDocument:
    """A document that is stuck or failed."""

    collection: Collection
    stored: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.stored["id"])

    @property
    def partition(self) -> str:
        return str(self.stored[self.collection.model.partition_field])

    @property
    def since(self) -> datetime:
        """When something was last heard of it."""
        return datetime.fromisoformat(self.stored.get("lastAttemptTime") or self.stored["created_at"])

    def shown(self) -> dict[str, Any]:
        return {
            "collection": self.collection.name,
            "stage": self.collection.stage,
            "id": self.id,
            "partition": self.partition,
            "status": self.stored.get("status"),
            "attempts": self.stored.get("attemptCount") or 0,
            "last_attempt": self.stored.get("lastAttemptTime"),
            "requeued_at": self.stored.get("requeued_at"),
            "created_at": self.stored.get("created_at"),
            "error": self.stored.get("lastError"),
        }

    def due(self) -> DueDocument:
        """As the sweep sees it, at its first attempt again."""
        return DueDocument(
            self.collection,
            RetryReason.FAILED,
            self.id,
            self.partition,
            0,
            self.stored.get("lastAttemptTime"),
            self.stored.get("lastError"),
            None,
            self.stored,
        )


def collection_named(name: str) -> Collection:
    for collection in COLLECTIONS:
        if name in {collection.name, collection.name[:-1], collection.stage}:
            return collection
    raise PermanentError(f"there is no collection {name!r}: it is one of {_names()}")


def _names() -> str:
    return ", ".join(collection.name for collection in COLLECTIONS)


async def stuck_documents(
    clients: Clients, collections: Sequence[Collection] = COLLECTIONS, *, now: datetime | None = None
) -> AsyncIterator[StuckDocument]:
    """Open, and nothing was heard of them for longer than the stuck threshold; oldest first."""
    policy = Policy.from_settings(clients.settings)
    old = stored_time((now or datetime.now(UTC)) - policy.stuck_after)
    for collection in collections:
        query = retryable.stuck_documents(collection)
        async for stored in clients.store.query(query, Session(), old=old):
            yield StuckDocument(collection, stored)


async def failed_documents(
    clients: Clients, collections: Sequence[Collection] = COLLECTIONS
) -> AsyncIterator[StuckDocument]:
    """Given up: no sweep looks at them again."""
    for collection in collections:
        async for stored in clients.store.query(retryable.failed_documents(collection), Session()):
            yield StuckDocument(collection, stored)


async def troubled_by_id(clients: Clients, collection: Collection, ids: Sequence[str]) -> list[StuckDocument]:
    """These documents, whatever their state; PermanentError names one that is not there."""
    query = retryable.documents_by_ids(collection)
    found = {
        str(each["id"]): StuckDocument(collection, each)
        async for each in clients.store.query(query, Session(), ids=list(ids))
    }
    missing = [id_ for id_ in ids if id_ not in found]
    if missing:
        raise PermanentError(f"there is no document {missing[0]!r} in {collection.name}")
    return [found[id_] for id_ in dict.fromkeys(ids)]


async def reset_documents(clients: Clients, documents: Sequence[StuckDocument]) -> BulkResult:
    """As the specification has it: no attempt counted, pending again; the next sweep asks for them."""
    fresh = {
        "status": ProcessingStatus.PENDING.value,
        "attemptCount": 0,
        "lastAttemptTime": None,
        "lastError": None,
        "requeued_at": None,
    }
    return await _each(documents, lambda each: _change(clients, each, fresh))


async def retry_documents(clients: Clients, documents: Sequence[StuckDocument]) -> BulkResult:
    """Try them again at once, as attempt 1, in their own stage alone.

    Counted before it is sent: after a crash in between, the sweep asks for them when the backoff has elapsed.
    Sent to the stage's queue and not to the topic, which would drop an event that it has seen lately.
    """
    moment = stored_time(datetime.now(UTC))
    return await _each(documents, lambda each: _retry(clients, each, moment))


async def _each(
    documents: Sequence[StuckDocument], act: Callable[[StuckDocument], Awaitable[None]]
) -> BulkResult:
    """One that cannot be changed is left out, and holds up no other."""
    changed, left = 0, list[SkippedDocument]()
    for each in documents:
        try:
            await act(each)
        except (PermanentError, DocumentNotFoundError) as error:
            left.append(SkippedDocument(each.id, str(error)))
        else:
            changed += 1
    return BulkResult(changed, left)


async def _retry(clients: Clients, document: StuckDocument, moment: str) -> None:
    data, attempt = await _request(clients, document)
    counted = {
        "status": ProcessingStatus.PENDING.value,
        "attemptCount": 1,
        "lastAttemptTime": moment,
        "requeued_at": None,
    }
    await _change(clients, document, counted)
    events = [Event.of(part, attempt=attempt) for part in split_to_fit(data)]
    await clients.bus.send_to_queue(document.collection.stage, [to_message(event) for event in events])
    await _note(clients, document, moment)


async def _request(clients: Clients, document: StuckDocument) -> Requeue:
    """What to send; asked for before anything is changed, so that what is not ready stays as it is."""
    if document.collection is not THREADS:
        policy = Policy.from_settings(clients.settings)
        (request,) = rebuild_events([document.due()], policy, clients.settings, alone=True)
        return request
    ready = await ready_thread(clients, document.id, Session())
    if ready is None:
        raise LeftOutError(
            "it is not ready: not all its messages are chunked and embedded yet;"
            " `documents stuck` and `documents failed` show which"
        )
    return summary_request(document.id, ready.version, clients.settings), 1


async def _note(clients: Clients, document: StuckDocument, moment: str) -> None:
    """From now on it is silent, and not failed; unless its stage was faster."""
    patch = Patch(document.id, document.partition, set={"requeued_at": moment})
    same = f"{OPEN} AND c.lastAttemptTime = '{moment}'"
    await clients.store.patch(document.collection.model, patch, Session(), condition=same)


async def _change(clients: Clients, document: StuckDocument, changes: dict[str, Any]) -> None:
    """Change it, unless it is done by now."""
    patch = Patch(document.id, document.partition, set=changes)
    done = await clients.store.patch(
        document.collection.model, patch, Session(), condition="c.status != 'processed'"
    )
    if done is Conflict.CONFLICT:
        raise LeftOutError("it is processed by now")


async def find_anywhere(clients: Clients, id_: str) -> list[tuple[str, dict[str, Any]]]:
    """Every document with this id, with the container that has it."""
    found = []
    for container in DOCUMENTS:
        query = documents_with_id(container)
        found += [(container, each) async for each in clients.store.query(query, Session(), id=id_)]
    return found
