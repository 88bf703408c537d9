"""Monitors: properties that must hold throughout a run, even if its end state is correct."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from shared.azure.cosmos.lease import Lease
from shared.azure.servicebus.bus import Bus
from shared.azure.servicebus.dead_letters import REQUEUED_BY
from shared.operations.requeue import Requeuer
from shared.pipeline.event_types import SummaryComplete
from shared.pipeline.readiness import member_keys
from shared.pipeline.retry import Backoff, Retry
from shared.pipeline.runner import QueueRunner
from shared.pipeline.topology import STAGES as STAGE_ROWS
from stages import embedding, orchestration
from tests.simulation.app import replace_in
from tests.simulation.loop import HOST

STAGES = {row.name for row in STAGE_ROWS}


def install_monitors() -> None:
    """Install the monitors once a process, before a safety is removed."""
    _one_holder_of_a_lease()
    _one_copy_of_a_retry()
    _one_event_for_each_requeue()
    _no_more_retries_than_allowed()
    _nothing_is_asked_for_before_it_is_stored()
    _one_id_for_one_event()


def _one_holder_of_a_lease() -> None:
    """Report two holders of a lease, unless one was paused or lost a call about the lock: then the lease expired."""
    held, made = Lease._kept, Lease.__init__

    def begun(self: Any, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        self.undisturbed = getattr(HOST.get(), "disturbed", 0)

    @asynccontextmanager
    async def kept(self: Any, *arguments: Any, **options: Any) -> AsyncIterator[None]:
        host = HOST.get()
        if host is None:
            async with held(self, *arguments, **options):
                yield
            return
        async with held(self, *arguments, **options):
            holders = host.world.holders.setdefault(self._name, {})
            for other, undisturbed in holders.values():
                if other.alive and other.disturbed == undisturbed and host.disturbed == self.undisturbed:
                    host.world.violations.append(f"{host.name} and {other.name} hold the lease {self._name}")
            holders[id(self)] = (host, self.undisturbed)
            try:
                yield
            finally:
                holders.pop(id(self), None)  # before the release, whose answer arrives later

    replace_in(Lease, "_kept", kept)
    replace_in(Lease, "__init__", begun)


def _one_copy_of_a_retry() -> None:
    handle = QueueRunner.handle_event_with_retry

    async def handled(self: Any, delivery: Any, work: Any, key: str) -> Any:
        async def noted(retry: Retry) -> Any:
            host, mine = HOST.get(), delivery.message_id
            if retry.number and host.world.retried.setdefault((retry.chain, retry.number), mine) != mine:
                host.world.violations.append(f"two copies of retry {retry.number} of {key} were worked on")
            return await work(retry)

        return await handle(self, delivery, noted, key)

    replace_in(QueueRunner, "handle_event_with_retry", handled)


def _one_event_for_each_requeue() -> None:
    """Report a repeated requeue, except of a chunk that was embedded or replaced and so counts from one again."""
    publish, embedded = Requeuer._publish, embedding.mark_embedded  # type: ignore[attr-defined]

    async def published(self: Any, requeues: Any, session: Any) -> None:
        world, keys = HOST.get().world, set()
        for data, attempt in requeues:
            chunks = set(getattr(data, "chunk_ids", ()))
            # Include the thread, because a crash in a merge may leave a chunk in two threads.
            places = sorted(
                (row["id"], row["thread_id"], row["created_at"])
                for row in (world.rows("chunks") if chunks else ())
                if row["id"] in chunks
            )
            key = (type(data).__name__, f"{data.identity_values()} {places}", attempt)
            if key in world.requeued:
                world.violations.append(f"{key[0]} was requeued twice as attempt {attempt}")
            world.requeued.add(key)
            keys.add(key)
        try:
            await publish(self, requeues, session)
        except Exception:
            world.requeued -= keys  # its attempt is undone and repeated
            raise

    def begun_anew(chunk: Any, **outcome: Any) -> Any:
        world = HOST.get().world
        world.requeued = {key for key in world.requeued if chunk.id not in key[1]}
        return embedded(chunk, **outcome)

    replace_in(Requeuer, "_publish", published)
    replace_in(embedding, "mark_embedded", begun_anew)


def _no_more_retries_than_allowed() -> None:
    """Report more retries than allowed over all deliveries of an event and its copies.

    While Cosmos DB is away no worker can check whether a retry's number was used, so a redelivered message is
    copied again. The copies of one number count once.
    """
    schedule = Retry.schedule

    async def scheduled(retry: Retry, clients: Any, queue: str, delivery: Any, seconds: float) -> None:
        world, settings = HOST.get().world, clients.settings
        copies = world.copies.setdefault(retry.chain, set())
        copies.add(f"away {retry.number}" if world.is_down("cosmos") else delivery.message_id)
        allowed = settings.RETRY_MAX_ATTEMPTS + Backoff().max_retries + retry.outages
        if queue in STAGES and len(copies) > allowed and delivery.properties.get(REQUEUED_BY) is None:
            world.violations.append(f"{queue} retried {delivery.subject} {len(copies)} times")
        await schedule(retry, clients, queue, delivery, seconds)

    replace_in(Retry, "schedule", scheduled)


def _nothing_is_asked_for_before_it_is_stored() -> None:
    """Report a summary request for a thread whose counted messages are not all stored."""
    claim = orchestration._claim

    async def claimed(ready: Any, claimer: str, work: Any) -> bool:
        world, thread = HOST.get().world, ready.thread
        stored = len({row["id"] for row in world.rows("messages")} & set(member_keys(thread)))
        now = next((row for row in world.rows("threads") if row["id"] == thread.id), None)
        if (
            stored < thread.message_count
            and now is not None
            and now["message_count"] == thread.message_count
            and not now.get("merged_into")
            and not world.rows("removals")
        ):
            world.violations.append(f"{stored} of {thread.message_count} messages were stored of {thread.id}")
        return await claim(ready, claimer, work)

    replace_in(orchestration, "_claim", claimed)


def _one_id_for_one_event() -> None:
    """Report a reused event id. The broker would drop a summary that becomes current again."""
    publish = Bus.publish

    async def published(self: Bus, events: Iterable[Any]) -> None:
        given, host = list(events), HOST.get()
        for event in given:
            if isinstance(event.data, SummaryComplete) and host is not None:
                made = event.data.summary_number
                if host.world.announced.setdefault(event.message_id, made) != made:
                    host.world.violations.append(
                        f"summary {event.data.summary_id} is revived under its old id"
                    )
        await publish(self, given)

    replace_in(Bus, "publish", published)
