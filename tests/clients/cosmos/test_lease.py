"""The lock that lets one worker at a time do what two must not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from shared.clients.cosmos.lease import HELD_SECONDS, Lease, LeaseTakenError
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.runtime import Runtime
from shared.documents.locks import Lock
from tests.stages.mail_in import mail_in
from tests.support.cloud import LocalCloud
from tests.support.services import RunningService


@dataclass
class Time:
    """A clock that stands still until the test moves it, and wakes those whose time has come."""

    now: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    asked: list[float] = field(default_factory=list)
    sleepers: list[tuple[datetime, asyncio.Event]] = field(default_factory=list)
    asleep: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def runtime(self) -> Runtime:
        return Runtime(now=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        wake = asyncio.Event()
        self.sleepers.append((self.now + timedelta(seconds=seconds), wake))
        self.asleep.set()
        await wake.wait()

    async def wait_for_sleeper(self) -> None:
        await self.asleep.wait()
        self.asleep.clear()

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        for at, wake in self.sleepers:
            if at <= self.now:
                wake.set()


@asynccontextmanager
async def a_store(cloud: LocalCloud, bus: RunningService) -> AsyncIterator[tuple[Store, Time]]:
    async with mail_in(cloud, bus) as place:
        yield place.clients.store, Time()


async def expires(store: Store) -> float:
    return (await store.read(Lock, "slow", "slow", Session())).expires


async def test_work_that_takes_longer_than_the_locks_time_keeps_it(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with a_store(cloud, bus_service) as (store, time), asyncio.timeout(30):
        async with Lease(store, "slow", time.runtime).held():
            for _ in range(5):  # renewals: together longer than its time
                await time.wait_for_sleeper()
                before = await expires(store)
                assert before > time.now.timestamp() + time.asked[-1], "it expires before it is renewed"
                time.move(time.asked[-1])
                while await expires(store) == before:  # noqa: ASYNC110 - the store tells nobody
                    await asyncio.sleep(0.01)
            assert (time.now - Time.now).total_seconds() > HELD_SECONDS
            async with Lease(store, "slow", time.runtime).held_if_free() as held:
                assert not held
        async with Lease(store, "slow", time.runtime).held_if_free() as held:
            assert held


async def test_a_lock_whose_holder_is_gone_is_free_when_its_time_is_over(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with a_store(cloud, bus_service) as (store, time):
        until = time.now.timestamp() + HELD_SECONDS
        await store.create(Lock(id="slow", owner="gone", expires=until, created_at=time.now), Session())
        time.move(HELD_SECONDS - 1)
        async with Lease(store, "slow", time.runtime).held_if_free() as held:
            assert not held
        time.move(1)
        async with Lease(store, "slow", time.runtime).held_if_free() as held:
            assert held


async def test_who_waits_longer_than_its_patience_gives_up(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with a_store(cloud, bus_service) as (store, time):
        until = time.now.timestamp() + HELD_SECONDS
        await store.create(Lock(id="slow", owner="other", expires=until, created_at=time.now), Session())
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        patient = Lease(store, "slow", Runtime(now=lambda: time.now, sleep=sleep), patience=3, poll=1)
        with pytest.raises(LeaseTakenError, match="not released within 3 s"):
            async with patient.held():
                pytest.fail("another holds it")
        assert slept == [1, 1, 1]
