"""Fetches as operations: one at a time for each source, scheduled or by hand, safe to repeat."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict
from shared.ingestion.fetch_runs import Requested, request_due_fetches, request_fetch
from shared.models.sources import Operation, OperationStatus, Source
from tests.ingestion.environment import Place
from tests.ingestion.web_server import a_site
from tests.support.toy_stages import Crash

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def queued(place: Place, expected: int) -> list[str]:
    """Return the operations in ingestion's queue, oldest first."""
    receiver, found = await place.bench.receiver("ingestion"), list[str]()
    while len(found) < expected or await receiver.peek_messages(max_message_count=1):
        for message in await receiver.receive_messages(max_message_count=20, max_wait_time=10):
            found.append(json.loads(b"".join(message.body))["operation_id"])
            await receiver.complete_message(message)
    return found


async def test_a_request_leases_the_source_writes_the_operation_and_queues_it(place: Place) -> None:
    await place.add_source("http", "http://127.0.0.1:1/x")
    operation_id = await place.request()
    source = await place.source()
    assert source.lease_owner == operation_id
    assert source.lease_until is not None
    assert source.lease_until > place.time
    operation = await place.clients.store.read(Operation, operation_id, Session())
    assert (operation.source, operation.status) == (source.name, OperationStatus.PENDING)
    assert operation_id in await queued(place, 1)


async def test_asking_again_while_a_fetch_is_under_way_gives_the_same_operation(place: Place) -> None:
    await place.add_source("http", "http://127.0.0.1:1/x")
    operation_id = await place.request()
    assert await place.request() == operation_id
    assert (await queued(place, 1)).count(operation_id) == 1


async def test_of_two_who_ask_at_once_one_gets_the_lease(place: Place) -> None:
    source = await place.add_source("http", "http://127.0.0.1:1/x")
    answers = await asyncio.gather(
        *(request_fetch(source, place.clients, requested_by="test", now=place.time) for _ in range(4))
    )
    (winner,) = [answer.operation_id for answer in answers if isinstance(answer, Requested)]
    assert answers.count(Conflict.CONFLICT) == 3
    assert (await queued(place, 1)).count(winner) == 1


async def test_an_operation_whose_source_another_one_fetches_is_skipped(place: Place) -> None:
    await place.add_source("http", "http://127.0.0.1:1/x")
    late = await place.request()
    place.later(hours=1)  # its lease expired while it waited in the queue
    current = await place.request()
    skipped = await place.run(late)
    assert (skipped.status, skipped.error) == (
        OperationStatus.SKIPPED,
        f"operation {current} fetches this source",
    )
    assert (await place.source()).lease_owner == current
    await queued(place, 2)


async def test_an_operation_that_is_done_does_nothing_when_it_is_delivered_again(place: Place) -> None:
    async with a_site(content=place.mbox("one")) as site:
        await place.add_source("http", site.url())
        done = await place.run()
        again = await place.run(done.id)
        assert again.finished_at == done.finished_at
        assert len(site.asked) == 1
    await place.announced(1)


async def test_the_operation_of_a_source_that_was_deleted_is_skipped(place: Place) -> None:
    source = await place.add_source("http", "http://127.0.0.1:1/x")
    operation_id = await place.request()
    await place.clients.store.delete(Source, source.id, Session())
    assert (await place.run(operation_id)).error == "the source was deleted"


@pytest.mark.parametrize("step", ["fetched", "checked", "uploaded", "recorded", "announced", "released"])
async def test_a_crash_after_any_step_of_a_fetch_and_its_redelivery_have_one_effect(
    place: Place, step: str
) -> None:
    def crash(reached: str) -> None:
        if reached == step:
            raise Crash

    async with a_site(content=place.mbox("one")) as site:
        await place.add_source("http", site.url())
        operation_id = await place.request()
        with pytest.raises(Crash):
            await place.run(operation_id, progress=crash)
        done = await place.run(operation_id)
        assert done.status is OperationStatus.SUCCEEDED
        assert len(done.archives) == 1
        source = await place.source()
        assert (source.cursor["etag"], source.lease_owner) == ('"1"', None)
    assert [event.data.archive_id for event in await place.announced(1)] == [done.archives[0].archive_id]


