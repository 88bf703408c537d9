"""Every dead letter has a cause, for every queue and any content."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from azure.core.exceptions import ServiceRequestError
from azure.servicebus import ServiceBusMessage

from shared.azure.classify import classify
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.bus import to_message
from shared.core.errors import PermanentError
from shared.core.ids import failure_id, invalid_key
from shared.models.records import FailureRecord
from shared.operations.deadletters.diagnosis import DeadLetterSelection, choose
from shared.pipeline.delivery import Delivery
from shared.pipeline.failures import error_hash
from shared.pipeline.retry import OUTAGE_RETRIES
from shared.pipeline.runner import StageFailedError, run_request
from shared.pipeline.topology import INGESTION, OPERATIONS, REMOVAL, QueueRow
from stages.registration import delivery_from_sdk
from tests.ops.environment import OpsPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROWS = (INGESTION, OPERATIONS)  # all five queues share this code, and opening links to each takes seconds


def failing(error: Exception) -> Callable[[], Awaitable[None]]:
    async def work() -> None:
        raise error

    return work


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_a_request_that_is_given_up_becomes_a_dead_letter_that_names_its_cause(
    place: OpsPlace, row: QueueRow
) -> None:
    body = place.bench.name(f'{{"asked": "{row.name}"}}').encode()
    await run_request(row, Delivery(body, "m1"), place.clients, failing(PermanentError("it never can")))
    receiver = await place.bench.receiver(row.name)
    for _ in range(row.max_deliveries):
        (copy,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
        with pytest.raises(StageFailedError, match=r"^PermanentError: non_retryable_error$"):
            await run_request(row, delivery_from_sdk(copy), place.clients, failing(AssertionError("worked")))
        await receiver.abandon_message(copy)
    found = await choose(place.clients, DeadLetterSelection(queues=[row.name]))
    ((letter, cause),) = [(it.dead_letter, it.cause) for it in found if it.dead_letter.copy.data() == body]
    assert (cause.error_type, cause.error) == ("PermanentError", "PermanentError: it never can")
    assert letter.properties["failure_last_error"] == "PermanentError: it never can"
    assert (letter.properties["failure_service_name"], letter.reason) == (
        row.name,
        "MaxDeliveryCountExceeded",
    )
    record = await place.clients.store.read(FailureRecord, cause.failure_id, Session(), partition=row.name)
    assert (record.delivery_count, record.abandoned_reason) == (1, "non_retryable_error")
    place.empty(row.name)


async def test_a_request_waits_in_the_broker_for_what_may_pass_and_its_copies_count_on(
    place: OpsPlace,
) -> None:
    away = failing(ServiceRequestError("no answer"))
    delivery = Delivery(b'{"operation_id": "x"}', place.bench.name("m"), properties={"of": "mine"})
    for number in range(1, 3):
        before = datetime.now(UTC)
        await run_request(OPERATIONS, delivery, place.clients, away)
        (copy,) = await place.waiting("operations")
        again = delivery_from_sdk(copy)
        assert again.body == delivery.body
        assert (again.properties["retry"], again.properties["of"]) == (number, "mine")
        assert (again.message_id or "").startswith(f"{place.bench.name('m')}-copy-")
        assert len(again.message_id or "") < 64  # it does not grow from copy to copy
        due = copy.scheduled_enqueue_time_utc
        assert due is not None
        assert due - before > timedelta(seconds=4 * 2 ** (number - 1))
        await place.bench.cancel_scheduled("operations", copy)
        delivery = again


async def test_a_request_that_met_an_outage_for_days_is_given_up_on_record(place: OpsPlace) -> None:
    tried: dict[str, Any] = {
        "retry": OUTAGE_RETRIES, "retry_races": 0, "retry_backoffs": OUTAGE_RETRIES,
        "retry_outages": OUTAGE_RETRIES, "retry_since": "2026-01-01T00:00:00+00:00", "retry_chain": "c",
    }  # fmt: skip
    delivery = Delivery(place.bench.name("x").encode(), "m", properties=tried)
    await run_request(REMOVAL, delivery, place.clients, failing(ServiceRequestError("no answer")))
    id_ = failure_id(invalid_key("removal", delivery.body), 1)
    record = await place.clients.store.read(FailureRecord, id_, Session(), partition="removal")
    assert (record.attempt_count, record.abandoned_reason) == (OUTAGE_RETRIES + 1, "max_attempts_exceeded")
    place.empty("removal")


async def test_an_event_without_our_properties_is_joined_with_its_record_by_what_it_is_about(
    place: OpsPlace,
) -> None:
    event = place.event("bare")
    await place.fail(event, "UnreadableArchiveError", "no message begins here")
    message = to_message(event)
    message.application_properties = {}
    await place.dead_letter([message])
    (found,) = await choose(place.clients, DeadLetterSelection(queues=["parsing"]))
    assert found.cause.error_type == "UnreadableArchiveError"


async def test_where_nothing_of_ours_saw_the_failure_the_cause_says_so(place: OpsPlace) -> None:
    await place.dead_letter([ServiceBusMessage(b"x")], description="Not consumed after 10 attempts.")
    await place.dead_letter([ServiceBusMessage(b"y")], reason="TTLExpiredException", description="Expired.")
    crashed, expired = await choose(place.clients, DeadLetterSelection(queues=["parsing"]))
    assert crashed.cause.error.startswith(
        "Not consumed after 10 attempts. Each delivery ended before its failure"
    )
    assert expired.cause.error == "Expired."


async def test_a_cause_without_a_record_is_read_from_the_dead_letter_itself(place: OpsPlace) -> None:
    delivery = Delivery(place.bench.name("x").encode(), "m")
    await run_request(OPERATIONS, delivery, place.clients, failing(ValueError("no")))
    (copy,) = await place.waiting("operations")
    properties: dict[str | bytes, Any] = dict(delivery_from_sdk(copy).properties.items())
    await place.dead_letter([ServiceBusMessage(b"unrecorded", application_properties=properties)])
    (found,) = await choose(place.clients, DeadLetterSelection(queues=["parsing"]))
    assert (found.cause.error_type, found.cause.error) == ("ValueError", "ValueError: no")
    assert found.cause.error_hash == error_hash("parsing", classify(ValueError("no")))
    place.empty("operations")
