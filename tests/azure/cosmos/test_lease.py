"""The lease that lets only one worker at a time run a job."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from azure.core.pipeline.transport import AsyncHttpResponse, HttpRequest

from shared.azure.cosmos.lease import HELD_SECONDS, Lease, LeaseTakenError
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.core.runtime import Runtime
from shared.models.records import Lock
from tests.support.cosmos_engine import EngineTransport, clients_on_engine, stored_fields

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass
class Time:
    """A clock that moves only when the test moves it, and wakes the sleepers that are due."""

    now: datetime = START
    asked: list[float] = field(default_factory=list)
    sleepers: list[tuple[datetime, asyncio.Event]] = field(default_factory=list)
    asleep: asyncio.Event = field(default_factory=asyncio.Event)
    owners: int = 0

    @property
    def runtime(self) -> Runtime:
        return Runtime(now=lambda: self.now, sleep=self.sleep, new_id=self.new_owner)

    def new_owner(self) -> str:
        self.owners += 1
        return f"owner{self.owners}"

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

    async def pass_until_next_sleep(self) -> None:
        """Move to the time of the next sleeper, and wait until it sleeps again."""
        await self.wait_for_sleeper()
        self.move(self.asked[-1])
        await self.wait_for_sleeper()
        self.asleep.set()


@asynccontextmanager
async def a_store() -> AsyncIterator[tuple[Store, Time]]:
    async with clients_on_engine() as clients, asyncio.timeout(30):
        yield clients.store, Time()


async def lock_in(store: Store) -> Lock:
    return await store.read(Lock, "slow", Session())


async def taken_by(store: Store, owner: str, *, seconds: float = HELD_SECONDS) -> None:
    until = START.timestamp() + seconds
    await store.create(Lock(id="slow", owner=owner, expires=until, created_at=START), Session())


async def is_free(store: Store, time: Time) -> bool:
    async with Lease(store, "slow", time.runtime).hold_if_free() as held:
        return held


async def test_a_lock_is_held_for_two_minutes_by_one_owner_and_then_free() -> None:
    async with a_store() as (store, time):
        async with Lease(store, "slow", time.runtime).hold():
            lock = await lock_in(store)
            assert (lock.owner, lock.expires, lock.created_at) == ("owner1", START.timestamp() + 120, START)
            assert not await is_free(store, time)
        lock = await lock_in(store)
        assert (lock.owner, lock.expires) == ("", 0.0)
        assert await is_free(store, time)
        assert not (await lock_in(store)).owner


async def test_work_that_takes_longer_than_the_locks_time_keeps_it() -> None:
    async with a_store() as (store, time):
        async with Lease(store, "slow", time.runtime).hold():
            for _ in range(5):
                await time.pass_until_next_sleep()
                assert (await lock_in(store)).expires == time.now.timestamp() + HELD_SECONDS
            # Two renewals may fail or be late before the lease expires.
            assert time.asked == [HELD_SECONDS / 3] * 6
            assert not await is_free(store, time)
        assert await is_free(store, time)


async def test_a_renewal_that_fails_is_tried_again_at_the_next(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    send = EngineTransport.send

    async def refuse(transport: EngineTransport, request: HttpRequest) -> AsyncHttpResponse:
        monkeypatch.setattr(EngineTransport, "send", send)
        raise ValueError("a fault between the SDK and the service")

    async with a_store() as (store, time), Lease(store, "slow", time.runtime).hold():
        monkeypatch.setattr(EngineTransport, "send", lambda self, request, **_: refuse(self, request))
        await time.pass_until_next_sleep()
        assert "the lock slow could not be renewed" in caplog.text
        assert (await lock_in(store)).expires == START.timestamp() + HELD_SECONDS
        await time.pass_until_next_sleep()
        assert (await lock_in(store)).expires == time.now.timestamp() + HELD_SECONDS


async def test_a_lock_that_was_lost_is_neither_renewed_nor_released(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with a_store() as (store, time):
        async with Lease(store, "slow", time.runtime).hold():
            await store.delete(Lock, "slow", Session())
            await time.wait_for_sleeper()
            time.move(time.asked[-1])
            while "was lost while it was held" not in caplog.text:  # noqa: ASYNC110 - the log gives no signal
                await asyncio.sleep(0)
        assert time.asked == [HELD_SECONDS / 3]
        assert await store.find(Lock, "slow", Session()) is None


async def test_a_lock_that_another_took_over_stays_the_others() -> None:
    async with a_store() as (store, time):
        async with Lease(store, "slow", time.runtime).hold():
            await time.wait_for_sleeper()
            time.now += timedelta(seconds=HELD_SECONDS)  # this process was frozen for that long
            other = Lease(store, "slow", Time(now=time.now, owners=7).runtime)
            taking = other.hold_if_free()
            assert await taking.__aenter__()
        assert (await lock_in(store)).owner == "owner8"
        await taking.__aexit__(None, None, None)
        assert not (await lock_in(store)).owner


async def test_a_lock_whose_holder_is_gone_is_free_when_its_time_is_over() -> None:
    async with a_store() as (store, time):
        await taken_by(store, "gone")
        time.move(HELD_SECONDS - 1)
        assert not await is_free(store, time)
        time.move(1)
        assert await is_free(store, time)


@pytest.mark.parametrize(("patience", "polls"), [(3, 3), (2.5, 3), (0, 0)])
async def test_who_waits_longer_than_its_patience_gives_up(patience: float, polls: int) -> None:
    async with a_store() as (store, time):
        await taken_by(store, "other")
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        patient = Lease(store, "slow", Runtime(now=lambda: time.now, sleep=sleep), patience=patience, poll=1)
        with pytest.raises(LeaseTakenError, match=f"slow was not released within {patience:.0f} s"):
            async with patient.hold():
                pytest.fail("another holds it")
        assert slept == [1] * polls


async def test_who_waits_asks_ten_times_a_second_for_a_minute() -> None:
    async with a_store() as (store, time):
        await taken_by(store, "other", seconds=10_000)
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        with pytest.raises(LeaseTakenError):
            async with Lease(store, "slow", Runtime(now=lambda: time.now, sleep=sleep)).hold():
                pytest.fail("another holds it")
        assert set(slept) == {0.1}
        assert 600 <= len(slept) <= 601  # tenths of a second do not add up exactly


async def test_who_waits_gets_the_lock_when_it_is_released() -> None:
    async with a_store() as (store, time):
        await taken_by(store, "other")

        async def sleep(seconds: float) -> None:
            time.now += timedelta(seconds=HELD_SECONDS if seconds == 1 else 0)
            if seconds != 1:
                await asyncio.Event().wait()  # the renewals: this work is short

        lease = Lease(store, "slow", Runtime(now=lambda: time.now, sleep=sleep), patience=3, poll=1)
        async with lease.hold():
            assert (await lock_in(store)).owner not in ("", "other")


async def test_those_of_one_process_take_turns() -> None:
    async with a_store() as (store, time):
        order: list[str] = []

        async def work(name: str) -> None:
            async with Lease(store, "slow", time.runtime, patience=0).hold():
                order.append(f"{name} in")
                await asyncio.sleep(0)
                order.append(f"{name} out")

        await asyncio.gather(work("a"), work("b"))
        assert sorted(order[:2]) in (["a in", "a out"], ["b in", "b out"])
        assert len(order) == 4


async def test_locks_of_other_names_do_not_wait_for_each_other() -> None:
    async with (
        a_store() as (store, time),
        Lease(store, "slow", time.runtime).hold(),
        Lease(store, "other", time.runtime).hold(),
    ):
        assert (await lock_in(store)).owner == "owner1"


async def test_a_lock_held_for_good_leaves_no_document() -> None:
    async with a_store() as (store, time):
        async with Lease(store, "slow", time.runtime).hold(delete_after=True):
            assert (await lock_in(store)).owner
        assert await store.find(Lock, "slow", Session()) is None


async def test_a_lock_held_for_good_that_another_took_over_is_not_deleted() -> None:
    async with a_store() as (store, time):
        async with Lease(store, "slow", time.runtime).hold(delete_after=True):
            lock = await lock_in(store)
            await store.replace(lock.model_copy(update={"owner": "other"}), Session())
        assert (await lock_in(store)).owner == "other"


async def test_the_next_holder_sees_what_the_last_one_wrote() -> None:
    async with a_store() as (store, time):
        first, second = Session({"threads": "0:-1#7"}), Session()
        async with Lease(store, "slow", time.runtime).hold(first):
            pass
        assert (await stored_fields(store, await lock_in(store)))["session"] == {"threads": "0:-1#7"}
        async with Lease(store, "slow", time.runtime).hold(second):
            assert second.tokens() == {"threads": "0:-1#7"}


async def test_work_that_fails_releases_the_lock() -> None:
    async with a_store() as (store, time):
        with pytest.raises(ValueError, match="no"):
            async with Lease(store, "slow", time.runtime).hold():
                raise ValueError("no")
        assert not (await lock_in(store)).owner


async def test_of_two_that_try_at_once_one_succeeds() -> None:
    async with a_store() as (store, time):
        await store.create(Lock(id="slow", created_at=START), Session())
        leases = [Lease(store, "slow", time.runtime).hold_if_free() for _ in range(2)]
        held = await asyncio.gather(*(lease.__aenter__() for lease in leases))
        assert sorted(held) == [False, True]
        for lease in leases:
            await lease.__aexit__(None, None, None)
