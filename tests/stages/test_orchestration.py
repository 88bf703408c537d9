"""A thread's summary is requested once for each version, after a quiet period, despite races and crashes."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from localcloud.testing import Faults
from shared.azure.cosmos.session import Patch, Session
from shared.core.ids import thread_id
from shared.core.runtime import Runtime
from shared.models.threads import Chunk, Message, Thread
from shared.pipeline.delivery import Delivery
from shared.pipeline.event_builders import json_parsed
from shared.pipeline.event_types import EmbeddingsGenerated, SummarizationRequested, SummaryRecheck
from shared.pipeline.events import Event
from shared.pipeline.runner import StageFailedError, StageRunner
from shared.pipeline.stage import StageContext, StageResult
from stages.chunking import CHUNKING
from stages.orchestration import MAX_QUIET_PERIODS, ORCHESTRATION
from stages.parsing import PARSING
from tests.stages.mail_in import NOW, MailIn, mail, mail_in
from tests.stages.test_parsing import at
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOT = thread_id("<m0@example.org>", "list")
QUIET = 30.0
HALF_AN_HOUR = 30 * 60  # the duration of a claim


@pytest_asyncio.fixture(loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[MailIn]:
    async with mail_in(cloud, bus_service, ORCHESTRATION_QUIET_SECONDS=str(QUIET)) as ready:
        yield ready


@pytest_asyncio.fixture(loop_scope="module")
async def hasty(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[MailIn]:
    """A place without a quiet period."""
    async with mail_in(cloud, bus_service) as ready:
        yield ready


async def embedded(
    place: MailIn, content: bytes, arrived: datetime = NOW
) -> list[Event[EmbeddingsGenerated]]:
    """Settle the archive's chunks as embedding does, and return its events."""
    return [await settle(place, prepared) for prepared in await place.take_in(content, arrived=arrived)]


async def settle(place: MailIn, prepared: Event[Any]) -> Event[EmbeddingsGenerated]:
    data, session = prepared.data, Session(prepared.session)
    done = {"embedding_generated": True, "embedding_model": "toy", "status": "processed"}
    places = list(zip(data.chunk_ids, data.chunk_threads, strict=True))
    patches = [Patch(id_, set=done) for id_, thread in places]
    await place.clients.store.patch_all(Chunk, patches, session)
    generated = EmbeddingsGenerated(
        chunk_ids=data.chunk_ids,
        embedding_count=len(data.chunk_ids),
        embedding_model="toy",
        embedding_backend="toy",
        embedding_dimension=4,
        vector_store_collection="x",
        vector_store_updated=True,
        avg_generation_time_ms=1.0,
        chunk_threads=data.chunk_threads,
        thread_ids=data.thread_ids,
    )
    return event_of(generated, session=session.tokens())


async def handle(place: MailIn, event: Event[Any], *, after: float = 0.0, note: bool = True) -> StageResult:
    now = NOW + timedelta(seconds=after)
    work = StageContext(place.clients, Session(event.session), event.attempt, Runtime(now=lambda: now))
    outcome = await ORCHESTRATION.handler_of(event)(event, work)
    if note and outcome.after_announcing is not None:
        await outcome.after_announcing()
    return outcome


def asked(outcomes: Sequence[StageResult]) -> list[tuple[str, str]]:
    """Return the requested versions, by thread."""
    requests = [event for outcome in outcomes for event in outcome.announce]
    assert all(isinstance(request, SummarizationRequested) for request in requests)
    return [(request.thread_ids[0], request.content_hashes[0]) for request in requests]  # type: ignore[attr-defined]


def rechecks(outcome: StageResult) -> list[Event[Any]]:
    assert all(scheduled.seconds == QUIET for scheduled in outcome.scheduled)
    assert all(isinstance(scheduled.data, SummaryRecheck) for scheduled in outcome.scheduled)
    return [event_of(scheduled.data) for scheduled in outcome.scheduled]


@pytest.mark.requirement("R-501")
async def test_a_ready_thread_is_asked_for_when_it_has_stayed_the_same_for_the_quiet_period(
    place: MailIn,
) -> None:
    (event,) = await embedded(place, mail(0) + mail(1, parent=0))
    first = await handle(place, event)
    assert asked([first]) == []
    (again,) = rechecks(first)
    second = await handle(place, again, after=QUIET)
    ((thread, version),) = asked([second])
    stored = await place.clients.store.read(Thread, ROOT, Session())
    assert (thread, stored.content_hash, stored.requesting) == (ROOT, version, None)
    assert asked([await handle(place, again, after=2 * QUIET), await handle(place, event)]) == []


