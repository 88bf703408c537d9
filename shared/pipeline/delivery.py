"""A message as the broker delivers it, and what a stage can do with it besides returning or raising."""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol, Self

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict
from shared.clients.servicebus.bus import as_it_came, to_message
from shared.clients.servicebus.dead_letters import REQUEUED_BY, REQUEUED_FROM, RETRY_PREFIX
from shared.core.errors import ErrorKind, TransientError
from shared.documents.queries.operations import RETRY_LOCKS
from shared.documents.records import Lock
from shared.pipeline.events import Event


class Settlement(Protocol):
    """How a stage settles its message."""

    async def complete(self) -> None:
        """The work is done."""

    async def dead_letter(self, reason: str, description: str) -> bool:
        """Set it aside at once; False where only the broker can, after its max delivery count."""


class RaiseToAbandon:
    """The default: the host completes on return and abandons on an exception."""

    async def complete(self) -> None:
        return None

    async def dead_letter(self, reason: str, description: str) -> bool:  # noqa: ARG002 - the port's names
        return False


@dataclass(frozen=True)
class Delivery:
    body: bytes
    message_id: str | None = None
    delivery_count: int = 1
    enqueued_at: datetime | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    settlement: Settlement = field(default_factory=RaiseToAbandon)


log = logging.getLogger(__name__)
NUMBER, RACES, BACKOFFS, SINCE, CHAIN = (
    RETRY_PREFIX,
    f"{RETRY_PREFIX}_races",
    f"{RETRY_PREFIX}_backoffs",
    f"{RETRY_PREFIX}_since",
    f"{RETRY_PREFIX}_chain",
)
COPY = "-retry-"  # in the id of a copy, between the original's and the number
KEPT_SECONDS = 24 * 3600.0  # a claim outlives its event, for copies that come late; the sweep removes it
MAX_CLAIMS = 5  # of a number, against other copies that claim at the same time


class RetryContestedError(TransientError):
    """Other copies of the event claimed their numbers at each try: this one does not know its own yet."""


@dataclass(frozen=True)
class EventRetries:
    """What was tried before this delivery."""

    races: int
    backoffs: int
    since: datetime
    """When the event was first enqueued: the time limit of a race counts from there."""
    chain: str
    """The same for a message and all its copies; another when somebody sends the event again."""

    @classmethod
    def of(cls, delivery: Delivery, now: datetime) -> Self:
        known = delivery.properties
        if CHAIN in known:
            since = datetime.fromisoformat(str(known[SINCE]))
            return cls(int(known[RACES]), int(known[BACKOFFS]), since, str(known[CHAIN]))
        first = delivery.enqueued_at or now
        identity = f"{delivery.message_id} {first.isoformat()}"
        return cls(0, 0, first, hashlib.sha256(identity.encode()).hexdigest()[:24])

    @property
    def number(self) -> int:
        return self.races + self.backoffs

    @property
    def attempts(self) -> int:
        """How often the work was tried, this delivery included."""
        return self.number + 1

    def after(self, kind: ErrorKind) -> Self:
        if kind is ErrorKind.RACE:
            return replace(self, races=self.races + 1)
        return replace(self, backoffs=self.backoffs + 1)

    def properties(self) -> Mapping[str, str | int]:
        return {
            NUMBER: self.number,
            RACES: self.races,
            BACKOFFS: self.backoffs,
            SINCE: self.since.isoformat(),
            CHAIN: self.chain,
        }


async def schedule_retry(
    clients: Clients, queue: str, event: Event[Any], delivery: Delivery, retries: EventRetries, seconds: float
) -> None:
    """Have the broker deliver the event again after so many seconds, as this retry."""
    message = to_message(event, body=delivery.body)
    message.message_id = f"{event.message_id}{COPY}{retries.number}-{clients.runtime.new_id()[:8]}"
    more: dict[str | bytes, Any] = dict((_sent_by(delivery) | dict(retries.properties())).items())
    message.application_properties = {**(message.application_properties or {}), **more}
    due = clients.runtime.now() + timedelta(seconds=seconds)
    await clients.bus.send_to_queue(queue, [message], at=due)


def _sent_by(delivery: Delivery) -> dict[str, Any]:
    """Which operation sent it again, if one did: it wants to know what becomes of it."""
    known = delivery.properties
    return {name: known[name] for name in (REQUEUED_BY, REQUEUED_FROM) if name in known}


async def schedule_unread_retry(
    clients: Clients, queue: str, delivery: Delivery, retries: EventRetries, seconds: float
) -> None:
    """The same for a message that is no event, or only a later version's: a copy of it as it came.

    A message id has 128 characters at most: that of a copy does not grow with the copies before.
    """
    original = str(delivery.message_id).partition(COPY)[0]
    copy = f"{original}{COPY}{retries.number}-{clients.runtime.new_id()[:8]}"
    properties = {**delivery.properties, **retries.properties()}
    due = clients.runtime.now() + timedelta(seconds=seconds)
    await clients.bus.send_to_queue(queue, [as_it_came(delivery.body, copy, properties)], at=due)


async def claim_number(clients: Clients, delivery: Delivery, retries: EventRetries) -> bool:
    """Whether this copy may do the work; False where another copy of this number, or a later one, came first.

    Only retries are claimed: the first delivery has no copies. A copy that is delivered again has its claim.
    """
    if not retries.number:
        return True
    store, id_, session = clients.store, _lock_id(retries), Session()
    mine = f"{retries.number}:{delivery.message_id}"
    for _ in range(MAX_CLAIMS):
        await store.refresh(Lock, session)
        known = await store.find(Lock, id_, id_, session)
        if known is None:
            now = clients.runtime.now()
            until = now.timestamp() + KEPT_SECONDS
            if await store.create(Lock(id=id_, owner=mine, expires=until, created_at=now), session):
                return True
            continue
        number = int(known.owner.partition(":")[0])
        if known.owner == mine or number > retries.number:
            return known.owner == mine
        if number == retries.number:
            return False
        claimed = await store.replace(known.model_copy(update={"owner": mine}), session)
        if claimed is not Conflict.CONFLICT:
            return True
    raise RetryContestedError(
        f"retry {retries.number} of {delivery.message_id} is claimed by others all the time"
    )


def _lock_id(retries: EventRetries) -> str:
    return f"{RETRY_LOCKS}{retries.chain}"
