"""The sweep in a process of its own, killed with -9 at each of its steps."""

import asyncio
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.operations.sweep.environment import SweepPlace, sweep_place
from tests.support.cloud import AppCloud
from tests.support.kills import Killer, killer, settings_values
from tests.support.services import RunningService

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kills() -> Iterator[Killer]:
    with killer("tests.operations.sweep.killed") as running:
        yield running


async def sweep_and_die(place: SweepPlace, kills: Killer, step: str) -> None:
    asked: dict[str, Any] = {
        "settings": settings_values(place.clients.settings),
        "now": place.now.isoformat(),
    }
    assert await asyncio.to_thread(kills.run, step, **asked) == -signal.SIGKILL


@pytest.mark.requirement("R-727")
async def test_a_sweep_killed_at_any_step_is_made_good_by_the_next(
    cloud: AppCloud, bus_service: RunningService, kills: Killer
) -> None:
    async with sweep_place(cloud, bus_service) as place:
        for step in ("counted", "published", "noted"):
            archive, thread = place.archive(f"a-{step}"), await place.put_ready_thread(f"t-{step}")
            await place.put(archive)
            await sweep_and_die(place, kills, step)
            place.wait(minutes=20)  # its lease and the backoff have expired
            await place.sweep()
            for document in (archive, thread):
                swept = await place.again(document)
                assert swept.attemptCount in (1, 2)
                assert swept.requeued_at is not None
            parsed = {event.data.archive_id for event in await place.published("parsing")}
            assert parsed == {archive.id}
            asked = {event.data.thread_ids[0] for event in await place.published("summarization")}
            assert asked == {thread.id}
            place.wait(minutes=20)
            assert {count["requeued"] for count in (await place.sweep()).counts.values()} == {0}


@pytest.mark.requirement("R-727")
async def test_a_sweep_killed_when_it_has_given_up_a_chunk_leaves_the_thread_to_the_next(
    cloud: AppCloud, bus_service: RunningService, kills: Killer
) -> None:
    """Only the killed sweep knew that the thread might be ready. The next sweep has to find it."""
    async with sweep_place(cloud, bus_service) as place:
        thread = await place.put_ready_thread(created_at=place.now)
        error = "ServiceUnavailableError: down"
        last = {"attemptCount": 5, "lastAttemptTime": place.ago(hours=2), "lastError": error}
        chunk = place.chunk("m-t1", "t1", index=1, **last)
        await place.put(chunk)
        await sweep_and_die(place, kills, "given_up")
        killed = await place.again(chunk)
        assert (killed.status, killed.attemptCount, killed.lastError) == ("failed_max_retries", 5, error)
        assert await place.quiet()
        place.wait(minutes=20)
        done = await place.sweep()
        assert (done.counts["chunks"]["given_up"], done.counts["threads"]["requeued"]) == (0, 1)
        assert (await place.again(chunk)).to_cosmos() == killed.to_cosmos()
        (event,) = await place.published("summarization")
        assert event.data.thread_ids == [thread.id]
        place.wait(minutes=20)
        again = await place.sweep()
        assert {count["requeued"] + count["given_up"] for count in again.counts.values()} == {0}
        assert await place.quiet()
