"""The sweep as a process of its own, killed with -9 at each of its steps."""

import asyncio
import os
import signal
import sys

import pytest

from shared.config import Settings
from tests.support.cloud import LocalCloud
from tests.support.services import ROOT, RunningService
from tests.sweep.place import SweepPlace, sweep_place

pytestmark = pytest.mark.slow


def environment(settings: Settings) -> dict[str, str]:
    values = {name: value for name, value in settings if value is not None}
    secrets = {
        name: value.get_secret_value() for name, value in values.items() if hasattr(value, "get_secret_value")
    }
    return {**os.environ, **{name: str(value) for name, value in values.items()}, **secrets}


async def sweep_and_die(place: SweepPlace, step: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.sweep.killed", step, place.now.isoformat(),
        cwd=ROOT, env=environment(place.clients.settings),
    )  # fmt: skip
    assert await process.wait() == -signal.SIGKILL


async def test_a_sweep_killed_at_any_step_is_made_good_by_the_next(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with sweep_place(cloud, bus_service) as place:
        for step in ("counted", "published", "noted"):
            archive, thread = place.archive(f"a-{step}"), await place.put_ready_thread(f"t-{step}")
            await place.put(archive)
            await sweep_and_die(place, step)
            place.wait(minutes=20)  # its lease has run out, and so has the backoff
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
            assert {each["requeued"] for each in (await place.sweep()).counts.values()} == {0}
