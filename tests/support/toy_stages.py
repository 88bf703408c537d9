"""A toy stage on the real clients: it uses Cosmos DB, AI Search and Blob, and announces its results.

It replaces chunking (its queue, its events), and creates one chunk for each message.
"""

import gc
import math
import uuid
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from azure.core.exceptions import AzureError
from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import Metrics
from shared.core.errors import DocumentNotFoundError
from shared.core.runtime import Runtime
from shared.models.threads import Chunk, Message
from shared.pipeline.delivery import COPY, Delivery, Settlement
from shared.pipeline.event_types import ChunksPrepared, JSONParsed
from shared.pipeline.events import Event, parse_event
from shared.pipeline.runner import StageFailedError, StageRunner
from shared.pipeline.stage import Stage, StageContext, StageResult
from shared.pipeline.topology import CHUNKING
from shared.settings.app import Settings
from stages.registration import delivery_from_sdk
from tests.support.documents import CREATED
from tests.support.events import event_of

DIMENSIONS = 4
# Retries wait in the broker, in real time.
QUICK_RETRIES = {
    "RETRY_BASE_DELAY_MS": 1,
    "RETRY_MAX_DELAY_SECONDS": 1,
}
RAW = "raw"


class Crash(BaseException):
    """The process ends, so no handler may catch it."""


@dataclass
class Toy:
    """The stage, with a test's hook at each of its steps."""

    at_step: Callable[[str], None] = lambda _step: None
    withhold_session: bool = False
    uploads: bool = True
    works: list[str] = field(default_factory=list)

    def stage(self) -> Stage[JSONParsed]:
        return Stage(CHUNKING, self.handle, _documents)

    async def handle(self, event: Event[JSONParsed], context: StageContext) -> StageResult:
        self.works.append(event.event_id)
        self.at_step("started")
        session = Session() if self.withhold_session else context.session
        data = event.data
        keys = data.message_keys
        messages = await context.clients.store.find_many(Message, keys, session)
        if len(messages) < len(keys):
            raise DocumentNotFoundError("not all announced messages are there")
        self.at_step("loaded")
        chunks = [chunk_of(messages[key]) for key in keys]
        await context.clients.store.create_missing(chunks, context.session)
        self.at_step("stored")
        await context.clients.index.upsert([_indexed(chunk) for chunk in chunks])
        self.at_step("indexed")
        for chunk in chunks if self.uploads else []:
            await context.clients.blobs.upload(RAW, f"{chunk.id}.txt", chunk.text.encode())
        self.at_step("uploaded")
        prepared = ChunksPrepared(
            message_keys=data.message_keys,
            chunk_count=len(chunks),
            chunk_ids=[chunk.id for chunk in chunks],
            chunks_ready=True,
            chunking_strategy="toy",
            avg_chunk_size_tokens=1.0,
            chunk_threads=[chunk.thread_id for chunk in chunks],
        )
        return StageResult([prepared], after_announcing=self._announced, counts={"chunks": len(chunks)})

    async def _announced(self) -> None:
        self.at_step("announced")


def chunk_of(message: Message) -> Chunk:
    return Chunk(
        created_at=CREATED,
        id=f"c-{message.id}",
        chunk_id=f"c-{message.id}",
        message_key=message.id,
        message_id=message.message_id,
        thread_id=message.thread_id,
        archive_id=message.archive_id,
        chunk_index=0,
        text=message.body_normalized,
        token_count=1,
        start_offset=0,
        end_offset=len(message.body_normalized),
    )


def _indexed(chunk: Chunk) -> dict[str, Any]:
    angle = float(len(chunk.text))
    return {
        "chunk_id": chunk.id,
        "thread_id": chunk.thread_id,
        "text": chunk.text,
        "embedding": [math.sin(angle), math.cos(angle), 0.0, 0.5],
    }


def _documents(data: JSONParsed) -> list[str]:
    return data.message_keys


def message(key: str) -> Message:
    return Message(
        created_at=CREATED,
        id=key,
        message_key=key,
        message_id=f"<{key}@example.org>",
        archive_id="a1",
        thread_id="t1",
        body_normalized=f"body of {key}",
    )


