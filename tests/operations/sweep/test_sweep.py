"""The sweep on the local cloud: the tests of the specification, and further properties."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from localcloud.testing import Faults
from shared.azure.classify import classify
from shared.azure.cosmos.session import Session
from shared.core.errors import TransientError
from shared.core.ids import chunk_id, chunk_set, message_key
from shared.core.times import stored_time
from shared.models.base import ProcessingStatus
from shared.models.records import Run, RunStatus
from shared.models.sources import Archive
from shared.models.threads import Message, Thread
from shared.operations.sweep import latest_run
from shared.pipeline.event_types import ArchiveIngested, ChunksPrepared, JSONParsed, SummarizationRequested
from shared.pipeline.events import parse_event
from shared.pipeline.readiness import ready_thread
from shared.pipeline.stage import DocumentRef
from shared.pipeline.state.archives import mark_processed
from shared.pipeline.state.attempts import record_failed_attempt
from shared.thread_store.chunk_sets import delete_stale, missing_chunks
from tests.operations.sweep.environment import SET, SweepPlace, count_items, sweep_place
from tests.support.cloud import AppCloud, servicebus
from tests.support.services import RunningService
from tests.support.toy_stages import Crash

pytestmark = pytest.mark.asyncio(loop_scope="module")
FAILED: dict[str, Any] = {"lastError": "ServiceUnavailableError: it was down"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[SweepPlace]:
    async with sweep_place(cloud, bus_service) as ready:
        yield ready


@pytest_asyncio.fixture(loop_scope="module")
async def place(shared_place: SweepPlace) -> AsyncIterator[SweepPlace]:
    """An emptied database for each test, because the sweep sees everything in it."""
    ready = SweepPlace(shared_place.place.fresh())
    yield ready
    for container in ("archives", "messages", "chunks", "threads", "failures", "runs", "locks"):
        await _empty(ready, container)
    assert await ready.quiet(), "the test left events in the queues"


async def _empty(place: SweepPlace, container: str) -> None:
    proxy = place.store._container(container)
    path = (await proxy.read())["partitionKey"]["paths"][0][1:]
    async for row in proxy.query_items(f"SELECT c.id, c.{path} AS place FROM c"):
        await proxy.delete_item(row["id"], row["place"])


@pytest.mark.requirement("R-725", "R-904")
async def test_a_pending_document_is_counted_requeued_and_measured(place: SweepPlace) -> None:
    """Spec 001, the integration test."""
    archive = place.archive(attemptCount=0)
    await place.put(archive)
    done = await place.sweep()
    swept = await place.again(archive)
    assert (swept.attemptCount, swept.lastAttemptTime, swept.status) == (1, place.now, "pending")
    (event,) = await place.published("parsing")
    assert isinstance(event.data, ArchiveIngested)
    assert (event.data.archive_id, event.attempt) == (archive.id, 1)
    assert parse_event(event.to_json()) == event
    assert place.counted("retry_job_documents_requeued_total", collection="archives") == 1
    assert place.counted("retry_job_runs_total", status="success") == 1
    assert place.counted("retry_job_duration_seconds") == 1
    assert done.counts["archives"] == {
        "waiting": 0, "stuck": 0, "failed": 0, "read": 1, "queued": 0, "requeued": 1, "given_up": 0, "held_back": 0
    }  # fmt: skip


@pytest.mark.requirement("R-724")
async def test_a_failed_document_waits_for_its_backoff(place: SweepPlace) -> None:
    """Spec 001, the backoff test."""
    archive = place.archive(attemptCount=2, lastAttemptTime=place.ago(minutes=5), **FAILED)
    await place.put(archive)
    done = await place.sweep()
    assert (await place.again(archive)).attemptCount == 2
    assert (done.counts["archives"]["waiting"], done.counts["archives"]["read"]) == (1, 0)
    assert place.counted("retry_job_documents_skipped_backoff_total", collection="archives") == 1
    place.wait(minutes=10)
    await place.sweep()
    assert (await place.again(archive)).attemptCount == 3
    (event,) = await place.published("parsing")
    assert event.attempt == 3


async def test_documents_whose_event_may_still_wait_in_a_long_queue_are_left_alone(place: SweepPlace) -> None:
    """Uses the real clock, because the broker stamps messages with its own time."""
    place.now = datetime.now(UTC)
    first = place.archive("first", created_at=place.ago(hours=3))
    await place.put(first)
    assert (await place.sweep()).counts["archives"]["requeued"] == 1  # the archive's event stays in the queue
    waiting = place.archive("waiting", created_at=place.now)
    failed = place.archive("failed", attemptCount=1, lastAttemptTime=place.now, **FAILED)
    await place.put(waiting, failed)
    place.wait(hours=2)
    counts = (await place.sweep()).counts["archives"]
    assert (counts["read"], counts["queued"], counts["requeued"]) == (2, 1, 1)
    assert ((await place.again(waiting)).attemptCount, (await place.again(failed)).attemptCount) == (0, 2)
    await place.published("parsing", 2)
    counts = (await place.sweep()).counts["archives"]
    assert (counts["queued"], counts["requeued"]) == (0, 1)
    (event,) = await place.published("parsing")
    assert event.data.archive_id == waiting.id


@pytest.mark.requirement("R-726")
async def test_a_document_at_its_last_attempt_is_given_up(
    place: SweepPlace, caplog: pytest.LogCaptureFixture
) -> None:
    """Spec 001, the max retries test."""
    archive = place.archive(attemptCount=3, created_at=place.now)
    await place.put(archive)
    with caplog.at_level(logging.ERROR):
        await place.sweep()
    swept = await place.again(archive)
    assert (swept.status, swept.attemptCount) == ("failed_max_retries", 3)
    assert place.counted("retry_job_documents_max_retries_exceeded_total", collection="archives") == 1
    assert f"archives/{archive.id} is given up after 3 attempts" in caplog.text
    await place.sweep()
    assert place.counted("retry_job_failed_documents", collection="archives") == 1


@pytest.mark.requirement("R-723")
async def test_when_a_document_is_due(place: SweepPlace) -> None:
    def document(name: str, attempts: int, last: float | None, error: str | None, **ages: float) -> Message:
        """Build a document whose times are this many minutes ago."""
        times: dict[str, Any] = {
            field: place.ago(minutes=age) for field, age in ({"created_at": 3000} | ages).items()
        }
        return place.message(
            name,
            attemptCount=attempts,
            lastAttemptTime=place.ago(minutes=last) if last is not None else None,
            lastError=error,
            **times,
        )

    due = [
        document("failed-1", 1, 6, "X: y"),
        document("failed-2", 2, 11, "X: y"),
        document("silent", 1, 25 * 60, None),
        document("never", 0, None, None, created_at=16),
        document("asked-long-ago", 2, 25 * 60, "X: y", requeued_at=26 * 60),
    ]
    waits = [
        document("failed-1-just-now", 1, 4, "X: y"),
        document("failed-2-just-now", 2, 9, "X: y"),
        document("silent-for-hours", 1, 23 * 60, None),
        document("fresh", 0, None, None, created_at=14),
        document("asked-an-hour-ago", 2, 60, "X: y", requeued_at=60),
    ]
    await place.put(*due, *waits)
    done = await place.sweep()
    assert (done.counts["messages"]["requeued"], done.counts["messages"]["read"]) == (5, 5)
    assert [(await place.again(document)).attemptCount for document in due] == [2, 3, 2, 1, 3]
    assert [(await place.again(wait)).attemptCount for wait in waits] == [1, 2, 1, 0, 2]
    events: list[Any] = []
    while sum(len(event.data.message_keys) for event in events) < len(due):
        events += await place.published("chunking")
    attempts = {key: event.attempt for event in events for key in event.data.message_keys}
    assert [attempts[document.id] for document in due] == [2, 3, 2, 1, 3]


@pytest.mark.requirement("R-723")
async def test_what_is_done_or_given_up_or_processing_elsewhere_is_told_apart(place: SweepPlace) -> None:
    done = place.message("done", status=ProcessingStatus.PROCESSED)
    given_up = place.message("given-up", status=ProcessingStatus.FAILED_MAX_RETRIES, attemptCount=3)
    await place.put(done, given_up)
    legacy = {**place.message("legacy").to_cosmos(), "status": "processing"}
    for name in ("attemptCount", "lastAttemptTime", "lastError", "requeued_at"):
        del legacy[name]
    await place.store._container("messages").upsert_item(legacy)
    swept = await place.sweep()
    assert (swept.counts["messages"]["read"], swept.counts["messages"]["failed"]) == (1, 1)
    (event,) = await place.published("chunking")
    assert event.data.message_keys == [legacy["id"]]


@pytest.mark.requirement("R-729")
async def test_a_requeued_document_that_fails_again_is_due_by_its_backoff_and_keeps_its_error(
    place: SweepPlace,
) -> None:
    message = place.message()
    await place.put(message)
    await place.sweep()
    asked = await place.again(message)
    assert (asked.requeued_at, asked.lastError) == (place.now, "NoOutcome: no attempt at it was recorded")
    place.wait(minutes=15)
    subject = DocumentRef(Message, message.id)
    failure = classify(TransientError("the store is down"))
    await record_failed_attempt(
        place.store, [subject], attempt=1, failure=failure, now=place.now, session=Session()
    )
    assert (await place.again(message)).requeued_at is None
    place.wait(minutes=5)
    await place.sweep()
    again = await place.again(message)
    assert (again.attemptCount, again.lastError) == (2, "TransientError: the store is down")
    events = await place.published("chunking", 2)
    assert sorted(event.attempt for event in events) == [1, 2]  # a queue guarantees no order


@pytest.mark.requirement("R-725")
async def test_messages_and_chunks_are_asked_for_together_and_smaller_each_time(place: SweepPlace) -> None:
    for number in range(6):
        first = number < 3
        late: dict[str, Any] = (
            {} if first else {"attemptCount": 4, "lastAttemptTime": place.ago(hours=2), **FAILED}
        )
        await place.put(place.chunk(f"m{number}", f"t{number % 2}", **late))
        await place.put(place.message(f"m{number}", f"t{number % 2}", archive_id=f"a{number % 2}"))
    await place.sweep()
    chunks = await place.published("embedding", 4)
    assert sorted((event.attempt, len(event.data.chunk_ids)) for event in chunks) == [
        (1, 3), (5, 1), (5, 1), (5, 1)
    ]  # fmt: skip
    messages = await place.published("chunking", 2)
    assert {event.data.archive_id for event in messages} == {"a0", "a1"}
    for event in [*chunks, *messages]:
        assert isinstance(event.data, ChunksPrepared | JSONParsed)
        assert parse_event(event.to_json()) == event
    (together,) = [event for event in chunks if event.attempt == 1]
    assert len(together.data.chunk_threads) == len(together.data.chunk_messages) == 3


@pytest.mark.requirement("R-725")
async def test_a_ready_thread_whose_request_was_lost_is_asked_for_as_orchestration_would(
    place: SweepPlace,
) -> None:
    thread = await place.put_ready_thread()
    await place.sweep()
    (event,) = await place.published("summarization")
    ready = await ready_thread(place.clients, thread.id, Session())
    assert ready is not None
    assert isinstance(event.data, SummarizationRequested)
    assert (event.data.thread_ids, event.data.content_hashes) == ([thread.id], [ready.version])
    assert (event.attempt, (await place.again(thread)).content_hash) == (1, ready.version)


@pytest.mark.requirement("R-723")
async def test_a_thread_that_waits_for_its_messages_or_was_merged_is_left_alone(place: SweepPlace) -> None:
    fresh = {"created_at": place.now}
    waits = place.thread("waits", message_count=1)
    incomplete = place.thread("incomplete", message_count=2)
    signpost = place.thread("signpost", merged_into="waits")
    await place.put(waits, place.message("m1", "waits", **fresh))
    await place.put(
        incomplete, place.message("m2", "incomplete", status=ProcessingStatus.PROCESSED), signpost
    )
    done = await place.sweep()
    assert done.counts["threads"]["requeued"] == 0
    for thread in (waits, incomplete, signpost):
        assert (await place.again(thread)).attemptCount == 0


@pytest.mark.requirement("R-723")
async def test_a_thread_that_orchestration_is_about_to_ask_for_is_left_to_it(place: SweepPlace) -> None:
    claim = {"version": "v", "event": "e", "at": stored_time(place.now), "since": stored_time(place.now)}
    thread = await place.put_ready_thread(requesting=claim)
    assert (await place.sweep()).counts["threads"]["requeued"] == 0
    place.wait(hours=1)  # the claim has expired
    assert (await place.sweep()).counts["threads"]["requeued"] == 1
    assert (await place.again(thread)).requesting is None
    await place.published("summarization")


@pytest.mark.requirement("R-726")
async def test_a_thread_whose_chunk_is_given_up_still_completes(place: SweepPlace) -> None:
    thread = await place.put_ready_thread(created_at=place.now)
    last = {"attemptCount": 5, "lastAttemptTime": place.ago(hours=2), **FAILED}
    chunk = place.chunk("m-t1", "t1", index=1, **last)
    await place.put(chunk)
    done = await place.sweep()
    assert (await place.again(chunk)).status == "failed_max_retries"
    assert (await place.again(chunk)).lastError == FAILED["lastError"]
    assert done.counts["chunks"]["given_up"] == 1
    (event,) = await place.published("summarization")
    assert event.data.thread_ids == [thread.id]


@pytest.mark.requirement("R-723")
async def test_pending_threads_that_are_many_are_looked_at_in_turns(
    place: SweepPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.operations.sweep.THREADS_EXAMINED", 2)
    for number in range(4):
        await place.put(place.thread(f"t{number}", message_count=1, created_at=place.ago(hours=9 - number)))
    late = await place.put_ready_thread("t9", created_at=place.ago(hours=1))
    for _ in range(2):
        assert (await place.sweep()).counts["threads"] | {"requeued": 0} == {
            "waiting": 0, "stuck": 0, "failed": 0, "read": 2, "queued": 0, "requeued": 0, "given_up": 0, "held_back": 0
        }  # fmt: skip
    third = await place.sweep()
    assert (third.counts["threads"]["requeued"], third.cursor) == (1, {})
    (event,) = await place.published("summarization")
    assert event.data.thread_ids == [late.id]


async def test_a_document_that_was_reset_is_asked_for_however_lately_its_event_was_published(
    place: SweepPlace,
) -> None:
    archive = place.archive()
    await place.put(archive)
    await place.sweep()
    (event,) = await place.published("parsing")
    await place.clients.bus.publish([event])  # as ingestion does
    await place.published("parsing")
    await place.put(archive)  # the archive as it was
    await place.sweep()
    (again,) = await place.published("parsing")
    assert (again.message_id, again.attempt) == (event.message_id, 1)


@pytest.mark.requirement("R-730")
async def test_while_a_dependency_is_down_a_few_probe_and_the_rest_wait_uncounted(
    place: SweepPlace, caplog: pytest.LogCaptureFixture
) -> None:
    chunks = [
        place.chunk(f"m{n}", attemptCount=1, lastAttemptTime=place.ago(minutes=6), **FAILED)
        for n in range(12)
    ]
    await place.put(*chunks)
    await place.fail_stage("embedding", 6)
    with caplog.at_level(logging.WARNING):
        done = await place.sweep()
    assert (done.counts["chunks"]["requeued"], done.counts["chunks"]["held_back"]) == (5, 7)
    assert done.circuits == {"chunks": "ServiceUnavailableError"}
    assert place.counted("retry_job_circuit_open", collection="chunks") == 1
    assert place.counted("retry_job_documents_held_back_total", collection="chunks") == 7
    assert "embedding keeps failing (ServiceUnavailableError)" in caplog.text
    assert [len(event.data.chunk_ids) for event in await place.published("embedding", 5)] == [1] * 5
    counts = sorted([(await place.again(chunk)).attemptCount for chunk in chunks])
    assert counts == [1] * 7 + [2] * 5


@pytest.mark.requirement("R-730")
async def test_the_circuit_closes_when_a_probe_succeeds(place: SweepPlace) -> None:
    chunks = [
        place.chunk(f"m{n}", attemptCount=1, lastAttemptTime=place.ago(minutes=6), **FAILED)
        for n in range(12)
    ]
    await place.put(*chunks)
    await place.fail_stage("embedding", 6)
    await place.sweep()
    (probe, *_) = await place.published("embedding", 5)
    place.wait(minutes=15)
    assert "chunks" in (await place.sweep()).circuits  # no probe has ended
    await place.published("embedding", 5)
    place.wait(minutes=15)
    done = {"status": ProcessingStatus.PROCESSED, "lastError": None, "lastAttemptTime": place.now}
    (probed,) = [chunk for chunk in chunks if chunk.id == probe.data.chunk_ids[0]]
    await place.put((await place.again(probed)).model_copy(update=done))
    swept = await place.sweep()
    assert (swept.circuits, swept.counts["chunks"]["held_back"]) == ({}, 0)
    await place.published("embedding", 1)
    assert place.counted("retry_job_circuit_open", collection="chunks") == 0


async def test_a_circuit_closes_when_there_is_nothing_left_to_probe(place: SweepPlace) -> None:
    """No probe can end then, and the alarm would never stop."""
    await place.put(place.chunk("m1", attemptCount=1, lastAttemptTime=place.ago(minutes=6), **FAILED))
    await place.fail_stage("embedding", 6)
    assert "chunks" in (await place.sweep()).circuits
    await place.published("embedding", 1)
    place.wait(minutes=31)
    waiting = await place.sweep()  # the probe is running
    assert (waiting.circuits, waiting.counts["chunks"]["requeued"]) == (
        {"chunks": "no outcome of the probes yet"}, 0,
    )  # fmt: skip
    place.wait(minutes=15)
    assert (await place.sweep()).circuits == {}
    assert place.counted("retry_job_circuit_open", collection="chunks") == 0


@pytest.mark.requirement("R-210")
async def test_a_sweep_reads_what_is_due_and_little_else(
    place: SweepPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting and finished documents add no cost. benchmarks/sweep.py shows it with 100,000 documents."""
    due = {"attemptCount": 1, "lastAttemptTime": place.ago(minutes=6), **FAILED}
    waits = {"attemptCount": 2, "lastAttemptTime": place.ago(minutes=6), **FAILED}
    silent = {"attemptCount": 1, "lastAttemptTime": place.ago(minutes=6)}
    done = {"status": ProcessingStatus.PROCESSED, "attemptCount": 1, "lastAttemptTime": place.ago(hours=30)}
    states: list[dict[str, Any]] = [due, *[waits, silent, done] * 5]
    chunks = [place.chunk(f"m{n}", **states[n % len(states)]) for n in range(20 * len(states))]
    messages = [place.message(f"m{n}", status=ProcessingStatus.PROCESSED) for n in range(len(chunks))]
    await place.store.upsert_all([*chunks, *messages], Session())
    monkeypatch.setattr(place.store, "query", place.store.query)  # restored at the end
    items = count_items(place.store)
    assert (await place.sweep()).counts["chunks"]["requeued"] == 20
    # The sweep also reads all chunks of the due messages, and one item for each count.
    assert items["chunks"] <= 20 + 20 + 10
    await place.published("embedding")