async def test_what_a_user_changes_during_a_fetch_is_kept(place: Place) -> None:
    async with a_site(content=place.mbox("one")) as site:
        await place.add_source("http", site.url())
        operation_id = await place.request()
        changes: list[asyncio.Task[object]] = []

        async def edit() -> None:
            source = await place.source()
            await place.clients.store.replace(source.model_copy(update={"enabled": False}), Session())

        def at(step: str) -> None:
            if step == "uploaded":
                changes.append(asyncio.ensure_future(edit()))

        await place.run(operation_id, progress=at)
        await asyncio.gather(*changes)
        source = await place.source()
    assert source.enabled is False
    assert source.lease_owner is None
    assert source.cursor["etag"] == '"1"'
    await place.announced(1)


async def due(place: Place, *others: Place) -> list[str]:
    """Return the operations that the timer requests now, for the sources of these places."""
    names = {f"src-{other.tag}" for other in (place, *others)}
    asked = await request_due_fetches(place.clients, place.time)
    store = place.clients.store
    operations = [await store.read(Operation, request, Session()) for request in asked]
    return [operation.id for operation in operations if operation.source in names]


@pytest.mark.requirement("R-301")
async def test_the_timer_asks_for_a_source_when_its_schedule_says(place: Place) -> None:
    async with a_site(content=place.mbox("one")) as site:
        first = datetime(2026, 3, 11, 11, 0, tzinfo=UTC)
        await place.add_source("http", site.url(), schedule="0 0 * * * *", next_fetch_at=first)
        assert await due(place) == []
        place.time = first - timedelta(seconds=1)
        assert await due(place) == []
        place.time = first + timedelta(seconds=20)
        (operation_id,) = await due(place)
        assert await due(place) == [], "one occurrence, one fetch"
        done = await place.run(operation_id)
        assert (done.status, done.requested_by) == (OperationStatus.SUCCEEDED, "timer")
        assert (await place.source()).next_fetch_at == datetime(2026, 3, 11, 12, 0, tzinfo=UTC)
        assert await due(place) == []
        place.time = datetime(2026, 3, 11, 15, 30, tzinfo=UTC)
        (late,) = await due(place)
        await place.run(late)
        assert (await place.source()).next_fetch_at == datetime(2026, 3, 11, 16, 0, tzinfo=UTC)
        assert await due(place) == [], "what was missed is made up for once"
    await place.announced(1)
    await queued(place, 2)


async def test_a_source_that_is_being_fetched_is_not_asked_for_again_when_its_time_comes(
    place: Place,
) -> None:
    soon = place.time + timedelta(minutes=1)
    await place.add_source("http", "http://127.0.0.1:1/x", schedule="0 * * * * *", next_fetch_at=soon)
    running = await place.request()
    place.later(minutes=2)
    assert await due(place) == []
    assert (await place.source()).lease_owner == running
    place.later(hours=1)
    assert len(await due(place)) == 1, "a lease that nobody gave back runs out"
    await queued(place, 2)


async def test_a_request_that_was_lost_on_its_way_to_the_queue_is_made_again(place: Place) -> None:
    """After a crash that left a lease no worker runs that operation, and the source stays due."""
    past = place.time - timedelta(minutes=1)
    lost = {"lease_owner": "lost", "lease_until": place.time + timedelta(minutes=10)}
    await place.add_source("http", "http://127.0.0.1:1/x", schedule="0 0 4 * * *", next_fetch_at=past, **lost)
    assert await due(place) == []
    place.later(minutes=11)
    assert len(await due(place)) == 1
    await queued(place, 1)


async def test_a_source_that_is_disabled_or_has_no_schedule_is_never_due(place: Place) -> None:
    past = place.time - timedelta(days=1)
    await place.add_source(
        "http", "http://127.0.0.1:1/x", enabled=False, schedule="0 * * * * *", next_fetch_at=past
    )
    other = place.fresh()
    await other.add_source("http", "http://127.0.0.1:1/x")
    assert await due(place, other) == []


async def test_two_timers_at_once_ask_for_each_source_once(place: Place) -> None:
    past = place.time - timedelta(minutes=1)
    places = [place.fresh() for _ in range(3)]
    for other in places:
        await other.add_source("http", "http://127.0.0.1:1/x", schedule="0 * * * * *", next_fetch_at=past)
    first, second = await asyncio.gather(due(*places), due(*places))
    asked = first + second
    assert len(asked) == 3
    waiting = await queued(place, 3)
    assert [waiting.count(request) for request in asked] == [1, 1, 1]


async def test_an_upload_source_has_nothing_to_fetch(place: Place) -> None:
    await place.add_source("upload", "")
    assert "it takes uploads" in ((await place.run()).error or "")
    await place.failures(1)
