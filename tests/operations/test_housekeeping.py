"""One timer runs all periodic work that is due."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from benchmarks.capacity import HOUSEKEEPING_UNITS, SWEEP_UNITS
from shared.azure.calls import Calls
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.administration import queue_counts
from shared.models.queries.named_query import NamedQuery
from shared.models.records import Run
from shared.operations.housekeeping import CHORES, HousekeepingError, run_housekeeping
from shared.operations.integrity.run import KIND, TIMER
from shared.operations.sweep import sweep
from shared.pipeline.topology import QUEUES
from tests.stages.mail_in import MailIn, mail_in
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
NIGHT = datetime(2026, 3, 4, 3, 17, tzinfo=UTC)
EVENING = NIGHT - timedelta(hours=9)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[MailIn]:
    settings = {"SERVICEBUS_ADMIN_ENDPOINT": bus_service.addresses["admin"]}
    async with mail_in(cloud, bus_service, **settings) as ready:
        yield ready


async def checks(clients: Clients) -> list[datetime]:
    rows = clients.store.query(NamedQuery("runs", "runs", "SELECT * FROM c"), Session())
    runs = [Run.model_validate(row) async for row in rows if row["kind"] == KIND]
    return sorted(run.started_at for run in runs)


async def check_at(place: MailIn, *times: datetime) -> list[datetime]:
    """Return the checks that a housekeeping at these times made."""
    before = await checks(place.clients)
    for now in times:
        clients = with_clock(place.clients, lambda now=now: now)  # type: ignore[misc]
        await CHORES["integrity"](clients, now)
    return [time for time in await checks(place.clients) if time not in before]


async def test_a_chore_that_fails_does_not_keep_the_others_from_their_turn(place: MailIn) -> None:
    done = []

    async def works(_clients: Clients, _now: datetime) -> None:
        done.append("works")

    async def fails(_clients: Clients, _now: datetime) -> None:
        raise ZeroDivisionError

    with pytest.raises(HousekeepingError, match=r"^first: ZeroDivisionError; third: ZeroDivisionError$"):
        await run_housekeeping(
            place.clients, {"first": fails, "second": works, "third": fails, "last": works}
        )
    assert done == ["works", "works"]


async def test_an_idle_app_sends_no_message_and_leaves_the_queues_empty(place: MailIn) -> None:
    """In an idle month nothing runs but the timers."""
    await run_housekeeping(with_clock(place.clients, lambda: EVENING))  # at night, a first check would be due

    counts = await queue_counts(place.clients.settings, QUEUES, place.clients.calls("servicebus"))
    assert counts is not None
    assert len(counts) == len(QUEUES)
    assert {queue: found.active for queue, found in counts.items() if found.active} == {}
    assert [
        message for queue in QUEUES for message in await place.clients.bus.peek(queue)
    ] == []  # nothing is scheduled either


async def test_the_checks_run_once_a_night_and_a_missed_night_is_made_up_for(place: MailIn) -> None:
    """A new database waits for its first night."""
    five = timedelta(minutes=5)
    assert await check_at(place, EVENING, NIGHT - five) == []
    assert await check_at(place, NIGHT + five, NIGHT + 2 * five, NIGHT + timedelta(hours=9)) == [NIGHT + five]
    after_an_outage = NIGHT + timedelta(days=2, hours=5)
    assert await check_at(place, after_an_outage, after_an_outage + five) == [after_an_outage]
    assert await check_at(place, NIGHT + timedelta(days=3, minutes=1)) == [
        NIGHT + timedelta(days=3, minutes=1)
    ]


async def test_a_check_that_broke_off_is_not_tried_again_and_again(place: MailIn) -> None:
    """The cause of the crash would kill every later run, so the check waits for the next night."""
    started = NIGHT + timedelta(days=10, minutes=1)
    broken = Run(id="broken", kind=KIND, requested_by=TIMER, started_at=started, created_at=started)
    await place.clients.store.upsert(broken, Session())

    assert await check_at(place, started + timedelta(minutes=5)) == []
    assert len(await check_at(place, started + timedelta(days=1))) == 1


async def test_an_idle_run_costs_as_many_request_units_as_the_estimate_counts(
    place: MailIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[float] = []
    counted = Calls.request_units

    def count(calls: Calls, units: float, container: str) -> None:
        spent.append(units)
        counted(calls, units, container)

    later = with_clock(place.clients, lambda: NIGHT + timedelta(days=20))
    await run_housekeeping(later)  # a check that other tests left due, and the client's one-time requests
    monkeypatch.setattr(Calls, "request_units", count)
    await run_housekeeping(later)
    housekeeping = sum(spent)
    spent.clear()
    await sweep(later)

    assert housekeeping == pytest.approx(HOUSEKEEPING_UNITS, rel=0.1)
    assert sum(spent) == pytest.approx(SWEEP_UNITS, rel=0.1)
