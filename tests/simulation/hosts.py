"""A process of the app: its connections, its running work, and its crash."""

import asyncio
import contextvars
import random
import uuid
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from azure.functions.servicebus import ServiceBusMessage

from shared.azure.blobs import Blobs
from shared.azure.connections import TOPIC, Clients, _FirstUse
from shared.azure.cosmos.store import Store
from shared.azure.search.index import Index
from shared.azure.servicebus.bus import Bus
from shared.core.runtime import Runtime
from shared.embedding.factory import EMBEDDER
from shared.operations.housekeeping import CHORES, run_housekeeping
from shared.operations.sweep import sweep
from tests.simulation import sdk
from tests.simulation.app import FUNCTIONS, QUEUES, ToyEmbedder
from tests.simulation.blobs import SimulatedBlobService
from tests.simulation.cosmos import DATABASE, SimulatedDatabase
from tests.simulation.loop import HOST, NOBODY
from tests.simulation.search import SimulatedSearch, SimulatedSearchAdmin
from tests.simulation.servicebus import Message, Queue, SimulatedBusClient

if TYPE_CHECKING:
    from tests.simulation.world import World

EPOCH = 1_800_000_000.0
# A lock is renewed after half of its duration, for maxAutoLockRenewalDuration (host.json) of 30 minutes.
RENEWALS = 12
RESTART_SECONDS = (1, 90)


def connect(world: "World", *, skew: float = 0.0, name: str = "-") -> Clients:
    """Connect clients to the simulated services, with the host's own clock and random source."""
    settings = world.settings
    draw = random.Random(f"{world.seed}-{name}")
    runtime = Runtime(
        now=lambda: datetime.fromtimestamp(EPOCH + world.loop.time() + skew, UTC),
        monotonic=world.loop.time,
        sleep=asyncio.sleep,
        random=draw,
        new_id=lambda: str(uuid.UUID(int=draw.getrandbits(128), version=4)),
    )
    store, index, blobs = (_through_sdks if world.through_sdks else _simulated)(world)
    index.versions._clock = world.loop.time
    clients = Clients(
        settings,
        store,
        Bus(SimulatedBusClient(world.broker), TOPIC),  # type: ignore[arg-type]
        index,
        blobs,
        None,  # type: ignore[arg-type]  # only provisioning asks for the client itself
        AsyncExitStack(),
        runtime,
    )
    clients.resources.give(EMBEDDER, ToyEmbedder(settings.EMBEDDING_MODEL))
    return clients


def _simulated(world: "World") -> tuple[Store, Any, Blobs]:
    settings, network = world.settings, world.network
    index = Index(
        lambda name: SimulatedSearch(world.search, network, name),  # type: ignore[arg-type, return-value]
        SimulatedSearchAdmin(world.search, network),  # type: ignore[arg-type]
        settings.SEARCH_INDEX,
        settings.EMBEDDING_MODEL,
    )
    store = Store(SimulatedDatabase(world.cosmos, network))  # type: ignore[arg-type]
    return store, index, Blobs(SimulatedBlobService(network, world.blobs))  # type: ignore[arg-type]


def _through_sdks(world: "World") -> tuple[Store, Any, Blobs]:
    settings, network = world.settings, world.network
    cosmos = sdk.cosmos_client(network, world.cosmos)  # type: ignore[arg-type]  # the local one
    store = Store(cosmos.get_database_client(DATABASE), connected=_FirstUse(cosmos))
    documents, admin = sdk.search_clients(network, world.search)
    index = Index(documents, admin, settings.SEARCH_INDEX, settings.EMBEDDING_MODEL)
    return store, index, Blobs(sdk.blob_client(network, world.blobs))


