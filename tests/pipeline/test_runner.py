"""The stage runner with a toy stage on the whole local cloud."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusReceiver
from opentelemetry import propagate
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_trace_id, get_current_span
from pydantic import SecretStr

from localcloud.testing import Faults
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.azure.servicebus.bus import to_message
from shared.azure.telemetry.metrics import Metrics
from shared.core.errors import PermanentError, ServiceSilentError, TransientError
from shared.core.ids import invalid_key
from shared.core.runtime import Runtime
from shared.models.queries.named_query import NamedQuery
from shared.models.records import FailureRecord
from shared.models.threads import Message
from shared.pipeline.runner import StageRunner
from stages.registration import PreviewSettlement, delivery_from_sdk
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.index_rows import indexed
from tests.support.proxy import faulty_proxy
from tests.support.services import RunningService
from tests.support.toy_stages import RAW, Bench, Crash, Toy, bench, collect_dropped_sockets

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[Bench]:
    async with bench(cloud.settings(bus_service)) as ready:
        yield ready


@pytest.fixture
def place(shared_place: Bench) -> Bench:
    return shared_place.fresh()


@pytest.fixture(autouse=True)
def no_faults_left(cloud: AppCloud, bus_service: RunningService) -> Iterator[None]:
    yield
    for service in (cloud.cosmos, cloud.search, bus_service):
        Faults(service).plan()
    Faults(cloud.cosmos).lag(0)


async def chunks_stored(place: Bench) -> list[str]:
    """Return the stored chunks of the toy, without the test's tag."""
    text = "SELECT c.id FROM c WHERE ENDSWITH(c.id, @tag) ORDER BY c.id"
    query = NamedQuery("tagged", "chunks", text)
    found = place.clients.store.query(query, Session(), tag=f"-{place.tag}")
    return [document["id"].rpartition("-")[0] async for document in found]


async def failures_of(place: Bench, key: str, attempt: int = 1) -> FailureRecord | None:
    return await place.clients.store.find(FailureRecord, f"{key}-{attempt}", Session(), partition="chunking")


async def run_once(place: Bench, toy: Toy, **options: Any) -> Exception | None:
    return await place.deliver(place.runner(toy, **options))


@pytest.mark.requirement("R-1101", "R-1105")
async def test_a_stage_loads_works_writes_and_announces(place: Bench) -> None:
    session = await place.store_messages("m1", "m2")
    await place.publish(place.parsed("m1", "m2"), session)
    assert await run_once(place, Toy()) is None
    assert await chunks_stored(place) == ["c-m1", "c-m2"]
    assert (await indexed(place.clients.index, place.name("c-m1")) or {})[
        "text"
    ] == f"body of {place.name('m1')}"
    (announced,) = await place.take_all("embedding", 1)
    assert announced.data.chunk_ids == [place.name("c-m1"), place.name("c-m2")]
    assert set(announced.session) == {"messages", "chunks"}
    assert place.slept == []


@pytest.mark.requirement("R-604", "R-1105")
async def test_idempotent_processing(place: Bench) -> None:
    """The same event twice causes no error, no duplicate, and one announcement."""
    session = await place.store_messages("m1", "m2")
    event = await place.publish(place.parsed("m1", "m2"), session)
    assert await run_once(place, Toy()) is None
    await place.clients.bus.send_to_queue(
        "chunking", [ServiceBusMessage(event.to_json(), message_id=place.name("again"))]
    )
    assert await run_once(place, Toy()) is None
    assert await chunks_stored(place) == ["c-m1", "c-m2"]
    assert len(await place.take_all("embedding", 1)) == 1


async def test_events_of_an_archive_that_came_again_are_no_duplicates_of_those_before(place: Bench) -> None:
    """Otherwise the broker drops them as duplicates of the events before the deletion."""
    session = await place.store_messages("m1")
    for life in ("", "2026-01-02", "2026-01-02", "2026-01-03"):
        event = event_of(place.parsed("m1"), session=session.tokens()).model_copy(update={"life": life})
        await place.clients.bus.publish([event])
    for _ in range(3):
        assert await run_once(place, Toy()) is None
    assert [event.life for event in await place.take_all("embedding", 3)] == ["", "2026-01-02", "2026-01-03"]