@pytest.mark.requirement("R-806")
async def test_a_run_leaves_its_summary_and_a_dry_run_changes_nothing(place: SweepPlace) -> None:
    archive = place.archive()
    await place.put(archive, place.message(attemptCount=3, lastAttemptTime=place.ago(hours=30)))
    rehearsed = await place.sweep(dry_run=True, requested_by="ops")
    assert (rehearsed.counts["archives"]["requeued"], rehearsed.counts["messages"]["given_up"]) == (1, 1)
    assert (await place.again(archive)).attemptCount == 0
    assert await place.quiet()
    assert await latest_run(place.clients) is None  # only of runs that changed something
    done = await place.sweep()
    kept = await place.store.read(Run, done.id, Session(), partition="sweep")
    assert (kept.status, kept.counts, kept.finished_at) == (RunStatus.SUCCEEDED, done.counts, place.now)
    assert {example["what"] for example in kept.examples} == {"requeued", "given up"}
    await place.published("parsing")


@pytest.mark.requirement("R-904")
async def test_stuck_documents_stay_counted_until_something_is_heard_of_them(place: SweepPlace) -> None:
    await place.put(place.archive(attemptCount=1, lastAttemptTime=place.ago(hours=25)))
    for expected in (1, 0, 1):  # a new request gets a day, and then counts from its own time
        await place.sweep()
        assert place.counted("retry_job_stuck_documents", collection="archives") == expected
        place.wait(hours=23)
        if expected == 0:
            place.wait(hours=2)
    await place.published("parsing", 2)


