"""Threads are read again: one thread, a source or all, once each, recorded, resumable, and rate-limited."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from pydantic import ValidationError

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.azure.servicebus.dead_letter_mover import OperationObserver
from shared.models.base import ProcessingStatus
from shared.models.records import AuditStatus
from shared.models.threads import Thread
from shared.operations.audit import Operator, find_audit
from shared.operations.background import (
    ThreadSelection,
    request_resummarizing,
    run_requested,
    run_resummarizing,
)
from shared.summarization.estimating import estimate_reading
from tests.stages.mail_in import mail, mail_in
from tests.stages.reported import ReportedThreads
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
BY = Operator("ann")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[ReportedThreads]:
    """Three threads of one list and one thread of another, all reported."""
    async with mail_in(cloud, bus_service) as ready:
        threads = ReportedThreads(ready)
        await threads.take_in(*(mail(number, subject=f"Thread {number}") for number in range(3)))
        await threads.take_in(mail(9, subject="Elsewhere"), name="other")
        await threads.request(0, 1, 2, 9)
        assert await threads.work_off(4) == 4
        yield threads


def with_own_time(clients: Clients, slept: list[float]) -> Clients:
    """Return clients whose time passes only when they sleep."""

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    return replace(clients, runtime=replace(clients.runtime, sleep=sleep, monotonic=lambda: sum(slept)))


async def started(place: ReportedThreads, **selection: object) -> str:
    chosen = ThreadSelection.model_validate(selection)
    return (await request_resummarizing(place.clients, chosen, BY, in_background=False)).id


async def test_a_thread_that_has_not_changed_gets_a_summary_and_a_report_of_their_own(
    place: ReportedThreads,
) -> None:
    before, report = await place.summary(0), await place.report(0)
    assert (await place.thread(0)).content_hash == before.content_hash  # a new version has to replace it
    operation = await started(place, thread=place.thread_id(0))
    ended = await run_resummarizing(place.clients, operation)
    assert (ended.status, ended.counts["requested"], ended.actor) == (AuditStatus.SUCCEEDED, 1, "ann")
    assert (await place.thread(0)).status is ProcessingStatus.PENDING
    assert await place.work_off(1) == 1
    after = await place.summary(0)
    assert after.id != before.id
    assert (await place.thread(0)).summary_id == after.id
    assert (await place.report(0)).summary_id == after.id != report.summary_id
    assert (await place.thread(0)).status is ProcessingStatus.PROCESSED
    assert (await run_resummarizing(place.clients, operation)).finished_at == ended.finished_at


async def test_a_source_or_everything(place: ReportedThreads) -> None:
    for selection, expected in (({"source": "list"}, 3), ({"all": True}, 4)):
        operation = await started(place, **selection)
        ended = await run_resummarizing(place.clients, operation)
        assert ended.counts == {"requested": expected, "waiting": 0, "gone": 0, "left": 0}
        assert await place.work_off(expected) == expected
    editions = {(await place.thread(number)).edition for number in (0, 1, 2, 9)}
    assert editions == {operation}


async def test_what_a_chat_model_costs_is_estimated_before(place: ReportedThreads) -> None:
    threads = [place.thread_id(number) for number in (0, 1, 2, 9)]
    assert await estimate_reading(place.clients, threads) is None, "rules cost nothing"
    asked = {"SUMMARY_BACKEND": "openai", "SUMMARY_MODEL": "m", "SUMMARY_ENDPOINT": "http://127.0.0.1:9/v1"}
    clients = replace(place.clients, settings=place.clients.settings.model_copy(update=asked))
    few = await estimate_reading(clients, threads)
    many = await estimate_reading(clients, [*threads, "gone"] * 30)
    assert few is not None
    assert many is not None
    assert (few.threads, few.sampled, few.calls) == (4, 4, 4)
    assert few.prompt_tokens > 4 * 1_000, "the instructions of each call alone"
    assert many.calls == 150
    assert many.prompt_tokens == pytest.approx(few.prompt_tokens / 4 * 150, rel=0.1)
    assert f"{few.prompt_tokens:,} tokens in" in str(few)


async def test_one_that_was_stopped_goes_on_with_what_is_left(place: ReportedThreads) -> None:
    operation, seen = await started(place, all=True, rate=1.0), list[int]()
    clients = with_own_time(place.clients, [])
    stopping = OperationObserver(progress=seen.append, stopped=lambda: bool(seen))
    ended = await run_resummarizing(clients, operation, watch=stopping)
    assert (ended.status, ended.counts["requested"], ended.counts["left"]) == (AuditStatus.INTERRUPTED, 1, 3)
    assert await place.work_off(1) == 1
    ended = await run_resummarizing(place.clients, operation)
    assert (ended.status, ended.counts["requested"]) == (AuditStatus.SUCCEEDED, 4)
    assert await place.work_off(3) == 3


async def test_a_request_that_was_lost_is_made_again_by_who_resumes(place: ReportedThreads) -> None:
    operation, thread = await started(place, source="other"), place.thread_id(9)
    lost = {"edition": operation, "status": "pending"}  # as after a crash before the request was sent
    await place.store.patch(Thread, Patch(thread, set=lost), Session())
    assert (await run_resummarizing(place.clients, operation)).status is AuditStatus.SUCCEEDED
    assert await place.work_off(1) == 1
    assert (await place.thread(9)).status is ProcessingStatus.PROCESSED


async def test_a_request_runs_in_the_background_at_its_rate(place: ReportedThreads) -> None:
    chosen = ThreadSelection(source="list", rate=2.0)
    audit = await request_resummarizing(place.clients, chosen, BY, in_background=True)
    receiver = await place.mail_in.place.receiver("operations")
    (message,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
    slept: list[float] = []
    await run_requested(b"".join(message.body), with_own_time(place.clients, slept))
    await receiver.complete_message(message)
    assert (await find_audit(place.store, audit.id)).counts["requested"] == 3
    assert 0.9 <= sum(slept) <= 1.6, slept  # the second and the third wait half a second each
    assert await place.work_off(3) == 3


async def test_one_that_is_not_ready_waits_for_its_messages(place: ReportedThreads) -> None:
    thread = await place.thread(1)
    await place.store.upsert(replace_count(thread, 2), Session())
    ended = await run_resummarizing(place.clients, await started(place, thread=thread.id))
    assert (ended.counts["requested"], ended.counts["waiting"]) == (0, 1)


def replace_count(thread: Thread, count: int) -> Thread:
    return thread.model_copy(update={"message_count": count})


@pytest.mark.parametrize(
    "wrong", [{}, {"all": True, "source": "x"}, {"thread": "no"}, {"all": True, "rate": 0}]
)
async def test_a_selection_names_one_kind(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ThreadSelection.model_validate(wrong)
