"""The request for a thread's summary, by those who changed something about the thread."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from shared.clients.classify import classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.servicebus.bus import to_message
from shared.core.concurrency import batches_of, gather_limited
from shared.core.errors import ErrorKind
from shared.core.times import stored_time
from shared.pipeline.event_builders import (
    PreparedChunk,
    archive_ingested,
    chunks_prepared,
    json_parsed,
    summary_request,
)
from shared.pipeline.event_types import EventData, SummarizationRequested
from shared.pipeline.events import STAGE_OF, Event, split_to_fit
from shared.pipeline.lifecycle.attempts import given_up, requeue_counted, requeue_recorded, requeue_uncounted
from shared.pipeline.lifecycle.threads import summary_requested, thread_claimed
from shared.pipeline.readiness import ready_thread
from shared.settings.app import Settings
from shared.upkeep.due_documents import ARCHIVES, CHUNKS, MESSAGES, DueDocument, Policy

LARGEST_BATCH = 500

Requeue = tuple[EventData, int]  # what to publish, as which attempt


def rebuild_events(
    dues: Iterable[DueDocument], policy: Policy, settings: Settings, *, alone: bool
) -> list[Requeue]:
    """Their events: documents of one archive and one attempt together, each by itself where `alone`."""
    groups: dict[tuple[str, int], list[DueDocument]] = {}
    for due in dues:
        groups.setdefault((str(due.fields.get("archive_id")), due.next_attempt), []).append(due)
    return [
        (_EVENTS[batch[0].collection.name](batch, settings), attempt)
        for (_, attempt), group in groups.items()
        for batch in _batches(group, 1 if alone else _size(group[0], policy))
    ]


def _size(due: DueDocument, policy: Policy) -> int:
    if due.collection is ARCHIVES:
        return 1
    return policy.batch_size(due.collection.name, due.next_attempt, LARGEST_BATCH)


def _batches(group: list[DueDocument], size: int) -> list[list[DueDocument]]:
    # In this order the documents of a thread stay together.
    return batches_of(sorted(group, key=lambda due: (due.partition, due.id)), size)


def _archive(dues: Sequence[DueDocument], settings: Settings) -> EventData:  # noqa: ARG001 - as the others
    (due,) = dues
    stored = due.fields
    return archive_ingested(
        due.id,
        stored,
        started_at=datetime.fromisoformat(stored["ingestion_date"]),
        completed_at=datetime.fromisoformat(stored.get("created_at") or stored["ingestion_date"]),
    )


def _messages(dues: Sequence[DueDocument], settings: Settings) -> EventData:  # noqa: ARG001 - as the others
    return json_parsed(dues[0].fields["archive_id"], [(due.id, due.partition) for due in dues])


def _chunks(dues: Sequence[DueDocument], settings: Settings) -> EventData:
    chunks = [
        PreparedChunk(due.id, due.partition, due.fields["message_key"], due.fields.get("token_count") or 0)
        for due in dues
    ]
    return chunks_prepared(
        chunks,
        message_keys=list(dict.fromkeys(chunk.message_key for chunk in chunks)),
        thread_ids={due.partition for due in dues},
        strategy=settings.CHUNKING_STRATEGY,
        archive_id=dues[0].fields.get("archive_id"),
    )


_EVENTS: dict[str, Callable[[Sequence[DueDocument], Settings], EventData]] = {
    ARCHIVES.name: _archive,
    MESSAGES.name: _messages,
    CHUNKS.name: _chunks,
}


log = logging.getLogger(__name__)
Item = TypeVar("Item")


@dataclass
class Requeuer:
    clients: Clients
    progress: Callable[[str], None] = field(default=lambda _step: None)
    bypass_topic: bool = False  # to the stage's queue, which drops no message that it has seen before

    async def requeue(
        self,
        dues: Sequence[DueDocument],
        rebuild: Callable[[Sequence[DueDocument]], Sequence[Requeue]],
        **noted: dict[str, Any],
    ) -> int:
        """Requeue these; how many were counted here. `noted` has more fields to record, by document id."""
        moment, session = stored_time(self.clients.runtime.now()), Session()
        counted = await self._those_that(
            dues, lambda due: self._count(due, moment, noted.get(due.id, {}), session)
        )
        self.progress("counted")
        try:
            await self._publish(rebuild(counted), session)
        except Exception as error:
            # An event that the broker refuses for good counts: its document would be asked for for ever.
            if classify(error).kind is ErrorKind.TRANSIENT:
                await self._those_that(counted, lambda due: self._uncount(due, moment, session))
            raise
        self.progress("published")
        await self._those_that(counted, lambda due: self._note(due, moment, session))
        self.progress("noted")
        return len(counted)

    async def give_up(self, dues: Sequence[DueDocument]) -> list[DueDocument]:
        """Mark them as failed for good; returns those that this call marked."""
        session = Session()
        marked = await self._those_that(dues, lambda due: self._give_up(due, session))
        for due in marked:
            log.error(
                "%s/%s is given up after %d attempts, the last at %s: %s",
                due.collection.name, due.id, due.attempts, due.last_attempt, due.reason,
            )  # fmt: skip
        self.progress("given_up")
        return marked

    async def _count(self, due: DueDocument, moment: str, more: dict[str, Any], session: Session) -> bool:
        return await requeue_counted(
            self.clients.store,
            due.subject,
            due.seen,
            error=due.reason,
            moment=moment,
            also=more,
            session=session,
        )

    async def _uncount(self, due: DueDocument, moment: str, session: Session) -> bool:
        store = self.clients.store
        return await requeue_uncounted(store, due.subject, due.seen, moment=moment, session=session)

    async def _note(self, due: DueDocument, moment: str, session: Session) -> bool:
        return await requeue_recorded(
            self.clients.store,
            due.subject,
            attempt=due.next_attempt,
            moment=moment,
            since=due.requeued_at or moment,
            session=session,
        )

    async def _give_up(self, due: DueDocument, session: Session) -> bool:
        return await given_up(self.clients.store, due.subject, due.seen, error=due.reason, session=session)

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

    @staticmethod
    async def _those_that(items: Sequence[Item], holds: Callable[[Item], Awaitable[bool]]) -> list[Item]:
        """The items for which the condition held, a few at a time."""
        results = await gather_limited(holds(item) for item in items)
        return [item for item, held in zip(items, results, strict=True) if held]


def _may_be_dropped(event: Event[Any]) -> bool:
    """Whether the topic may drop it as a duplicate: a first attempt equals the original event.

    Not a thread's request: the event that the topic has seen is orchestration's own, and one is enough.
    """
    return event.attempt == 1 and not isinstance(event.data, SummarizationRequested)


async def request_summary(clients: Clients, thread_id: str, session: Session) -> bool:
    """Request the version that the thread has now; False where it is not ready.

    If it is not ready, or orchestration has claimed it, orchestration requests the summary; if this event is
    lost, the sweep does. The claim makes the version the one that the thread waits for, and a repeated call
    finds its own claim.
    """
    ready = await ready_thread(clients, thread_id, session)
    if ready is None:
        return False
    version, now = ready.version, clients.runtime.now()
    claimer = f"request-{version}"
    if await thread_claimed(clients.store, ready.thread, version, claimer=claimer, now=now, session=session):
        request = summary_request(thread_id, version, clients.settings)
        await clients.bus.publish([Event.of(request, session=session.tokens(), now=now)])
        await summary_requested(clients.store, thread_id, version, session, ends_claim=True)
    return True
