"""A deletion in a process of its own, killed with -9 and continued by another process, ends the same."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.cosmos.session import Session
from shared.models.sources import OperationStatus, Removal
from shared.operations.removal.requests import request_removal
from tests.operations.removal.finished import (
    APART,
    BRIDGE,
    FIRST,
    NOW,
    RECEIPT,
    SECOND,
    STEPS,
    drain,
    everything,
    finish,
    put_failure,
    take_all_in,
)
from tests.stages.mail_in import MailIn, mail_in
from tests.support.cloud import AppCloud
from tests.support.kills import Killer, killer, settings_values
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
KILLED = -signal.SIGKILL
TELLING = ("thread_dropped", "failures")  # a thread that is gone, and a receipt that is not written yet


@pytest.fixture(scope="module")
def kills() -> Iterator[Killer]:
    with killer("tests.operations.removal.killed") as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def expected(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[dict[str, Any]]:
    """Return everything as if the deleted archive had never arrived."""
    async with mail_in(cloud, bus_service) as fresh:
        await take_all_in(fresh, SECOND)
        yield await everything(fresh)


class Deletion:
    """Run a deletion again and again, each time in a new process after the locks of the last one expired."""

    def __init__(self, place: MailIn, kills: Killer, removal: str) -> None:
        self._place, self._kills, self._id = place, kills, removal
        self._now = NOW

    @classmethod
    async def of(cls, place: MailIn, kills: Killer, archive: str) -> "Deletion":
        asked = await request_removal(place.clients, "archive", archive, requested_by="test", now=NOW)
        assert asked is not None
        return cls(place, kills, asked.id)

    async def run(self, step: str | None = None, nth: int = 1) -> int:
        self._now += timedelta(minutes=10)
        asked = {"settings": settings_values(self._place.clients.settings), "now": self._now.isoformat()}
        return await asyncio.to_thread(self._kills.run, step, nth, removal=self._id, **asked)

    async def receipt(self) -> dict[str, Any]:
        removal = await self._place.clients.store.read(Removal, self._id, Session())
        return removal.model_dump(include={"status", "counts", "left", "archives", "rounds", "error"})


@pytest.mark.parametrize(
    "step", [step if step in TELLING else pytest.param(step, marks=pytest.mark.slow) for step in STEPS]
)
@pytest.mark.requirement("R-1005")
async def test_a_deletion_killed_at_any_step_comes_to_the_same_end_and_the_same_receipt(
    cloud: AppCloud, bus_service: RunningService, kills: Killer, expected: dict[str, Any], step: str
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        await take_all_in(place, SECOND)
        await put_failure(place, archive)
        deletion = await Deletion.of(place, kills, archive)
        assert await deletion.run(step) == KILLED
        assert (await deletion.receipt())["status"] is OperationStatus.RUNNING
        assert await deletion.run() == 0
        receipt = await deletion.receipt()
        assert (receipt["status"], receipt["counts"]) == (OperationStatus.SUCCEEDED, RECEIPT)
        assert (receipt["archives"], set(receipt["left"].values())) == ([archive], {0})
        await finish(place)
        assert await everything(place) == expected
        await drain(place)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # about 150 processes in sequence: a busy machine takes six minutes
@pytest.mark.requirement("R-1005")
async def test_a_deletion_killed_at_its_first_request_and_then_at_its_second_and_so_on_comes_to_the_same_end(
    cloud: AppCloud, bus_service: RunningService, kills: Killer
) -> None:
    """The deletion splits a thread that had merged with another one."""

    async def ended(*, killing: bool) -> tuple[int, dict[str, Any], dict[str, Any]]:
        async with mail_in(cloud, bus_service) as place:
            await take_all_in(place, APART, "apart")
            bridge = await take_all_in(place, BRIDGE, "bridge")
            await put_failure(place, bridge)
            deletion = await Deletion.of(place, kills, bridge)
            for nth in count(1):
                code = await deletion.run("request" if killing else None, nth)
                if code != KILLED:
                    break
            assert code == 0
            receipt = await deletion.receipt()
            await finish(place)
            found = await everything(place)
            await drain(place)
            return nth, receipt, found

    _, receipt, found = await ended(killing=False)
    assert receipt["status"] is OperationStatus.SUCCEEDED
    runs, receipt_of_many, found_by_many = await ended(killing=True)
    assert runs > len(STEPS)
    assert receipt_of_many == receipt
    assert found_by_many == found
