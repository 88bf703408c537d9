"""Dead letters on a real broker: listed, grouped, requeued, purged and restored."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.amqp import AmqpAnnotatedMessage

from shared.azure.blobs import Blobs
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.dead_letter_mover import OperationObserver
from shared.azure.servicebus.dead_letters import MessageCopy
from shared.core.errors import DocumentNotFoundError
from shared.core.ids import invalid_key
from shared.models.records import Audit, AuditStatus
from shared.operations.audit import Operator, find_audit
from shared.operations.deadletters.diagnosis import (
    DeadLetterSelection,
    UnknownQueueError,
    choose,
    diagnosed_dead_letters,
    group_dead_letters,
    queue_named,
)
from shared.operations.deadletters.journal import (
    CONTAINER,
    PURGE,
    REQUEUE,
    RESTORE,
    Journal,
    JournalError,
    NothingToRestoreError,
    restorable,
)
from shared.operations.deadletters.operations import request_operation, run_operation
from shared.pipeline.events import parse_event
from stages.registration import delivery_from_sdk
from tests.ops.environment import FAILED_AT, OpsPlace, failure_of
from tests.support.clock import SleepClock

pytestmark = pytest.mark.asyncio(loop_scope="module")
ME = Operator("ada@example.org")


async def do(
    place: OpsPlace,
    action: str,
    *,
    rate: float | None = None,
    watch: OperationObserver | None = None,
    **selection: Any,
) -> Audit:
    if action != RESTORE:
        selection.setdefault("queues", ["parsing"])
    audit = await request_operation(place.clients, action, selection, ME, rate=rate)
    return await run_operation(place.clients, audit.id, watch=watch, patience=15)


@pytest.mark.requirement("R-802")
async def test_groups_are_by_stage_reason_and_error_with_exact_counts(place: OpsPlace) -> None:
    await place.failed_events(5, "UnreadableArchiveError", "a/list-17.mbox: no message begins at 4711")
    await place.failed_events(
        3, "TimeoutError", "cosmos did not answer in 60 s", reason="TTLExpiredException"
    )
    await place.dead_letter(
        [ServiceBusMessage(b"\xff no event", message_id="x1")], description="what is this"
    )
    groups = group_dead_letters(await diagnosed_dead_letters(place.clients, ["parsing", "chunking"]))
    assert [(group.count, group.error_type, group.reason) for group in groups] == [
        (5, "UnreadableArchiveError", "MaxDeliveryCountExceeded"),
        (3, "TimeoutError", "TTLExpiredException"),
        (1, "", "MaxDeliveryCountExceeded"),
    ]
    assert (groups[0].first_seen, groups[0].last_seen) == (FAILED_AT, FAILED_AT)
    assert groups[0].error == "UnreadableArchiveError: a/list-17.mbox: no message begins at 4711"
    assert groups[2].error.startswith("what is this")
    numbers = {letter.sequence_number for letter in await place.dead()}
    assert {group.example for group in groups} <= numbers
    assert len({group.id for group in groups}) == 3


async def test_looking_takes_nothing_and_counts_no_delivery(place: OpsPlace) -> None:
    await place.failed_events(3, "ValueError", "no")
    before = await place.dead()
    group_dead_letters(await diagnosed_dead_letters(place.clients, ["parsing"]))
    assert await place.dead() == before


@pytest.mark.requirement("R-802")
async def test_a_message_that_is_no_event_is_joined_with_its_record_by_what_it_says(place: OpsPlace) -> None:
    body = b'{"event_type": 5}'
    key = invalid_key("parsing", body)
    record = failure_of(place.event("any"), "InvalidEventError", "event_type: missing")
    record = record.model_copy(update={"id": f"{key}-1", "idempotency_key": key})
    await place.clients.store.upsert(record, Session())
    await place.dead_letter([ServiceBusMessage(body)])
    (found,) = await choose(place.clients, DeadLetterSelection(queues=["parsing"]))
    assert found.cause.error_type == "InvalidEventError"


async def test_a_group_is_requeued_to_its_stage_alone_and_the_rest_stays(place: OpsPlace) -> None:
    wanted = await place.failed_events(4, "KeyError", "'subject'")
    await place.failed_events(3, "OSError", "disk full")
    await place.failed_events(2, "KeyError", "'subject' in another stage", queue="chunking")
    (group,) = [group for group in await groups_of(place) if group.error_type == "KeyError"]
    others = [letter.sequence_number for letter in await place.dead() if letter.sequence_number]
    audit = await do(place, REQUEUE, groups=[group.id])
    assert audit.status is AuditStatus.SUCCEEDED
    assert audit.counts == {"planned": 4, "requeued": 4, "gone": 0, "refused": 0, "left": 0}
    sent = await place.waiting()
    assert {parse_event(b"".join(event.body)).event_id for event in sent} == {
        event.event_id for event in wanted
    }
    left = await place.dead()
    assert len(left) == 3
    assert {letter.sequence_number for letter in left} < set(others)
    assert len(await place.dead("chunking")) == 2
    assert await place.waiting("chunking") == []


async def groups_of(place: OpsPlace, *queues: str) -> list[Any]:
    return group_dead_letters(await diagnosed_dead_letters(place.clients, queues or ["parsing"]))


async def test_a_requeued_message_is_the_same_but_for_its_id_and_says_where_it_came_from(
    place: OpsPlace,
) -> None:
    (event,) = await place.failed_events(1, "ValueError", "no")
    original = (await place.dead())[0]
    audit = await do(place, REQUEUE)
    (sent,) = await place.waiting()
    delivery = delivery_from_sdk(sent)
    assert delivery.body == event.to_json()
    assert (sent.subject, sent.correlation_id, sent.content_type) == (
        "ArchiveIngested",
        event.event_id,
        "application/json",
    )
    properties = dict(delivery.properties)
    assert properties.pop("requeued_from") == event.message_id == original.message_id
    assert properties.pop("requeue_operation") == audit.id
    assert properties == {
        name: value for name, value in original.properties.items() if not name.startswith("DeadLetter")
    }
    assert properties["attempt"] == 1
    assert (sent.message_id, sent.dead_letter_reason, sent.dead_letter_source) == (
        sent.message_id,
        None,
        None,
    )
    assert sent.message_id != event.message_id


FOREIGN: list[Any] = [
    ServiceBusMessage(b"\x00\xff not JSON", message_id="bytes"),
    ServiceBusMessage(
        "text",
        application_properties={
            "n": 2**31 - 1,
            "yes": True,
            "half": 0.5,
            "id": uuid.UUID(int=7),
            "name": "é",
        },
        reply_to="answers",
        to="somewhere",
        partition_key="p1",
    ),
    AmqpAnnotatedMessage(value_body={"a": [1, "two", None]}, properties={"message_id": "value"}),
    AmqpAnnotatedMessage(
        sequence_body=[[1, 2], ["x"]],
        properties={"message_id": "sequence", "group_id": "s1"},
        application_properties={"long": {"TYPE": "LONG", "VALUE": 2**40}},
        annotations={"x-custom": "kept"},
    ),
]


async def test_foreign_messages_of_every_kind_survive_a_requeue_and_a_purge_with_restore(
    place: OpsPlace,
) -> None:
    await place.dead_letter(FOREIGN, reason="Foreign")
    before = {letter.message_id: letter.copy for letter in await place.dead()}
    assert len(before) == 4
    purge = await do(place, PURGE)
    assert (purge.status, purge.counts["purged"]) == (AuditStatus.SUCCEEDED, 4)
    assert await place.dead() == []
    assert await place.waiting() == []
    restored = await do(place, RESTORE, purge=purge.id)
    assert (restored.status, restored.counts["restored"]) == (AuditStatus.SUCCEEDED, 4)
    after = [MessageCopy.of(event) for event in await place.waiting()]
    assert {same(letter) for letter in after} == {same(letter) for letter in before.values()}
    assert {letter.application_properties.get("requeued_from") for letter in after} == set(before)


def same(copy: MessageCopy) -> str:
    """Return the parts of a copy that must not change."""
    ours = {"requeued_from", "requeue_operation", "DeadLetterReason", "DeadLetterErrorDescription"}
    record = MessageCopy(
        copy.body_kind,
        copy.body,
        {name: value for name, value in copy.properties.items() if name != "message_id"},
        {},
        {name: value for name, value in copy.application_properties.items() if name not in ours},
        {
            name: value
            for name, value in copy.annotations.items()
            if name in {"x-custom", "x-opt-partition-key"}
        },
        {},
    )
    return json.dumps(record.record(), sort_keys=True)


async def test_nothing_is_restored_twice_and_a_purge_that_is_not_over_is_not_restored(
    place: OpsPlace,
) -> None:
    await place.failed_events(3, "ValueError", "no")
    purge = await do(place, PURGE)
    first = await do(place, RESTORE, purge=purge.id, limit=2)
    assert first.counts["restored"] == 2
    assert (await do(place, RESTORE, purge=purge.id)).counts["restored"] == 1
    assert (await do(place, RESTORE, purge=purge.id)).counts == {
        "planned": 0, "restored": 0, "gone": 0, "refused": 0, "left": 0,
    }  # fmt: skip
    assert len(await place.waiting()) == 3
    asked = await request_operation(place.clients, PURGE, {"queues": ["parsing"]}, ME)
    with pytest.raises(NothingToRestoreError, match="finish it first"):
        await restorable(place.clients, asked.id)
    with pytest.raises(NothingToRestoreError, match="only these can be restored"):
        await restorable(place.clients, first.id)


async def test_an_archive_that_was_touched_leads_nowhere_else_and_holds_nothing_up(place: OpsPlace) -> None:
    await place.failed_events(4, "ValueError", "no")
    purge = await do(place, PURGE)
    journal = Journal(place.clients.blobs, purge.id)
    records = [letter async for letter in journal.archived()]
    records[0]["queue"] = "removal"
    records[1]["message"]["body_kind"] = "annotations"
    records[2]["message"]["body"] = {"$eval": "1"}
    lines = "".join(f"{json.dumps(record)}\n" for record in records)
    await place.clients.blobs.delete(CONTAINER, journal.archive_path)
    await place.clients.blobs.append(CONTAINER, journal.archive_path, lines.encode())
    restored = await do(place, RESTORE, purge=purge.id)
    assert restored.status is AuditStatus.INCOMPLETE
    assert (restored.counts["restored"], restored.counts["refused"], restored.counts["left"]) == (1, 3, 0)
    assert "the purge was not of the queue 'removal'" in (restored.outcome or "")
    assert len(await place.waiting()) == 1
    await place.clients.blobs.append(CONTAINER, journal.archive_path, b"\xff{\n")
    with pytest.raises(JournalError, match="line 5: damaged"):
        await restorable(place.clients, purge.id)


async def test_one_a_selection_and_at_most_so_many(place: OpsPlace) -> None:
    await place.failed_events(6, "ValueError", "no")
    numbers = [letter.sequence_number for letter in await place.dead()]
    assert (await do(place, REQUEUE, sequence_numbers=[numbers[2]])).counts["requeued"] == 1
    assert (await do(place, REQUEUE, sequence_numbers=[numbers[0], numbers[5]])).counts["requeued"] == 2
    assert (await do(place, REQUEUE, limit=1)).counts["requeued"] == 1
    assert [letter.sequence_number for letter in await place.dead()] == [numbers[3], numbers[4]]
    assert (await do(place, REQUEUE, event_types=["JSONParsed"])).counts["planned"] == 0
    assert len(await place.waiting()) == 4


async def test_what_is_dead_lettered_later_is_not_part_of_it(place: OpsPlace) -> None:
    await place.failed_events(2, "ValueError", "no")
    seen = 0

    def step(name: str) -> None:
        nonlocal seen
        seen += name == "planned"

    audit = await request_operation(place.clients, REQUEUE, {"queues": ["parsing"]}, ME)
    stopping = OperationObserver(step=step, stopped=lambda: seen > 0)
    assert (await run_operation(place.clients, audit.id, watch=stopping)).status is AuditStatus.INTERRUPTED
    await place.failed_events(2, "OSError", "later")
    resumed = await run_operation(place.clients, audit.id)
    assert (resumed.status, resumed.counts["requeued"]) == (AuditStatus.SUCCEEDED, 2)
    assert {letter.properties["idempotency_key"] for letter in await place.dead()}
    assert len(await place.dead()) == 2


async def test_a_second_run_that_begins_at_the_same_time_keeps_to_the_first_plan(place: OpsPlace) -> None:
    await place.failed_events(2, "ValueError", "no")
    audit = await request_operation(place.clients, REQUEUE, {"queues": ["parsing"], "limit": 1}, ME)

    class Overtaken(Blobs):
        """Run the operation between this run's look for a plan and its own plan."""

        async def read(self, container: str, path: str) -> AsyncIterator[bytes]:
            try:
                async for piece in super().read(container, path):
                    yield piece
            except DocumentNotFoundError:
                await run_operation(place.clients, audit.id, patience=15)
                raise

    second = replace(place.clients, blobs=Overtaken(place.clients.blobs._client))
    assert (await run_operation(second, audit.id, patience=15)).counts["requeued"] == 1
    assert (len(await place.waiting()), len(await place.dead())) == (1, 1)