async def test_a_version_that_changed_in_the_quiet_period_is_left_to_the_newer_claim(place: MailIn) -> None:
    (older,) = await embedded(place, mail(0))
    (first,) = rechecks(await handle(place, older))
    (newer,) = await embedded(place, mail(1, parent=0))
    (second,) = rechecks(await handle(place, newer, after=1))
    assert asked([await handle(place, first, after=QUIET)]) == []
    ((_, version),) = asked([await handle(place, second, after=QUIET + 1)])
    assert version == second.data.versions[0] != first.data.versions[0]


async def test_an_archive_in_flight_causes_one_summary_and_not_one_a_batch(place: MailIn) -> None:
    outcomes, pending = [], list[Event[Any]]()
    for number in range(4):
        (event,) = await embedded(place, mail(number, parent=number - 1 if number else None))
        outcomes.append(await handle(place, event, after=number))
        pending += rechecks(outcomes[-1])
    assert len(pending) == 4
    outcomes += [await handle(place, event, after=QUIET + 4) for event in pending]
    assert len(asked(outcomes)) == 1


async def test_a_thread_that_never_comes_to_rest_is_asked_for_all_the_same(place: MailIn) -> None:
    outcomes = []
    for number in range(3):
        (event,) = await embedded(place, mail(number, parent=number - 1 if number else None))
        outcomes.append(await handle(place, event, after=number * QUIET * MAX_QUIET_PERIODS * 0.6))
    assert [len(asked([outcome])) for outcome in outcomes] == [0, 0, 1]


async def test_of_many_events_that_race_exactly_one_asks(hasty: MailIn) -> None:
    (event,) = await embedded(hasty, mail(0) + mail(1, parent=0))
    racing = [event_of(event.data, session=event.session, attempt=number) for number in range(1, 9)]
    outcomes = await asyncio.gather(*(handle(hasty, event, note=False) for event in racing))
    assert len(asked(outcomes)) == 1
    late = event_of(event.data, session=event.session, attempt=9)
    assert asked([await handle(hasty, late, after=600)]) == []


async def test_an_event_that_breaks_off_before_the_note_asks_again_with_the_same_message(
    hasty: MailIn,
) -> None:
    (event,) = await embedded(hasty, mail(0))
    lost = await handle(hasty, event, note=False)
    again = await handle(hasty, event, after=600)
    assert [event_of(found_event).message_id for found_event in lost.announce] == [
        event_of(event).message_id for event in again.announce
    ]
    assert len(asked([again])) == 1
    assert asked([await handle(hasty, event, after=601)]) == []


async def test_a_claim_whose_event_never_came_back_is_taken_over(hasty: MailIn) -> None:
    (event,) = await embedded(hasty, mail(0))
    await handle(hasty, event, note=False)
    other = event_of(event.data, session=event.session, attempt=2)
    assert asked([await handle(hasty, other, after=HALF_AN_HOUR - 1)]) == []
    assert len(asked([await handle(hasty, other, after=HALF_AN_HOUR + 1)])) == 1


@pytest.mark.requirement("R-501")
async def test_a_thread_whose_messages_have_no_text_of_their_own_gets_ready(hasty: MailIn) -> None:
    (event,) = await embedded(hasty, mail(0, body="> only\n> quotes"))
    bare = event.data.model_copy(update={"chunk_ids": [], "chunk_threads": [], "thread_ids": [ROOT]})
    assert [thread for thread, _ in asked([await handle(hasty, event_of(bare))])] == [ROOT]


async def test_threads_in_any_order_and_many_at_once_are_each_asked_for_once(hasty: MailIn) -> None:
    content = b"".join(mail(number, subject=f"Topic {number}") for number in range(12))
    (event,) = await embedded(hasty, content)
    message = (await hasty.stored("messages"))[0]
    await hasty.clients.store.patch(Message, Patch(message["id"], set={"status": "pending"}), Session())
    first = await handle(hasty, event)
    assert len(asked([first])) == 11
    await hasty.clients.store.patch(Message, Patch(message["id"], set={"status": "processed"}), Session())
    second = await handle(hasty, event, after=1)
    assert [thread for thread, _ in asked([second])] == [message["thread_id"]]


@pytest.mark.parametrize("operation", ["docs.query", "docs.patch", "docs.read"])
async def test_a_store_that_fails_at_any_step_leads_to_one_request_in_the_end(
    hasty: MailIn, cloud: AppCloud, operation: str
) -> None:
    (event,) = await embedded(hasty, mail(0) + mail(1, parent=0))
    outcomes = []
    for skip in range(4):
        fault = {"operation": operation, "kind": "status", "skip": skip, "times": None}
        Faults(cloud.cosmos).plan({**fault, "args": {"status": 400}})
        try:
            outcomes.append(await handle(hasty, event))
        except Exception:  # noqa: BLE001 - any error of the SDK
            assert Faults(cloud.cosmos).hits
        finally:
            Faults(cloud.cosmos).plan()
    outcomes.append(await handle(hasty, event, after=1))
    assert len({version for _, version in asked(outcomes)}) == 1
    stored = await hasty.clients.store.read(Thread, ROOT, Session())
    assert stored.content_hash == asked(outcomes)[0][1]