@pytest.mark.requirement("R-904")
async def test_one_collections_trouble_does_not_keep_the_others_waiting(
    place: SweepPlace, cloud: AppCloud
) -> None:
    await place.put(place.archive(), place.message())
    fault = {"kind": "status", "operation": "docs.patch", "times": 3, "args": {"status": 503}}
    Faults(cloud.cosmos).plan(fault)
    try:
        done = await place.sweep()
    finally:
        Faults(cloud.cosmos).plan()
    assert done.status is RunStatus.FAILED
    assert [error.split(":")[0] for error in done.errors] == ["archives"]
    assert done.counts["messages"]["requeued"] == 1
    assert place.counted("retry_job_runs_total", status="failure") == 1
    await place.published("chunking")


async def test_a_sweep_that_cannot_reach_cosmos_is_counted_all_the_same(
    place: SweepPlace, cloud: AppCloud
) -> None:
    Faults(cloud.cosmos).plan({"kind": "status", "operation": "*", "times": None, "args": {"status": 503}})
    try:
        with pytest.raises(Exception, match="ServiceUnavailable"):
            await place.sweep()
        assert Faults(cloud.cosmos).hits
    finally:
        Faults(cloud.cosmos).plan()
    assert place.counted("retry_job_runs_total", status="failure") == 1
    assert place.counted("retry_job_errors_total", error_type="CosmosHttpResponseError") == 1