async def test_an_operation_that_is_stopped_is_resumed_to_the_same_end(place: OpsPlace) -> None:
    events = await place.failed_events(12, "ValueError", "no")
    done = 0

    def count(completed: int) -> None:
        nonlocal done
        done = completed

    audit = await request_operation(place.clients, REQUEUE, {"queues": ["parsing"]}, ME, rate=40)
    stopped = await run_operation(
        place.clients,
        audit.id,
        watch=OperationObserver(progress=count, stopped=lambda: done >= 5),
        patience=15,
    )
    assert stopped.status is AuditStatus.INTERRUPTED
    assert 5 <= stopped.counts["requeued"] < 12
    assert stopped.counts["left"] == 12 - stopped.counts["requeued"]
    resumed = await run_operation(place.clients, audit.id, patience=15)
    assert (resumed.status, resumed.counts["requeued"]) == (AuditStatus.SUCCEEDED, 12)
    ids = [event.message_id for event in await place.waiting()]
    assert len(ids) == len(set(ids)) == len(events)
    again = await run_operation(place.clients, audit.id)
    assert again.updated_at == resumed.updated_at
    assert len(await place.waiting()) == 12


async def test_it_goes_no_faster_than_asked(place: OpsPlace) -> None:
    await place.failed_events(12, "ValueError", "no")
    clock = SleepClock()
    clients = replace(place.clients, runtime=clock.on(place.clients.runtime))
    started: list[float] = []
    watch = OperationObserver(step=lambda name: started.append(clock.time) if name == "taken" else None)
    audit = await request_operation(clients, REQUEUE, {"queues": ["parsing"]}, ME, rate=8)
    audit = await run_operation(clients, audit.id, watch=watch, patience=15)
    assert audit.counts["requeued"] == 12
    assert started[0] == 0.0
    assert len(started) >= 6  # at most two start at once: the share of a quarter of a second
    # Time passes only while it waits: after the first two, ten more at exactly eight a second.
    assert clock.time == pytest.approx(10 / 8)