async def test_a_thread_that_was_done_or_given_up_is_open_again_with_another_version(hasty: MailIn) -> None:
    """Otherwise a thread whose summary failed would get no further summary."""
    for number, status in enumerate(("processed", "failed_max_retries")):
        (event,) = await embedded(hasty, mail(number, parent=number - 1 if number else None))
        ended = {"status": status, "attemptCount": 5, "lastError": "X: no"}
        await hasty.clients.store.patch(Thread, Patch(ROOT, set=ended), Session())
        await handle(hasty, event, note=False)
        stored = await hasty.clients.store.read(Thread, ROOT, Session())
        assert (stored.status, stored.attemptCount, stored.lastError) == ("pending", 0, None)
        await hasty.clients.store.patch(Thread, Patch(ROOT, set=ended), Session())
        await handle(hasty, event)  # the event is delivered again, and the summary was faster
        stored = await hasty.clients.store.read(Thread, ROOT, Session())
        assert (stored.status, stored.attemptCount) == (status, 5)


async def test_a_message_that_gets_other_content_gives_its_thread_another_version(hasty: MailIn) -> None:
    variants = [mail(0, body=f"Number {number} of them.") for number in range(2)]
    first, last = variants
    (event,) = await embedded(hasty, last, arrived=at(1))
    before = asked([await handle(hasty, event)])
    (replaced,) = await embedded(hasty, first)
    assert set(replaced.data.chunk_ids).isdisjoint(event.data.chunk_ids)
    after = asked([await handle(hasty, replaced, after=1)])
    assert [thread for thread, _ in after] == [ROOT]
    assert after != before


async def test_events_of_the_same_chunks_with_other_labels_are_told_apart(hasty: MailIn) -> None:
    """The topic drops an event that it has seen in the last minutes."""
    (before,) = await hasty.take_in(mail(0))
    (parsed,) = await hasty.run(PARSING, await hasty.ingest(mail(0) + mail(1, parent=0)))
    keys = [(key, ROOT) for key in before.data.message_keys]
    (after,) = await hasty.run(CHUNKING, event_of(json_parsed(parsed.data.archive_id, keys)))
    assert before.data.chunk_ids == after.data.chunk_ids
    assert before.data.chunk_labels < after.data.chunk_labels
    assert before.message_id != after.message_id


async def test_the_recheck_comes_by_the_broker_when_the_quiet_period_is_over(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service, ORCHESTRATION_QUIET_SECONDS="1") as place:
        (event,) = await embedded(place, mail(0) + mail(1, parent=0))
        runner = StageRunner(ORCHESTRATION, place.clients)
        started = time.monotonic()
        await runner.run(Delivery(event.to_json(), "first"))
        (recheck,) = await place.place.take_all("orchestration", 1)
        assert time.monotonic() - started >= 1
        assert recheck.event_type == "SummaryRecheck"
        assert (recheck.data.thread_ids, recheck.data.claimed_by) == ([ROOT], event.event_id)
        await runner.run(Delivery(recheck.to_json(), "recheck"))
        (request,) = await place.place.take_all("summarization", 1)
        assert request.data.content_hashes == recheck.data.versions


async def test_when_the_attempts_are_used_up_the_failure_is_told(hasty: MailIn, cloud: AppCloud) -> None:
    (event,) = await embedded(hasty, mail(0))
    # A conflict, which no outage explains.
    Faults(cloud.cosmos).plan(
        {"operation": "docs.query", "kind": "status", "times": None, "args": {"status": 449}}
    )
    runner = StageRunner(ORCHESTRATION, hasty.clients, Runtime(sleep=hasty.place.sleep))
    try:
        with pytest.raises(StageFailedError):
            await hasty.place.run_through(runner, Delivery(event.to_json(), "first"), ORCHESTRATION.name)
    finally:
        Faults(cloud.cosmos).plan()
    (failed,) = await hasty.place.take_all("failures", 1)
    assert (failed.event_type, failed.data.thread_ids) == ("OrchestrationFailed", [ROOT])
    thread = await hasty.clients.store.read(Thread, ROOT, Session())
    assert "CosmosHttpResponseError" in (thread.lastError or "")
    assert {chunk["lastError"] for chunk in await hasty.stored("chunks")} == {None}
