"""Requeues documents, or gives them up, in steps that may end anywhere.

    count the attempt -> publish -> record that it was requeued

The count is a patch with a condition, so that of two sweeps at once one counts and publishes. A crash after
it leaves a document whose last attempt failed, due again when its backoff has elapsed. Where the broker is
away the attempt is given back: the document did not fail. A crash after publishing leads to the same event
once more, under its own number, which idempotency absorbs.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shared.clients.classify import classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.servicebus.bus import to_message
from shared.core.concurrency import gather_limited
from shared.core.errors import ErrorKind
from shared.core.times import stored_time
from shared.pipeline.event_types import SummarizationRequested
from shared.pipeline.events.catalogue import STAGE_OF
from shared.pipeline.events.envelope import Event
from shared.pipeline.events.splitting import split_to_fit
from shared.pipeline.lifecycle.attempts import (
    given_up,
    requeue_counted,
    requeue_recorded,
    requeue_uncounted,
)
from shared.upkeep.requeue.due_document import DueDocument
from shared.upkeep.requeue.rebuild import Requeue

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