async def test_each_operation_leaves_a_record_of_who_did_what_and_how_it_ended(place: OpsPlace) -> None:
    await place.failed_events(1, "ValueError", "no")
    audit = await do(place, REQUEUE, limit=5)
    stored = await find_audit(place.clients.store, audit.id)
    assert (stored.action, stored.actor, stored.via) == ("dlq.requeue", "ada@example.org", "command line")
    assert stored.selection == {"queues": ["parsing"], "limit": 5}
    assert stored.finished_at is not None
    assert stored.finished_at >= stored.started_at


async def test_what_another_receiver_holds_is_waited_for_and_then_moved(place: OpsPlace) -> None:
    await place.failed_events(2, "ValueError", "no")
    waits: list[int] = []
    async with place.clients.bus.dead_letters("parsing") as other:
        (held,) = await other.receive_messages(max_message_count=1, max_wait_time=5)
        operation = asyncio.create_task(do(place, REQUEUE, watch=OperationObserver(waiting=waits.append)))
        while not waits:
            await other.renew_message_lock(held)
            await asyncio.sleep(0.1)
        await other.abandon_message(held)
        audit = await operation
    assert (audit.status, audit.counts["requeued"]) == (AuditStatus.SUCCEEDED, 2)
    assert len(await place.waiting()) == 2