@pytest.mark.requirement("R-604")
async def test_publishing_the_same_event_twice_has_one_effect(place: Bench) -> None:
    session = await place.store_messages("m1")
    await place.publish(place.parsed("m1"), session)
    await place.publish(place.parsed("m1"), session)
    assert len(await place.take_all("chunking", 1)) == 1


@pytest.mark.requirement("R-604")
async def test_two_runners_on_the_same_message_at_once_have_one_effect(place: Bench) -> None:
    session = await place.store_messages("m1", "m2")
    event = await place.publish(place.parsed("m1", "m2"), session)
    receiver = await place.receiver()
    (received,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
    await asyncio.gather(*(place.runner(Toy()).run(delivery_from_sdk(received)) for _ in range(2)))
    await receiver.complete_message(received)
    assert await chunks_stored(place) == ["c-m1", "c-m2"]
    (announced,) = await place.take_all("embedding", 1)
    assert announced.data.chunk_count == 2
    assert event.data.message_keys == announced.data.message_keys


@pytest.mark.requirement("R-611")
async def test_with_the_token_a_reader_sees_the_write_through_a_lagging_replica(
    place: Bench, cloud: AppCloud
) -> None:
    Faults(cloud.cosmos).lag(30)
    session = await place.store_messages("m1")
    await place.publish(place.parsed("m1"), session)
    toy = Toy()
    assert await run_once(place, toy) is None
    assert len(toy.works) == 1, "the token alone must do: no retries"
    assert len(await place.take_all("embedding", 1)) == 1


@pytest.mark.requirement("R-611", "R-701")
async def test_without_the_token_the_race_is_real_and_won_by_retrying(
    place: Bench, cloud: AppCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This is another process, which has not seen the write: its own client remembers no session, and its
    # store has no token of the attempt that the runner counts.
    monkeypatch.setattr(Store, "_token", lambda _store, container, session: session.token(container))
    other = await Clients.connect(place.clients.settings)
    try:
        await other.store.find(Message, "warm-up", Session())
        toy = Toy(withhold_session=True)
        runner = StageRunner(toy.stage(), other)
        Faults(cloud.cosmos).lag(600)
        await place.publish(place.parsed("m1"), await place.store_messages("m1"))
        assert await place.deliver_once(runner) is None
        Faults(cloud.cosmos).lag(0)
        assert await place.deliver(runner) is None
    finally:
        await other.close()
    assert len(toy.works) == 2, "the first read must miss: that is the race"
    assert len(await place.take_all("embedding", 1)) == 1


def fail_itself(step: str) -> None:
    """Raise a transient error that no dependency explains."""
    if step == "loaded":
        raise TransientError("others write the same")


async def test_an_outage_costs_a_document_no_attempt(place: Bench, cloud: AppCloud) -> None:
    session = await place.store_messages("m1")
    event = await place.publish(place.parsed("m1"), session)
    Faults(cloud.search).plan({**status(503, "docs.index"), "times": 18})
    assert await run_once(place, Toy()) is None
    assert Faults(cloud.search).hits == 18
    assert place.retries == list(range(len(place.retries)))
    assert len(place.retries) > 4, "more than a failure of its own may have"
    assert await failures_of(place, event.idempotency_key()) is None
    stored = await place.clients.store.read(Message, place.name("m1"), Session())
    assert (stored.attemptCount, stored.lastError) == (1, None)
    assert len(await place.take_all("embedding", 1)) == 1


@pytest.mark.requirement("R-106", "R-606", "R-712", "R-1105")
async def test_event_handler_reraises_for_requeue(place: Bench) -> None:
    """A lasting transient failure is recorded, and the sweep's next attempt succeeds."""
    session = await place.store_messages("m1")
    event = await place.publish(place.parsed("m1"), session)
    error = await run_once(place, Toy(at_step=fail_itself))
    assert error is not None
    assert (place.retries, place.slept) == ([0, 1, 2, 3, 3], []), "retries wait in the broker"
    failure = await failures_of(place, event.idempotency_key())
    assert failure is not None
    assert (failure.error_kind, failure.abandoned_reason, failure.attempt_count) == (
        "transient",
        "max_attempts_exceeded",
        4,
    )
    (failed,) = await place.take_all("failures", 1)
    assert (failed.event_type, failed.data.retry_count) == ("ChunkingFailed", 4)
    stored = await place.clients.store.read(Message, place.name("m1"), Session())
    assert (stored.attemptCount, stored.lastError is not None) == (1, True)
    toy = Toy()
    assert await run_once(place, toy) is not None, "it was given up: only the sweep tries again"
    assert toy.works == []
    await place.take_all("chunking", 1)
    await place.publish(place.parsed("m1"), session, attempt=2)
    assert await run_once(place, toy) is None
    assert len(await place.take_all("embedding", 1)) == 1


async def test_the_retries_of_an_event_count_on_over_a_crash(place: Bench) -> None:
    """The number travels with the message, so a delivery after a crash continues the count."""
    await place.publish(place.parsed("missing"))
    for _ in range(3):
        assert await place.deliver_once(place.runner(Toy())) is None

    def die(_step: str) -> None:
        raise Crash

    with pytest.raises(Crash):
        await place.deliver_once(place.runner(Toy(at_step=die)))
    toy = Toy()
    assert await run_once(place, toy) is not None
    assert place.retries == [0, 1, 2, 3, *range(3, 9), 8]
    assert len(toy.works) == 6
    await place.take_all("failures", 1)
    await place.take_all("chunking", 1)


@pytest.mark.requirement("R-913")
async def test_of_two_copies_of_a_retry_one_is_completed_without_work(
    place: Bench, counted: tuple[Metrics, InMemoryMetricReader]
) -> None:
    """A crash between scheduling a retry and completing the message leaves both, and each schedules a copy."""
    metrics, reader = counted
    await place.publish(place.parsed("late"))
    receiver = await place.receiver()
    (received,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
    for _ in range(2):
        await place.runner(Toy()).run(delivery_from_sdk(received))
    await receiver.complete_message(received)
    await place.store_messages("late")
    toys = [Toy(), Toy()]
    for toy in toys:
        assert await place.deliver_once(place.runner(toy, metrics=metrics)) is None
    assert [len(toy.works) for toy in toys] == [1, 0]
    seen = points(reader)["duplicates_detected_total"]
    assert seen == [({"service": "chunking", "kind": "event"}, 1)]
    assert place.retries == [1, 1]
    assert len(await place.take_all("embedding", 1)) == 1


async def test_where_settlement_is_on_a_transient_failure_waits_in_the_broker(
    place: Bench, cloud: AppCloud
) -> None:
    await place.publish(place.parsed("m1"), await place.store_messages("m1"))
    Faults(cloud.search).plan({**status(503, "docs.index"), "times": 3})
    await run_settling(place, Toy())
    assert await place.waits_for_retry()
    await run_settling(place, Toy())
    assert await place.take_all("chunking", 0) == []
    assert len(await place.take_all("embedding", 1)) == 1


def status(code: int, operation: str) -> dict[str, Any]:
    return {"kind": "status", "operation": operation, "args": {"status": code}}


TRANSIENT: list[tuple[str, dict[str, Any]]] = [
    *(("cosmos", status(code, "docs.batch")) for code in (408, 410, 429, 449, 500, 503)),
    *(("cosmos", status(code, "docs.query")) for code in (408, 429, 503)),
    ("cosmos", {"kind": "reset_before", "operation": "docs.batch"}),
    ("cosmos", {"kind": "reset_after", "operation": "docs.batch"}),
    ("search", status(429, "docs.index")),
    ("search", status(503, "docs.index")),
    ("search", {"kind": "partial", "operation": "docs.index"}),
    ("search", {"kind": "reset", "operation": "docs.index"}),
    ("bus", {"kind": "server-busy", "operation": "send"}),
    ("bus", {"kind": "drop", "operation": "send"}),
    ("bus", {"kind": "lose-ack", "operation": "send"}),
]


# The SDK does not close the sockets of dropped connections.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("service", "fault"), TRANSIENT, ids=str)
@pytest.mark.requirement("R-1106")
async def test_a_transient_fault_in_any_service_leaves_no_trace(
    place: Bench, cloud: AppCloud, bus_service: RunningService, service: str, fault: dict[str, Any]
) -> None:
    session = await place.store_messages("m1", "m2")
    await place.publish(place.parsed("m1", "m2"), session)
    target = {"cosmos": cloud.cosmos, "search": cloud.search, "bus": bus_service}[service]
    Faults(target).plan({"times": 2, **fault})
    assert await run_once(place, Toy()) is None
    assert Faults(target).hits > 0, "the fault was never met: the test shows nothing"
    assert await chunks_stored(place) == ["c-m1", "c-m2"]
    assert len(await place.take_all("embedding", 1)) == 1
    assert await place.take_all("failures", 0) == []
    collect_dropped_sockets()


SHOWN = ("service_name", "error_type", "last_error", "attempt_count", "timestamp")


@pytest.mark.requirement("R-106", "R-802", "R-906")
async def test_a_permanent_failure_is_told_once_and_its_dead_letter_names_the_cause(
    place: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    session = await place.store_messages("m1")
    event = await place.publish(place.parsed("m1"), session)

    def refuse(step: str) -> None:
        if step == "loaded":
            raise PermanentError("this message cannot be chunked")

    toy = Toy(at_step=refuse)
    for _ in range(10):
        assert await run_once(place, toy) is not None
    assert len(toy.works) == 1
    assert place.slept == []
    failure = await failures_of(place, event.idempotency_key())
    assert failure is not None
    assert failure.error_kind == "permanent"
    assert failure.original_event == json.loads(event.to_json())
    assert (failure.service_name, failure.error_type) == ("chunking", "PermanentError")
    assert failure.message_id == event.message_id
    assert len(await place.take_all("failures", 1)) == 1
    assert [line.levelname for line in caplog.records if line.levelno > logging.INFO] == ["ERROR"]
    (dead,) = await place.clients.bus.peek_dead_letters("chunking")
    assert dead.dead_letter_reason == "MaxDeliveryCountExceeded"
    shown = {name: (dead.application_properties or {})[f"failure_{name}".encode()] for name in SHOWN}
    assert shown == {
        "service_name": b"chunking",
        "error_type": b"PermanentError",
        "last_error": b"PermanentError: this message cannot be chunked",
        "attempt_count": 1,
        "timestamp": failure.timestamp.isoformat().encode(),
    }
    assert b"".join(dead.body) == event.to_json()
    await place.empty_dead_letters()


async def test_an_event_that_an_operator_sends_again_with_all_its_properties_is_tried(place: Bench) -> None:
    """The portal resends the same message with the reason of its dead letter among its properties."""
    event = await place.publish(place.parsed("m1"), await place.store_messages("m1"))

    def refuse(_step: str) -> None:
        raise PermanentError("this message cannot be chunked")

    for _ in range(10):
        assert await run_once(place, Toy(at_step=refuse)) is not None
    (dead,) = await place.clients.bus.peek_dead_letters("chunking")
    again = ServiceBusMessage(b"".join(dead.body), application_properties=dead.application_properties)
    await place.empty_dead_letters()
    await place.take_all("failures", 1)
    await place.clients.bus.send_to_queue("chunking", [again])
    toy = Toy()
    assert await run_once(place, toy) is None
    assert toy.works == [event.event_id]
    await place.take_all("embedding", 1)


@pytest.mark.parametrize(
    ("body", "error_type"),
    [
        (b"not json", "InvalidEventError"),
        (b'{"event_type": "Gossip", "version": "1.0"}', "InvalidEventError"),
    ],
)
@pytest.mark.requirement("R-607")
async def test_a_message_that_is_no_event_is_recorded_and_set_aside(
    place: Bench, body: bytes, error_type: str
) -> None:
    await place.clients.bus.send_to_queue("chunking", [ServiceBusMessage(body, message_id=place.name("bad"))])
    toy = Toy()
    for _ in range(10):
        assert await run_once(place, toy) is not None
    (dead,) = await place.clients.bus.peek_dead_letters("chunking")
    assert b"".join(dead.body) == body
    assert toy.works == []
    failure = await failures_of(place, invalid_key("chunking", body))
    assert failure is not None
    assert failure.error_type == error_type
    await place.empty_dead_letters()


async def test_an_event_of_a_later_version_waits_for_the_app_that_knows_it(place: Bench) -> None:
    """While two versions run at once, either may get the event. It fails only after a day."""
    event = event_of(place.parsed("later"))
    body = event.to_json().replace(b'"version":"1.0"', b'"version":"2.0"')
    assert body != event.to_json()
    message = ServiceBusMessage(body, message_id=place.name("later"), application_properties={"a": "b"})
    await place.clients.bus.send_to_queue("chunking", [message])
    toy = Toy()
    assert await place.deliver_once(place.runner(toy)) is None
    (copy,) = await place.clients.bus.peek("chunking")
    assert (b"".join(copy.body), (copy.application_properties or {}).get(b"a")) == (body, b"b")
    assert copy.scheduled_enqueue_time_utc is not None
    assert copy.scheduled_enqueue_time_utc > datetime.now(UTC) + timedelta(seconds=50)
    assert toy.works == []
    assert await place.clients.bus.peek_dead_letters("chunking") == []
    a_day_later = datetime.now(UTC) + timedelta(days=1, minutes=1)
    runner = place.runner(toy, now=lambda: a_day_later)
    await runner.run(delivery_from_sdk(copy))
    await place.cancel_scheduled("chunking", copy)
    (given_up,) = await place.clients.bus.peek("chunking")
    assert (given_up.application_properties or {})[b"failure_abandoned_reason"] == b"ttl_exceeded"
    for _ in range(10):
        assert await run_once(place, toy) is not None
    await place.empty_dead_letters()


@pytest.mark.requirement("R-703", "R-801")
async def test_a_race_that_is_never_won_is_dead_lettered_with_its_reason(place: Bench) -> None:
    event = await place.publish(place.parsed("missing"))
    toy = Toy()
    assert await run_once(place, toy) is not None
    assert (len(toy.works), place.retries) == (9, [*range(9), 8])
    failure = await failures_of(place, event.idempotency_key())
    assert failure is not None
    assert (failure.error_type, failure.attempt_count) == ("DocumentNotFoundError", 9)
    assert failure.abandoned_reason == "max_attempts_exceeded"
    await place.take_all("failures", 1)
    await place.take_all("chunking", 1)


@pytest.mark.requirement("R-905")
async def test_retries_are_logged_at_the_levels_of_the_specification(
    place: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    event = await place.publish(place.parsed("late"))
    for _ in range(8):
        assert await place.deliver_once(place.runner(Toy())) is None
    await place.store_messages("late")
    assert await run_once(place, Toy()) is None
    key = event.idempotency_key("chunking")
    levels = {record.message.split(" (")[0]: record.levelname for record in caplog.records}
    assert levels[f"Retry attempt 3/8 for event with idempotency key: {key}"] == "INFO"
    assert levels[f"Event {key} is at its last retry of 8"] == "WARNING"
    assert levels[f"Event {key} processed successfully after 8 retry attempts"] == "INFO"
    await place.take_all("embedding", 1)


@pytest.mark.requirement("R-701")
async def test_an_error_that_is_no_race_is_not_waited_for_as_one(
    place: Bench, cloud: AppCloud, caplog: pytest.LogCaptureFixture
) -> None:
    await place.publish(place.parsed("m1"), await place.store_messages("m1"))
    Faults(cloud.search).plan({**status(503, "docs.index"), "times": None})
    assert await place.deliver_once(place.runner(Toy())) is None
    Faults(cloud.search).plan()
    assert await run_once(place, Toy()) is None
    assert "failed (attempt 1)" in caplog.text
    assert "Retry attempt" not in caplog.text
    await place.take_all("embedding", 1)


class Actions:
    """The actions of the preview binding, which settle over the SDK instead of the host's gRPC."""

    def __init__(self, receiver: ServiceBusReceiver, loop: asyncio.AbstractEventLoop) -> None:
        self._receiver = receiver
        self._loop = loop

    def complete(self, message: ServiceBusReceivedMessage) -> None:
        self._wait(self._receiver.complete_message(message))

    def deadletter(
        self, message: ServiceBusReceivedMessage, deadletter_reason: str, deadletter_error_description: str
    ) -> None:
        self._wait(
            self._receiver.dead_letter_message(
                message, reason=deadletter_reason, error_description=deadletter_error_description
            )
        )

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


async def run_settling(place: Bench, toy: Toy) -> None:
    """Run one delivery with settlement enabled: the host leaves the message to the stage."""
    receiver = await place.receiver()
    (received,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
    settlement = PreviewSettlement(received, Actions(receiver, asyncio.get_running_loop()))
    await place.runner(toy).run(delivery_from_sdk(received, settlement))


@pytest.mark.requirement("R-801")
async def test_where_settlement_is_on_a_permanent_failure_is_dead_lettered_at_once(place: Bench) -> None:
    await place.publish(place.parsed("m1"), await place.store_messages("m1"))

    def refuse(_step: str) -> None:
        raise TypeError("a bug")

    await run_settling(place, Toy(at_step=refuse))
    (dead,) = await place.clients.bus.peek_dead_letters("chunking")
    assert dead.dead_letter_reason == "TypeError: non_retryable_error"
    assert dead.delivery_count == 0
    payload = json.loads(dead.dead_letter_error_description or "")
    assert (payload["service_name"], payload["error_type"], payload["attempt_count"]) == (
        "chunking",
        "TypeError",
        1,
    )
    await place.take_all("failures", 1)
    await place.empty_dead_letters()


async def test_where_settlement_is_on_success_completes_the_message(place: Bench) -> None:
    await place.publish(place.parsed("m1"), await place.store_messages("m1"))
    await run_settling(place, Toy())
    assert await place.take_all("chunking", 0) == []
    assert len(await place.take_all("embedding", 1)) == 1


STEPS = ["started", "loaded", "stored", "indexed", "uploaded", "announced"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.requirement("R-602", "R-610")
async def test_a_crash_between_any_two_steps_loses_nothing_and_doubles_nothing(
    place: Bench, step: str
) -> None:
    session = await place.store_messages("m1", "m2")
    await place.publish(place.parsed("m1", "m2"), session)

    def die(reached: str) -> None:
        if reached == step:
            raise Crash

    with pytest.raises(Crash):
        await run_once(place, Toy(at_step=die))
    assert await run_once(place, Toy()) is None
    assert await chunks_stored(place) == ["c-m1", "c-m2"]
    assert (await indexed(place.clients.index, place.name("c-m2"))) is not None
    blob = place.clients.blobs.read(RAW, f"{place.name('c-m1')}.txt")
    assert b"".join([piece async for piece in blob]).startswith(b"body of m1")
    assert len(await place.take_all("embedding", 1)) == 1


@pytest.mark.requirement("R-906")
async def test_when_even_the_record_cannot_be_stored_the_message_stays_with_the_broker(
    place: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = await place.store_messages("m1")
    event = await place.publish(place.parsed("m1"), session)
    create = place.clients.store.create

    async def refuse_records(document: Any, session: Session) -> Any:
        if isinstance(document, FailureRecord):
            raise ServiceSilentError("no answer", "Cosmos DB")
        return await create(document, session)

    monkeypatch.setattr(place.clients.store, "create", refuse_records)
    assert await run_once(place, Toy(at_step=fail_itself)) is not None
    assert "could not store the failure record" in caplog.text
    monkeypatch.undo()
    assert await failures_of(place, event.idempotency_key()) is None
    assert await run_once(place, Toy()) is None
    assert len(await place.take_all("embedding", 1)) == 1
    await place.take_all("failures", 1)


@pytest.mark.requirement("R-722")
async def test_an_older_attempt_never_lowers_the_count(place: Bench) -> None:
    session = await place.store_messages("m1")

    def refuse(_step: str) -> None:
        raise PermanentError("no")

    for attempt, expected in ((3, 3), (2, 3)):
        await place.publish(place.parsed("m1"), session, attempt)
        assert await run_once(place, Toy(at_step=refuse)) is not None
        await place.take_all("chunking", 1)
        stored = await place.clients.store.read(Message, place.name("m1"), Session())
        assert (stored.attemptCount, stored.lastError) == (expected, "PermanentError: no")
    failures = [
        await failures_of(place, event_of(place.parsed("m1")).idempotency_key(), attempt)
        for attempt in (2, 3)
    ]
    assert all(failures)
    await place.take_all("failures", 2)


@pytest.fixture
def counted() -> tuple[Metrics, InMemoryMetricReader]:
    reader = InMemoryMetricReader()
    return Metrics.on(MeterProvider([reader]).get_meter("test")), reader


def points(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], Any]]]:
    """Return every recorded metric: its attributes with its sum."""
    data = reader.get_metrics_data()
    return {
        metric.name: [
            (dict(point.attributes or {}), getattr(point, "value", None) or getattr(point, "sum", 0.0))
            for point in metric.data.data_points
        ]
        for resource in (data.resource_metrics if data else [])
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


@pytest.mark.requirement("R-902")
async def test_success_and_failure_are_counted_by_the_names_of_the_specification(
    place: Bench, counted: tuple[Metrics, InMemoryMetricReader]
) -> None:
    metrics, reader = counted
    await place.publish(place.parsed("m1"), await place.store_messages("m1"))
    assert await run_once(place, Toy(), metrics=metrics) is None
    await place.publish(place.parsed("gone"))
    assert await run_once(place, Toy(), metrics=metrics) is not None
    seen = points(reader)
    assert seen["events_processed_total"] == [({"service": "chunking", "event_type": "JSONParsed"}, 1)]
    assert seen["failures_total"] == [({"service": "chunking", "error_type": "DocumentNotFoundError"}, 1)]
    assert seen["event_retry_dlq_total"] == [({"service": "chunking", "reason": "max_attempts"}, 1)]
    assert seen["event_retry_attempt_count"] == [({"service": "chunking"}, 8)]
    assert seen["processing_duration_seconds"][0][0] == {"service": "chunking"}
    await place.take_all("embedding", 1)
    await place.take_all("failures", 1)
    await place.take_all("chunking", 1)


@pytest.mark.requirement("R-903")
async def test_a_race_that_was_won_is_counted_with_its_attempts(
    place: Bench, counted: tuple[Metrics, InMemoryMetricReader]
) -> None:
    metrics, reader = counted
    await place.publish(place.parsed("late"))
    for _ in range(3):
        assert await place.deliver_once(place.runner(Toy(), metrics=metrics)) is None
    await place.store_messages("late")
    assert await run_once(place, Toy(), metrics=metrics) is None
    seen = points(reader)
    assert seen["event_retry_success_total"] == [({"service": "chunking", "attempt": "3"}, 1)]
    once = {"service": "chunking", "error_type": "DocumentNotFoundError"}
    assert seen["events_retried_total"] == [(once, 1)]  # one event, however many retries
    assert seen["event_retry_latency_seconds"][0][0] == {"service": "chunking"}
    await place.take_all("embedding", 1)


async def test_one_trace_runs_from_the_publisher_into_the_stage_and_on(place: Bench) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("test").start_as_current_span("upload") as upload:
        event = event_of(place.parsed("m1"))
        carried = dict(to_message(event).application_properties or {})
        assert str(carried["traceparent"]).split("-")[1] == format_trace_id(
            upload.get_span_context().trace_id
        )
    parent = propagate.extract({str(name): str(value) for name, value in carried.items()})
    assert get_current_span(parent).get_span_context().trace_id == upload.get_span_context().trace_id


@pytest.mark.parametrize("kind", ["reset", "unavailable"])
async def test_a_transient_fault_in_blob_storage_leaves_no_trace(
    place: Bench, cloud: AppCloud, kind: str
) -> None:
    async with faulty_proxy(cloud.blob_endpoint) as proxy:
        through = cloud.through(proxy.address).storage_connection
        settings = place.clients.settings.model_copy(update={"STORAGE_CONNECTION": SecretStr(through)})
        clients = await Clients.connect(settings)
        try:
            await place.publish(place.parsed("m1", "m2"), await place.store_messages("m1", "m2"))
            proxy.fail_next(kind, 4)
            runner = StageRunner(Toy().stage(), clients, Runtime(sleep=place.sleep))
            assert await place.deliver(runner) is None
            assert proxy.hits == 4
        finally:
            await clients.close()
    assert await chunks_stored(place) == ["c-m1", "c-m2"]
    assert len(await place.take_all("embedding", 1)) == 1
    assert await place.take_all("failures", 0) == []
