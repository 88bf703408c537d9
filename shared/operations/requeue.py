"""Requeues documents and requests summaries of threads."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.bus import to_message
from shared.core.concurrency import batches_of, gather_limited
from shared.core.errors import ErrorKind
from shared.core.times import stored_time
from shared.operations.due_documents import ARCHIVES, MESSAGES, DueDocument, Policy
from shared.pipeline.event_builders import (
    PreparedChunk,
    archive_ingested,
    chunks_prepared,
    json_parsed,
    summary_request,
)
from shared.pipeline.event_types import EventData, SummarizationRequested
from shared.pipeline.events import STAGE_OF, Event, split_to_fit
from shared.pipeline.readiness import ready_thread
from shared.pipeline.state.attempts import count_requeue, given_up, record_requeue, undo_requeue
from shared.pipeline.state.threads import claim_version, mark_requested
from shared.settings.app import Settings

log = logging.getLogger(__name__)
LARGEST_BATCH = 500

Requeue = tuple[EventData, int]  # the event to publish, and its attempt


def rebuild_events(
    dues: Iterable[DueDocument], policy: Policy, settings: Settings, *, alone: bool
) -> list[Requeue]:
    """Return the events. Documents of one archive and attempt share an event unless `alone` is set."""
    groups: dict[tuple[str, int], list[DueDocument]] = {}
    for due in dues:
        groups.setdefault((str(due.stored.get("archive_id")), due.next_attempt), []).append(due)
    requeues: list[Requeue] = []
    for (_, attempt), group in groups.items():
        collection = group[0].collection
        size = 1
        if not alone and collection is not ARCHIVES:
            size = policy.batch_size(collection.name, attempt, LARGEST_BATCH)
        # This order keeps the documents of a thread together.
        ordered = sorted(group, key=lambda due: (due.partition, due.id))
        requeues += [(_event(batch, settings), attempt) for batch in batches_of(ordered, size)]
    return requeues


def _event(dues: Sequence[DueDocument], settings: Settings) -> EventData:
    collection, stored = dues[0].collection, dues[0].stored
    if collection is ARCHIVES:
        started = datetime.fromisoformat(stored["ingestion_date"])
        created = stored.get("created_at")
        completed = datetime.fromisoformat(created) if created else started
        return archive_ingested(dues[0].id, stored, started_at=started, completed_at=completed)
    if collection is MESSAGES:
        return json_parsed(stored["archive_id"], [(due.id, due.partition) for due in dues])
    chunks = [
        PreparedChunk(
            due.id,
            due.partition,
            due.stored["message_key"],
            due.stored.get("label_version") or 0,
            due.stored.get("token_count") or 0,
        )
        for due in dues
    ]
    return chunks_prepared(
        chunks,
        message_keys=list(dict.fromkeys(chunk.message_key for chunk in chunks)),
        thread_ids={due.partition for due in dues},
        strategy=settings.CHUNKING_STRATEGY,
        archive_id=stored.get("archive_id"),
    )


@dataclass
class Requeuer:
    clients: Clients
    progress: Callable[[str], None] = field(default=lambda _step: None)
    bypass_topic: bool = False  # to the queue of the stage, which has no duplicate detection

    async def requeue(
        self,
        dues: Sequence[DueDocument],
        rebuild: Callable[[Sequence[DueDocument]], Sequence[Requeue]],
        **extra: dict[str, Any],
    ) -> int:
        """Requeue the documents, and return how many this call counted. `extra` has fields by document id."""
        store, moment, session = self.clients.store, stored_time(self.clients.runtime.now()), Session()
        counted = await _filter(dues, lambda due: self._count(due, moment, extra.get(due.id, {}), session))
        self.progress("counted")
        try:
            await self._publish(rebuild(counted), session)
        except Exception as error:
            # A permanent refusal keeps the count. Otherwise the document would be requeued forever.
            if classify(error).kind is ErrorKind.TRANSIENT:
                await gather_limited(
                    undo_requeue(store, due.subject, due.seen, moment=moment, session=session)
                    for due in counted
                )
            raise
        self.progress("published")
        recorded = partial(record_requeue, store, moment=moment, session=session)
        await gather_limited(
            recorded(due.subject, attempt=due.next_attempt, since=due.requeued_at or moment)
            for due in counted
        )
        self.progress("noted")
        return len(counted)

    async def give_up(self, dues: Sequence[DueDocument]) -> list[DueDocument]:
        """Mark the documents as failed, and return the documents that this call marked."""
        store, session = self.clients.store, Session()
        marked = await _filter(
            dues, lambda due: given_up(store, due.subject, due.seen, error=due.reason, session=session)
        )
        for due in marked:
            log.error(
                "%s/%s is given up after %d attempts, the last at %s: %s",
                due.collection.name, due.id, due.attempts, due.last_attempt, due.reason,
            )  # fmt: skip
        self.progress("given_up")
        return marked

    async def _count(self, due: DueDocument, moment: str, more: dict[str, Any], session: Session) -> bool:
        store, subject = self.clients.store, due.subject
        return await count_requeue(
            store, subject, due.seen, error=due.reason, moment=moment, also=more, session=session
        )

    async def _publish(self, requeues: Sequence[Requeue], session: Session) -> None:
        events = [
            Event.of(part, session=session.tokens(), attempt=attempt, now=self.clients.runtime.now())
            for data, attempt in requeues
            for part in split_to_fit(data)
        ]
        alone = {event.event_id: event for event in events if self.bypass_topic or _may_be_dropped(event)}
        for event in alone.values():
            await self.clients.bus.send_to_queue(STAGE_OF[event.event_type], [to_message(event)])
        await self.clients.bus.publish(event for event in events if event.event_id not in alone)


async def _filter(
    items: Sequence[DueDocument], condition: Callable[[DueDocument], Awaitable[bool]]
) -> list[DueDocument]:
    results = await gather_limited(condition(item) for item in items)
    return [item for item, is_kept in zip(items, results, strict=True) if is_kept]


def _may_be_dropped(event: Event[Any]) -> bool:
    """Return whether the topic may drop the event as a duplicate of the original event (attempt 1)."""
    return event.attempt == 1 and not isinstance(event.data, SummarizationRequested)


async def request_summary(clients: Clients, thread_id: str, session: Session) -> bool:
    """Request a summary of the current version. Return False if the thread is not ready yet."""
    ready = await ready_thread(clients, thread_id, session)
    if ready is None:
        return False
    version, now = ready.version, clients.runtime.now()
    claimer = f"request-{version}"
    if await claim_version(clients.store, ready.thread, version, claimer=claimer, now=now, session=session):
        request = summary_request(thread_id, version, clients.settings)
        await clients.bus.publish([Event.of(request, session=session.tokens(), now=now)])
        await mark_requested(clients.store, thread_id, version, session, ends_claim=True)
    return True
