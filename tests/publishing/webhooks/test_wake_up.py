"""The times of delivery attempts: scheduled messages, and none if nothing is due."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.azure.connections import Clients
from shared.core.errors import TransientError
from shared.operations.housekeeping import CHORES
from shared.publishing.webhooks import SLOT_SECONDS, deliver_and_wake, wake_for_next_delivery
from tests.publishing.webhooks.receivers import Receiver, hook, published, receiving, reporting
from tests.stages.mail_in import MailIn
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.services import RunningService


def own_day() -> datetime:
    """Return a day years ahead for this test alone, so that the broker's messages of other tests do not count."""
    start = datetime(2050, 1, 1, 12, tzinfo=UTC)
    return start + timedelta(days=random.randrange(300_000))


async def scheduled(clients: Clients, day: datetime) -> list[datetime]:
    """Return the times of the broker's scheduled messages, on this test's day."""
    start, times = 1, list[datetime]()
    while messages := await clients.bus.peek("deliveries", start=start):
        start = (messages[-1].sequence_number or 0) + 1
        times += [at for message in messages if (at := message.scheduled_enqueue_time_utc)]
    return sorted(at for at in times if at.date() == day.date())


def at(place: MailIn, now: datetime) -> Clients:
    """Set the time of the place, for the stages and the returned clients."""
    place.now = now
    place.clients = with_clock(place.clients, lambda: place.now)
    return place.clients


async def test_a_report_schedules_its_delivery_and_a_burst_of_reports_schedules_one(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving() as receiver, reporting(cloud, bus_service, hook("one", receiver.port)) as place:
        day = own_day()
        clients = at(place, day)
        await published(place)
        place.now += timedelta(seconds=3)
        await published(place, "v2")
        assert await scheduled(clients, day) == [day + timedelta(seconds=SLOT_SECONDS)]

        place.now = day + timedelta(seconds=SLOT_SECONDS)
        assert await deliver_and_wake(clients) == 1
        assert len(receiver.got) == 1
        # Nothing else is pending, so there is no other message.
        assert len(await scheduled(clients, day)) == 1


async def test_without_a_webhook_nothing_is_scheduled(cloud: AppCloud, bus_service: RunningService) -> None:
    async with reporting(cloud, bus_service) as place:
        day = own_day()
        clients = at(place, day)
        await published(place)
        assert await scheduled(clients, day) == []


async def test_a_receiver_that_is_down_is_asked_again_by_a_message_at_its_time(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with receiving((503, {"Retry-After": "900"})) as down:  # noqa: SIM117
        async with reporting(cloud, bus_service, hook("down", down.port)) as place:
            day = own_day()
            clients = at(place, day)
            await published(place)
            first = day + timedelta(seconds=SLOT_SECONDS)
            place.now = first
            assert await deliver_and_wake(clients) == 0
            retry = first + timedelta(seconds=900 + SLOT_SECONDS)
            assert await scheduled(clients, day) == [first, retry]
            place.now = retry
            assert await deliver_and_wake(clients) == 1


@pytest.fixture
async def overdue(
    cloud: AppCloud, bus_service: RunningService
) -> AsyncIterator[tuple[MailIn, Receiver, datetime]]:
    """Return a report whose message was lost."""
    async with receiving() as receiver, reporting(cloud, bus_service, hook("one", receiver.port)) as place:
        day = own_day()
        at(place, day - timedelta(days=1))
        await published(place)
        at(place, day)
        yield place, receiver, day


async def test_a_lost_message_is_made_up_for_by_the_housekeeping(
    overdue: tuple[MailIn, Receiver, datetime],
) -> None:
    place, receiver, day = overdue
    await CHORES["deliveries overdue"](place.clients, day)
    (found,) = await scheduled(place.clients, day)
    place.now = found
    assert (await deliver_and_wake(place.clients), len(receiver.got)) == (1, 1)


async def test_what_is_not_due_yet_is_left_to_its_own_message(
    overdue: tuple[MailIn, Receiver, datetime],
) -> None:
    place, _, day = overdue
    assert not await wake_for_next_delivery(place.clients, no_later_than=day - timedelta(days=2))
    assert await scheduled(place.clients, day) == []


class Away:
    """A database that does not answer."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def query(self, *_: Any, **__: Any) -> "Away":
        return self

    def __aiter__(self) -> "Away":
        return self

    async def __anext__(self) -> Any:
        raise self.error


async def test_an_outage_is_waited_for_in_the_broker(overdue: tuple[MailIn, Receiver, datetime]) -> None:
    """An immediate redelivery would use up all deliveries within seconds."""
    place, receiver, day = overdue
    away: Any = Away(TransientError("away"))
    assert await deliver_and_wake(replace(place.clients, store=away)) == 0
    (found,) = await scheduled(place.clients, day)
    assert timedelta(minutes=1) < found - day <= timedelta(minutes=1, seconds=SLOT_SECONDS)
    place.now = found
    assert (await deliver_and_wake(place.clients), len(receiver.got)) == (1, 1)


async def test_a_bug_is_no_outage(overdue: tuple[MailIn, Receiver, datetime]) -> None:
    place, _, day = overdue
    broken: Any = Away(KeyError("next_delivery_at"))
    with pytest.raises(KeyError):
        await deliver_and_wake(replace(place.clients, store=broken))
    assert await scheduled(place.clients, day) == []