async def test_while_the_broker_is_away_no_attempt_is_counted(cloud: AppCloud, tmp_path: Path) -> None:
    """Two sweeps during an outage would use up an archive's attempts, although no stage tried it."""
    with servicebus(tmp_path) as broker:
        async with sweep_place(cloud, broker, REQUEST_SECONDS="0.14") as place:
            archive = place.archive()
            await place.put(archive)
            broker.kill()
            done = await place.sweep()
            assert [error.split(":")[0] for error in done.errors] == ["archives"]
            assert (await place.again(archive)).attemptCount == 0


@pytest.mark.requirement("R-727")
async def test_two_sweeps_at_once_count_once_and_publish_once(place: SweepPlace) -> None:
    messages = [place.message(f"m{number}", f"t{number}") for number in range(20)]
    await place.put(place.archive(), *messages, *[await place.put_ready_thread(f"r{n}") for n in range(3)])
    one, two = await asyncio.gather(place.sweep_unguarded(), place.sweep_unguarded())
    for name, total in (("archives", 1), ("messages", 20), ("threads", 3)):
        assert one.counts[name]["requeued"] + two.counts[name]["requeued"] == total
    assert [(await place.again(message)).attemptCount for message in messages] == [1] * 20
    await place.published("parsing", 1)
    await place.published("summarization", 3)
    keys: list[str] = []
    while len(keys) < len(messages):
        for event in await place.published("chunking"):
            keys += event.data.message_keys
    assert sorted(keys) == sorted(message.id for message in messages)