class Host:
    renews_locks = True
    completes_first = False

    def __init__(self, world: "World", slot: int, generation: int = 0) -> None:
        self.world = self._world = world
        self._slot, self._generation = slot, generation
        self.disturbed = 0  # the number of pauses and of failed calls about a lock
        self.name = f"host{slot}.{generation}"
        self.alive, self.paused = True, False
        self.backlog: list[Any] = []
        self.busy: dict[str, int] = {}
        self.context = contextvars.Context()
        self.context.run(HOST.set, self)
        self.clients = connect(world, skew=world.plan.skews[slot], name=self.name)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._dead: asyncio.Future[None] = world.loop.create_future()
        world.broker.receivers.append(self)
        world.broker.changed()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Hold a reference to each task. A collected task would run its `finally`, which a crash must not."""
        task: asyncio.Task[Any] = self.context.copy().run(self._world.loop.create_task, work)
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # kept for crashes
        self._tasks.add(task)
        return task

    async def outcome_of(self, task: "asyncio.Task[Any]") -> None:
        """Wait until the work or the host has ended."""
        await asyncio.wait((task, self._dead), return_when=asyncio.FIRST_COMPLETED)

    def crash(self) -> None:
        if not self.alive:
            return
        world = self._world
        self.alive = False
        self._dead.set_result(None)
        world.graves.append(self)
        world.broker.receivers.remove(self)
        world.trace(world.loop.time(), self.name, "CRASHED")
        seconds = world.chance.draw.uniform(*RESTART_SECONDS)
        world.loop.call_later(seconds, Host, world, self._slot, self._generation + 1, context=NOBODY)

    def pause(self, seconds: float) -> None:
        if self.alive and not self.paused:
            self.paused = True
            self.disturbed += 1
            self._world.trace(self._world.loop.time(), self.name, f"PAUSED for {seconds:.0f} s")
            self._world.loop.call_later(seconds, self._resume, context=NOBODY)

    def _resume(self) -> None:
        self._world.trace(self._world.loop.time(), self.name, "RESUMED")
        self._world.loop.resume(self)
        # The resumed host requests messages again, and some may be waiting for it.
        self._world.broker.changed()

    def has_room(self, queue: str) -> bool:
        # A paused host requests no messages, but keeps its current ones.
        return self.alive and not self.paused and self.busy.get(queue, 0) < self._world.plan.concurrent_calls

    def expect(self, queue: str) -> None:
        self.busy[queue] = self.busy.get(queue, 0) + 1

    def receive(self, queue: Queue, message: Message, token: bytes) -> None:
        self.spawn(self._run(queue, message, token))

    def is_busy(self) -> bool:
        return any(self.busy.values())

    async def _run(self, queue: Queue, message: Message, token: bytes) -> None:
        """Run a function as the Functions host does: complete on return, abandon on an exception."""
        world = self._world
        given = _trigger_message(world, message)
        renewing = self.spawn(self._renew(queue, token)) if self.renews_locks else None
        if self.completes_first:
            await self._settle(queue, token, "complete")
        how = "complete"
        try:
            await QUEUES[queue.path](given)
        except Exception as error:  # noqa: BLE001 - the host logs it and abandons the message
            world.count_error(queue.path, error)
            how = "abandon"
        if renewing is not None:
            renewing.cancel()
        await self._settle(queue, token, how)
        self.busy[queue.path] -= 1
        world.broker.changed()

    async def _settle(self, queue: Queue, token: bytes, how: str) -> None:
        try:
            await self._world.broker.settle(queue, token, how)
        except Exception as error:  # noqa: BLE001 - the lock expires, and the message is delivered again
            self._world.count_error(f"{queue.path} {how}", error)

    async def _renew(self, queue: Queue, token: bytes) -> None:
        for _ in range(RENEWALS):
            await asyncio.sleep(queue.options.lock_duration / 2000)
            await self._settle(queue, token, "renew")

    async def timer(self, name: str) -> None:
        try:
            if name == "housekeeping":
                chores = {chore: CHORES[chore] for chore in self._world.scenario.chores}
                await run_housekeeping(self.clients, chores)
            elif self._world.scenario.away:
                await FUNCTIONS["sweep"][0](None)  # the timer itself, which also resolves dead letters
            else:
                # Without the check of dead letters, because the end state must show them.
                await sweep(self.clients)
        except Exception as error:  # noqa: BLE001 - the host logs it, and the timer runs again
            self._world.count_error(name, error)


def _trigger_message(world: "World", message: Message) -> ServiceBusMessage:
    content = world.broker.content(message)
    properties = dict(content.properties)
    return ServiceBusMessage(
        body=content.body,
        application_properties=properties,
        user_properties=properties,
        message_id=content.message_id,
        subject=content.subject,
        correlation_id=content.correlation_id,
        delivery_count=message.delivery_count + 1,
        enqueued_time_utc=datetime.fromtimestamp(message.enqueued_at / 1000, UTC),
    )
