"""A requeue with a ramp, and a dead letter that is sent with another body."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusMessage

from shared.clients.servicebus.dead_letter_mover import OperationObserver
from shared.clients.servicebus.resending import REQUEUED_BY, REQUEUED_FROM
from shared.documents.audits import Audit, AuditStatus
from shared.pipeline.delivery import Delivery
from shared.pipeline.events.envelope import parse_event
from shared.pipeline.retry.event_retries import EventRetries, schedule_retry
from shared.upkeep.audit import Actor
from shared.upkeep.deadletters.actions import REQUEUE
from shared.upkeep.deadletters.operations import request_operation, run_operation
from shared.upkeep.deadletters.ramp import ramp_steps
from stages.registration import delivery_from_sdk
from tests.ops.commands import Commands
from tests.ops.environment import OpsPlace
from tests.support.documents import CREATED

pytestmark = pytest.mark.asyncio(loop_scope="module")
ME = Actor("me")


@pytest.mark.parametrize(
    ("plan", "steps"),
    [
        ({"parsing": [1]}, [{"parsing": [1]}]),
        ({"parsing": [7, 8]}, [{"parsing": [7]}, {"parsing": [8]}]),
        (
            {"parsing": [1, 2, 3], "chunking": list(range(100))},
            [
                {"parsing": [1]},
                {"parsing": [2, 3], "chunking": [0, 1, 2]},
                {"chunking": list(range(3, 53))},
                {"chunking": list(range(53, 100))},
            ],
        ),
        ({}, []),
    ],
)
async def test_the_steps_of_a_ramp(plan: dict[str, list[int]], steps: list[dict[str, list[int]]]) -> None:
    assert ramp_steps(plan) == steps


@asynccontextmanager
async def stage(
    place: OpsPlace, fails: Callable[[str], bool] = lambda _id: False
) -> AsyncIterator[list[str]]:
    """Takes what comes to parsing, and sets aside what fails; the archives in the order in which they came."""
    receiver, seen = await place.bench.receiver("parsing"), list[str]()

    async def work() -> None:
        while True:
            for message in await receiver.receive_messages(max_message_count=10, max_wait_time=0.5):
                archive = parse_event(b"".join(message.body)).data.archive_id
                seen.append(archive)
                if fails(archive):
                    await receiver.dead_letter_message(message, reason="StillBroken", error_description="no")
                else:
                    await receiver.complete_message(message)

    working = asyncio.create_task(work())
    try:
        yield seen
    finally:
        working.cancel()
        await asyncio.wait({working})


async def ramped(place: OpsPlace, watch: OperationObserver | None = None) -> Audit:
    audit = await request_operation(place.clients, REQUEUE, {"queues": ["parsing"]}, ME, ramp=True)
    return await run_operation(place.clients, audit.id, watch=watch, patience=15)


@pytest.mark.slow
async def test_a_ramp_sends_all_while_nothing_comes_back(place: OpsPlace) -> None:
    events = await place.failed_events(8, "TimeoutError", "it was down")
    steps: list[int] = []
    async with stage(place) as seen:
        audit = await ramped(
            place, OperationObserver(step=lambda name: steps.append(len(seen)) if name == "taken" else None)
        )
    assert (audit.status, audit.counts["requeued"]) == (AuditStatus.SUCCEEDED, 8)
    assert steps == [0, 1, 6]  # each step began when the one before was through
    assert sorted(seen) == sorted(event.data.archive_id for event in events)
    assert await place.dead() == []


async def test_a_ramp_stops_when_some_came_back_and_goes_on_when_they_are_gone(place: OpsPlace) -> None:
    events = await place.failed_events(9, "TimeoutError", "it was down")
    bad = events[3].data.archive_id
    async with stage(place, lambda archive: archive == bad) as seen:
        audit = await ramped(place)
    assert len(seen) == 6
    assert audit.status is AuditStatus.INCOMPLETE
    assert (audit.counts["requeued"], audit.counts["left"]) == (6, 3)
    assert audit.outcome == "3 are left: 1 of those before came back as dead letters"
    left = {parse_event(letter.copy.data()).data.archive_id for letter in await place.dead()}
    assert left == {bad, *(event.data.archive_id for event in events[6:])}
    async with place.clients.bus.dead_letters("parsing") as receiver:
        for letter in await receiver.receive_messages(max_message_count=10, max_wait_time=5):
            if bad.encode() in b"".join(letter.body):
                await receiver.complete_message(letter)
            else:
                await receiver.abandon_message(letter)
    async with stage(place) as seen:
        audit = await run_operation(place.clients, audit.id, patience=15)
    assert (audit.status, len(seen)) == (AuditStatus.SUCCEEDED, 3)


@pytest.mark.slow
async def test_a_ramp_waits_for_a_retry_that_waits_in_the_broker(place: OpsPlace) -> None:
    """Nobody takes the first; then a copy of it waits for its retry. The second is not sent meanwhile."""
    await place.failed_events(2, "TimeoutError", "it was down")
    looks: list[int] = []
    watch = OperationObserver(settling=looks.append, stopped=lambda: len(looks) > 1)
    audit = await ramped(place, watch)
    assert (audit.status, audit.counts["requeued"]) == (AuditStatus.INTERRUPTED, 1)
    receiver = await place.bench.receiver("parsing")
    (sent,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
    delivery: Delivery = delivery_from_sdk(sent)
    retries = EventRetries.of(delivery, CREATED)
    await schedule_retry(place.clients, "parsing", parse_event(delivery.body), delivery, retries, 60)
    await receiver.complete_message(sent)
    (copy,) = await place.waiting()
    properties = delivery_from_sdk(copy).properties
    assert (properties[REQUEUED_BY], properties[REQUEUED_FROM]) == (
        audit.id,
        delivery.properties[REQUEUED_FROM],
    )
    looks.clear()
    audit = await run_operation(place.clients, audit.id, watch=watch, patience=15)
    assert (audit.status, audit.counts["left"]) == (AuditStatus.INTERRUPTED, 1)
    await place.bench.cancel_scheduled("parsing", copy)
    async with stage(place) as seen:
        audit = await run_operation(place.clients, audit.id, patience=15)
    assert (audit.status, len(seen)) == (AuditStatus.SUCCEEDED, 1)


async def test_a_letter_is_sent_with_another_body_and_its_original_can_be_restored(
    place: OpsPlace, tmp_path: Path
) -> None:
    (event,) = await place.failed_events(1, "UnreadableArchiveError", "no message begins here")
    (letter,) = await place.dead()
    command, number = Commands(place, tmp_path), str(letter.sequence_number)
    changed = ["--set", "data.archive_id=0123456789abcdef", "--set", "attempt=2"]
    shown = await command("dlq", "edit", "parsing", number, *changed, "--dry-run")
    assert (shown.code, len(await place.dead())) == (0, 1), shown.err
    assert f'-    "archive_id": "{event.data.archive_id}"' in shown.out
    assert '+    "archive_id": "0123456789abcdef"' in shown.out
    done = (await command("dlq", "edit", "parsing", number, *changed, "--yes", "--json")).json()
    assert (done["status"], done["edited"]) == ("succeeded", 1)
    assert await place.dead() == []
    (sent,) = await place.waiting()
    delivery = delivery_from_sdk(sent)
    assert parse_event(delivery.body).data.archive_id == "0123456789abcdef"
    assert delivery.properties["idempotency_key"] == "parsing-0123456789abcdef"
    assert (delivery.properties["attempt"], delivery.properties["requeue_operation"]) == (
        2,
        done["operation"],
    )
    restored = (await command("dlq", "restore", done["operation"], "--yes", "--json")).json()
    assert restored["restored"] == 1
    assert [parse_event(b"".join(document.body)) for document in await place.waiting()][1] == event


async def test_what_its_stage_would_not_take_is_not_sent(place: OpsPlace, tmp_path: Path) -> None:
    await place.failed_events(1, "UnreadableArchiveError", "no message begins here")
    (letter,) = await place.dead()
    (tmp_path / "same").write_bytes(letter.copy.data())
    command, number = Commands(place, tmp_path), str(letter.sequence_number)
    for change, says in (
        (["--set", "data.archive_id=../../etc"], "not an event"),
        (["--set", "event_type=JSONParsed"], "not an event"),
        (["--body", str(tmp_path / "same")], "the body is as it was"),
        (["--set", "data.nothing.here=1"], "no object at 'data.nothing.here'"),
        (["--set", "data"], "is not PATH=VALUE"),
        (["--body", "no-such-file"], "--body: "),
        ([], "Give either --set"),
    ):
        ended = await command("dlq", "edit", "parsing", number, *change, "--yes")
        assert ended.code in {1, 2}, change
        assert says in ended.err, change
    assert (len(await place.dead()), await place.waiting()) == (1, [])


async def test_an_event_of_another_stage_and_an_unknown_number_are_refused(
    place: OpsPlace, tmp_path: Path
) -> None:
    event = place.event("other")
    await place.dead_letter([ServiceBusMessage(event.to_json())], queue="chunking")
    (letter,) = await place.dead("chunking")
    body = json.loads(event.to_json())
    body["data"]["archive_id"] = "0123456789abcdef"
    (tmp_path / "body").write_text(json.dumps(body))
    command, options = Commands(place, tmp_path), ["--body", str(tmp_path / "body"), "--yes"]
    ended = await command("dlq", "edit", "chunking", str(letter.sequence_number), *options)
    assert "chunking takes JSONParsed, not ArchiveIngested" in ended.err
    ended = await command("dlq", "edit", "chunking", str(letter.sequence_number + 1), *options)
    assert f"chunking has no dead letter {letter.sequence_number + 1}" in ended.err