@dataclass
class Bench:
    """A test's place: clients with a database of their own, and a receiver of the toy's queue."""

    clients: Clients
    bus: ServiceBusClient
    slept: list[float] = field(default_factory=list)
    retries: list[int] = field(default_factory=list)  # the retry number of each delivery
    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    receivers: dict[str, ServiceBusReceiver] = field(default_factory=dict)
    exit: AsyncExitStack = field(default_factory=AsyncExitStack)

    def name(self, name: str) -> str:
        """Return a name for this test alone, because the broker drops repeated names of any sender."""
        return f"{name}-{self.tag}"

    def parsed(self, *keys: str) -> JSONParsed:
        return JSONParsed(
            archive_id="a1",
            message_count=len(keys),
            message_keys=[self.name(key) for key in keys],
            thread_count=1,
            thread_ids=["t1"],
            parsing_duration_seconds=0.1,
            message_threads=["t1"] * len(keys),
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def runner(self, toy: Toy, *, metrics: Metrics | None = None, **options: Any) -> StageRunner[JSONParsed]:
        return StageRunner(toy.stage(), self.clients, Runtime(sleep=self.sleep, **options), metrics)

    async def store_messages(self, *keys: str) -> Session:
        session = Session()
        await self.clients.store.create_missing([message(self.name(key)) for key in keys], session)
        return session

    async def publish(
        self, data: JSONParsed, session: Session | None = None, attempt: int = 1
    ) -> Event[JSONParsed]:
        event = event_of(data, session=(session or Session()).tokens(), attempt=attempt)
        await self.clients.bus.publish([event])
        return event

    def fresh(self) -> "Bench":
        """Return the same place for the next test, with its own tag."""
        return replace(self, slept=[], retries=[], tag=uuid.uuid4().hex[:8])

    async def receiver(self, queue: str = "chunking") -> ServiceBusReceiver:
        """Return a receiver that stays open, because opening one takes the SDK half a second."""
        if queue not in self.receivers:
            self.receivers[queue] = await self.exit.enter_async_context(self.bus.get_queue_receiver(queue))
        return self.receivers[queue]

    async def deliver(
        self, runner: StageRunner[JSONParsed], settlement: Settlement | None = None
    ) -> Exception | None:
        """Deliver a message and its copies as the host does, and return the error that it would see."""
        error = await self.deliver_once(runner, settlement)
        while error is None and await self.waits_for_retry():
            error = await self.deliver_once(runner, settlement)
        return error

    async def run_through(self, runner: StageRunner[Any], delivery: Delivery, queue: str) -> None:
        """Run this delivery, and then each retry that it leaves in the broker."""
        await runner.run(delivery)
        while await self.waits_for_retry(queue):
            receiver = await self.receiver(queue)
            (received,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
            try:
                await runner.run(delivery_from_sdk(received))
            finally:
                await receiver.complete_message(received)

    async def waits_for_retry(self, queue: str = "chunking") -> bool:
        """Return whether a copy waits: a retry, or a message that failed for good."""
        receiver = await self.receiver(queue)
        waiting = await receiver.peek_messages(max_message_count=20)
        return any(COPY in str(message.message_id) for message in waiting)

    async def cancel_scheduled(self, queue: str, message: ServiceBusReceivedMessage) -> None:
        """Cancel the message, so that the next test does not receive it."""
        async with self.bus.get_queue_sender(queue) as sender:
            await sender.cancel_scheduled_messages(message.sequence_number or 0)

    async def deliver_once(
        self, runner: StageRunner[JSONParsed], settlement: Settlement | None = None
    ) -> Exception | None:
        receiver = await self.receiver()
        (received,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
        self.retries.append(int((received.application_properties or {}).get(b"retry", 0)))
        try:
            await runner.run(delivery_from_sdk(received, settlement))
        except StageFailedError as error:
            await receiver.abandon_message(received)
            return error
        except Crash:
            await receiver.abandon_message(received)  # as the broker does when the lock expires
            raise
        await receiver.complete_message(received)
        return None

    async def take_all(self, queue: str, expected: int) -> list[Event[Any]]:
        """Receive the expected number of events, and any further ones."""
        receiver, events = await self.receiver(queue), list[Event[Any]]()
        while len(events) < expected or await receiver.peek_messages(max_message_count=1):
            batch = await receiver.receive_messages(max_message_count=20, max_wait_time=10)
            assert batch, f"{len(events)} of {expected} events came to {queue}"
            for received in batch:
                events.append(parse_event(b"".join(received.body)))
                await receiver.complete_message(received)
        return events

    async def empty_dead_letters(self) -> None:
        async with self.clients.bus.dead_letters("chunking") as receiver:
            for letter in await receiver.receive_messages(max_message_count=20, max_wait_time=5):
                await receiver.complete_message(letter)


@asynccontextmanager
async def bench(settings: Settings, *, quick_retries: bool = True) -> AsyncIterator[Bench]:
    if quick_retries:
        settings = settings.model_copy(update=QUICK_RETRIES)
    clients = await Clients.connect(settings)
    assert settings.SERVICEBUS_CONNECTION is not None
    bus = ServiceBusClient.from_connection_string(settings.SERVICEBUS_CONNECTION.get_secret_value())
    try:
        await clients.ensure_containers()
        await clients.index.versions.ensure(DIMENSIONS)
        await clients.blobs.ensure_container(RAW)
        ready = Bench(clients, bus)
        async with ready.exit:
            yield ready
    finally:
        await bus.close()
        await _delete_data(clients)
        await clients.close()
        collect_dropped_sockets()


async def _delete_data(clients: Clients) -> None:
    """Delete the data, because the services list all of it and would slow down later tests."""
    with suppress(AzureError):  # a test may have broken a service, or deleted it
        await clients._cosmos.delete_database(clients.settings.COSMOS_DATABASE)
        await clients.index._admin.delete_alias(clients.index.versions.alias)
        await clients.index._admin.delete_index(clients.index.versions.own)


def collect_dropped_sockets() -> None:
    """Collect the sockets of broken connections, which the SDK does not close."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
