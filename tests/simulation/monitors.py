"""What must hold at every moment, although the end may be right without it: noted while the run goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from shared.clients.cosmos.lease import Lease
from shared.pipeline.retry.event_retries import EventRetries
from shared.pipeline.runner import StageRunner
from shared.upkeep.requeue.requeuer import Requeuer
from tests.simulation.app import replace_in
from tests.simulation.loop import HOST


def install_monitors() -> None:
    """Once a process, before a safety is removed."""
    _one_holder_of_a_lease()
    _one_copy_of_a_retry()
    _one_event_for_each_requeue()


def _one_holder_of_a_lease() -> None:
    """Unless the holder stood still or lost a call about the lock: then its lease ran out, as it has to."""
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
                if other.alive and other.disturbed == undisturbed:
                    host.world.violations.append(f"{host.name} and {other.name} hold the lease {self._name}")
            holders[id(self)] = (host, self.undisturbed)
            try:
                yield
            finally:
                holders.pop(id(self), None)  # before it is released: the answer to that comes later

    replace_in(Lease, "_kept", kept)
    replace_in(Lease, "__init__", begun)


def _one_copy_of_a_retry() -> None:
    attempt = StageRunner._attempt

    async def attempted(self: Any, event: Any, delivery: Any, session: Any) -> Any:
        host = HOST.get()
        retries = EventRetries.of(delivery, self._runtime.now())
        if "retry" in delivery.properties:
            key = (retries.chain, int(delivery.properties["retry"]))
            first = host.world.retried.setdefault(key, delivery.message_id)
            if first != delivery.message_id:
                host.world.violations.append(
                    f"two copies of retry {key[1]} of {event.event_type} were worked on"
                )
        return await attempt(self, event, delivery, session)

    replace_in(StageRunner, "_attempt", attempted)


def _one_event_for_each_requeue() -> None:
    publish = Requeuer._publish

    async def published(self: Any, requeues: Any, session: Any) -> None:
        world = HOST.get().world
        for data, attempt in requeues:
            places = getattr(data, "chunk_threads", "")  # a crash in a merge may leave a chunk in two threads
            key = (type(data).__name__, f"{data.identity_values()} {places}", attempt)
            if key in world.requeued:
                world.violations.append(f"{key[0]} was requeued twice as attempt {attempt}")
            world.requeued.add(key)
        await publish(self, requeues, session)

    replace_in(Requeuer, "_publish", published)
