"""A test's place with dead letters: a namespace with short locks, and a database of its own."""

import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusReceiver, ServiceBusSender

from localcloud.testing import Faults
from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.bus import to_message
from shared.azure.servicebus.dead_letters import DeadLetter, peek_all
from shared.core.errors import ClassifiedError, ErrorKind
from shared.core.ids import failure_id
from shared.models.records import FailureRecord
from shared.models.sources import Archive
from shared.operations.deadletters.journal import CONTAINER
from shared.pipeline.events import Event
from shared.pipeline.failures import error_hash
from tests.stages.mail_in import archive_of, ingested
from tests.support.cloud import SERVICEBUS_CONFIG, AppCloud, servicebus
from tests.support.documents import CREATED
from tests.support.events import event_of
from tests.support.services import RunningService
from tests.support.toy_stages import Bench, bench

LOCK_SECONDS = 3
FAILED_AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@contextmanager
def namespace_with_short_locks(folder: Path) -> Iterator[RunningService]:
    """Start a namespace with short locks, so that tests wait only seconds for a killed process's locks."""
    text = re.sub(
        r'"LockDuration": "PT5M"', f'"LockDuration": "PT{LOCK_SECONDS}S"', SERVICEBUS_CONFIG.read_text()
    )
    config = folder / "Config.json"
    config.write_text(text)
    with servicebus(folder, "--no-clamp", config=config) as running:
        yield running


@dataclass
class OpsPlace:
    bench: Bench
    service: RunningService
    senders: dict[str, ServiceBusSender] = field(default_factory=dict)

    @property
    def clients(self) -> Any:
        return self.bench.clients

    def event(self, name: str) -> Event[Any]:
        """Build an ArchiveIngested event of a file that no other test has."""
        return event_of(ingested(archive_of(self.bench.name(name).encode())))

    async def dead_letter(
        self,
        messages: Sequence[ServiceBusMessage],
        *,
        queue: str = "parsing",
        reason: str = "MaxDeliveryCountExceeded",
        description: str = "Message could not be consumed",
    ) -> None:
        sender = await self._sender(queue)
        for start in range(0, len(messages), 200):
            part = list(messages[start : start + 200])
            await sender.send_messages(part[0] if len(part) == 1 else part)
        receiver, left = await self.bench.receiver(queue), len(messages)
        while left:
            for letter in await receiver.receive_messages(max_message_count=min(left, 100), max_wait_time=10):
                await receiver.dead_letter_message(letter, reason=reason, error_description=description)
                left -= 1

    async def _sender(self, queue: str) -> ServiceBusSender:
        """Return a sender that stays open, because opening a sender takes the SDK half a second."""
        if queue not in self.senders:
            opened = self.bench.bus.get_queue_sender(queue)
            self.senders[queue] = await self.bench.exit.enter_async_context(opened)
        return self.senders[queue]

    async def fail(self, event: Event[Any], error_type: str, message: str, *, stage: str = "parsing") -> None:
        """Store the failure record that the stage would store."""
        await self.clients.store.upsert(failure_of(event, error_type, message, stage=stage), Session())

    async def failed_events(
        self, count: int, error_type: str, message: str, **options: Any
    ) -> list[Event[Any]]:
        """Put dead letters of one cause."""
        own = uuid.uuid4().hex[:8]
        events = [self.event(f"{own}-{number}") for number in range(count)]
        await self.clients.store.upsert_all(
            [failure_of(event, error_type, message) for event in events], Session()
        )
        await self.dead_letter([to_message(event) for event in events], **options)
        return events

    async def dead(self, queue: str = "parsing") -> list[DeadLetter]:
        return [letter async for letter in peek_all(self.clients.bus, queue)]

    async def waiting(self, queue: str = "parsing") -> list[ServiceBusReceivedMessage]:
        """Peek at the messages in the queue."""
        receiver: ServiceBusReceiver = await self.bench.receiver(queue)
        found: list[ServiceBusReceivedMessage] = []
        start = 1
        while page := await receiver.peek_messages(max_message_count=1000, sequence_number=start):
            found += page
            start = (page[-1].sequence_number or 0) + 1
        return found

    def empty(self, queue: str) -> None:
        """Remove all messages and dead letters, including locked ones."""
        Faults(self.service).empty(queue)


def failure_of(event: Event[Any], error_type: str, message: str, *, stage: str = "parsing") -> FailureRecord:
    failure = ClassifiedError(ErrorKind.PERMANENT, error_type, message)
    key = event.idempotency_key(stage)
    return FailureRecord(
        created_at=CREATED,
        id=failure_id(key, event.attempt),
        stage=stage,
        original_event=json.loads(event.to_json()),
        idempotency_key=key,
        attempt=event.attempt,
        attempt_count=3,
        last_error=f"{error_type}: {message}",
        error_type=error_type,
        error_kind="permanent",
        error_hash=error_hash(stage, failure),
        abandoned_reason="non_retryable",
        service_name=stage,
        timestamp=FAILED_AT,
        message_id=event.message_id,
    )


async def an_archive(place: OpsPlace, name: str, **changes: Any) -> Archive:
    archive = archive_of(place.bench.name(name).encode()).model_copy(update=changes)
    await place.clients.store.upsert(archive, Session())
    return archive


async def read_archive(place: OpsPlace, id_: str) -> Archive:
    found: Archive = await place.clients.store.read(Archive, id_, Session())
    return found


@asynccontextmanager
async def ops_place(cloud: AppCloud, service: RunningService) -> AsyncIterator[OpsPlace]:
    settings = cloud.settings(service, SERVICEBUS_ADMIN_ENDPOINT=service.addresses["admin"])
    async with bench(settings) as ready:
        for container in (ARCHIVES_CONTAINER, CONTAINER):
            await ready.clients.blobs.ensure_container(container)
        yield OpsPlace(ready, service)