@pytest.mark.requirement("R-727")
async def test_a_second_sweep_leaves_the_first_alone(place: SweepPlace) -> None:
    seen = []

    def meanwhile(_step: str) -> None:
        seen.append(asyncio.ensure_future(place.sweep()))

    await place.put(place.archive())
    await place.sweep(progress=meanwhile)
    results = await asyncio.gather(*seen, return_exceptions=True)
    assert {type(result) for result in results} == {AssertionError}  # None: it did nothing
    await place.published("parsing")


@pytest.mark.parametrize("step", ["counted", "published", "noted", "given_up"])
@pytest.mark.requirement("R-727")
async def test_a_crash_at_any_step_loses_nothing_and_the_next_sweeps_come_to_the_same_end(
    place: SweepPlace, step: str
) -> None:
    archive, thread = place.archive(), await place.put_ready_thread()
    message = place.message(attemptCount=3, lastAttemptTime=place.ago(hours=1), **FAILED)
    await place.put(archive, message)

    def crash(reached: str) -> None:
        if reached == step:
            raise Crash

    with pytest.raises(Crash):
        await place.sweep(progress=crash)
    place.wait(minutes=15)  # the lease and the backoff of one attempt have expired
    await place.sweep()
    documents = {document.id: await place.again(document) for document in (archive, thread, message)}
    assert documents[message.id].status == "failed_max_retries"
    for document in (archive, thread):
        swept = documents[document.id]
        assert isinstance(swept, Archive | Thread)
        # If it was counted and not published before the crash, it is requested once more.
        assert swept.attemptCount in (1, 2)
        assert swept.requeued_at is not None
    assert {event.data.archive_id for event in await place.published("parsing")} == {archive.id}
    assert {event.data.thread_ids[0] for event in await place.published("summarization")} == {thread.id}
    place.wait(minutes=15)
    assert {count["requeued"] for count in (await place.sweep()).counts.values()} == {0}


async def test_chunks_that_a_message_names_while_the_sweep_deletes_them_are_made_again(
    place: SweepPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk of another set is stale until its message names that set, which may happen meanwhile."""
    former = chunk_set(1, "another splitting")
    message = place.message(status=ProcessingStatus.PENDING, text_version=1, chunk_set=former, chunk_count=1)
    key = message_key(message.message_id, "list")
    message = message.model_copy(update={"id": key, "message_key": key})
    chunk = place.chunk(id=chunk_id(key, SET, 0), message_key=key)
    await place.put(message, chunk)
    delete, named = place.clients.index.delete, list[set[str]]()

    async def name_set_first(ids: list[str]) -> Any:
        named.append(await mark_processed(place.store, [message], {message.id: (SET, 1)}, Session()))
        return await delete(ids)

    monkeypatch.setattr(place.clients.index, "delete", name_set_first)
    assert await delete_stale(place.clients, [message.id], Session()) == {chunk.id}
    assert named == [set()], "the message named the set while its chunk was deleted"
    assert await missing_chunks(place.clients, [chunk.id], Session()) == {chunk.id}
    assert (await place.again(message)).status is ProcessingStatus.PENDING