async def test_what_somebody_else_took_meanwhile_is_counted_as_gone(place: OpsPlace) -> None:
    await place.failed_events(2, "ValueError", "no")
    planned = 0

    def step(name: str) -> None:
        nonlocal planned
        planned += name == "planned"

    audit = await request_operation(place.clients, REQUEUE, {"queues": ["parsing"]}, ME)
    await run_operation(
        place.clients, audit.id, watch=OperationObserver(step=step, stopped=lambda: planned > 0)
    )
    async with place.clients.bus.dead_letters("parsing") as other:
        (taken,) = await other.receive_messages(max_message_count=1, max_wait_time=5)
        await other.complete_message(taken)
    ended = await run_operation(place.clients, audit.id, patience=15)
    assert ended.counts == {"planned": 2, "requeued": 1, "gone": 1, "refused": 0, "left": 0}
    assert ended.outcome == "1 no longer existed"


async def test_a_message_that_cannot_be_sent_again_stays_a_dead_letter(place: OpsPlace) -> None:
    limit = 256 * 1024
    large = ServiceBusMessage(b"x" * (limit - 150), message_id="large")
    await place.dead_letter([large])
    await place.failed_events(2, "ValueError", "no")
    audit = await do(place, REQUEUE)
    assert (audit.status, audit.counts["requeued"], audit.counts["refused"]) == (AuditStatus.INCOMPLETE, 2, 1)
    assert [letter.message_id for letter in await place.dead()] == ["large"]


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("parsing", "parsing"),
        ("parsing.failed", "parsing"),
        ("Parsing/$DeadLetterQueue", "parsing"),
        ("archives.failed", "parsing"),
        ("embedding.generation.failed", "embedding"),
        ("embeddings.failed", "embedding"),
        ("archive.ingestion.failed", "ingestion"),
        ("summarization.failed", "summarization"),
    ],
)
@pytest.mark.requirement("R-803")
async def test_a_queue_goes_by_the_names_of_the_specification(name: str, queue: str) -> None:
    assert queue_named(name) == queue


async def test_a_queue_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UnknownQueueError, match="it is one of ingestion, parsing"):
        queue_named("parser")
