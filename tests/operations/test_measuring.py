"""The measurements of the housekeeping for the alerts: ages of messages, late reports, and their bounds."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
import pytest_asyncio

from shared.azure.cosmos.session import Session
from shared.operations.oversight.health import AgeBounds, measure_ages
from shared.pipeline.topology import QUEUES
from tests.stages.mail_in import MailIn, archive_of, mail_in
from tests.support.cloud import AppCloud
from tests.support.measured import Measured
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[MailIn]:
    async with mail_in(cloud, bus_service) as ready:
        yield ready


@pytest.mark.requirement("R-911")
async def test_the_oldest_message_of_each_queue_is_measured_and_one_for_later_does_not_wait(
    place: MailIn,
) -> None:
    bus, now = place.clients.bus, place.clients.runtime.now()
    await bus.send_request("operations", {"waits": 1}, place.place.name("waits"))
    await bus.send_request("removal", {"later": 1}, place.place.name("later"), at=now + timedelta(hours=1))
    measured = Measured()
    await measure_ages(place.clients, now + timedelta(minutes=40), measured.metrics)

    ages = measured.take("queue_oldest_message_seconds")
    assert ages.keys() == {(queue,) for queue in QUEUES}
    assert 2300 < ages["operations",] <= 2400
    assert {queue: age for (queue,), age in ages.items() if queue != "operations" and age} == {}

    receiver = await place.place.receiver("operations")
    for message in await receiver.receive_messages(max_message_count=20, max_wait_time=10):
        await receiver.complete_message(message)
    for message in await bus.peek("removal"):
        await place.place.cancel_scheduled("removal", message)


async def test_what_is_not_done_in_time_is_counted_by_collection(place: MailIn) -> None:
    archive = archive_of(place.place.tag.encode())
    await place.clients.store.create(archive, Session())
    for minutes, late in ((59, 0), (61, 1)):
        measured = Measured()
        await measure_ages(place.clients, archive.created_at + timedelta(minutes=minutes), measured.metrics)
        assert measured.take("late_documents") == {("archives",): late, ("messages",): 0, ("chunks",): 0}


async def test_the_bounds_are_those_of_the_queue(place: MailIn) -> None:
    measured = Measured()
    await measure_ages(place.clients, place.clients.runtime.now(), measured.metrics)

    assert measured.take("alert_bound") == {
        ("report_error_budget",): pytest.approx(0.01),
        ("sweep_interval_seconds",): 900,
    }
    bounds = measured.take("queue_age_bound_seconds")
    assert (bounds["parsing",], bounds["ingestion",], bounds["removal",]) == (1800, 3600, 3600)
    assert AgeBounds.from_settings(place.clients.settings).of_queue("ingestion") == timedelta(hours=1)
