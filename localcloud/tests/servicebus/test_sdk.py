"""The real synchronous Python SDK, with every feature of a queue."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from azure.servicebus import (
    AutoLockRenewer,
    ServiceBusClient,
    ServiceBusMessage,
    ServiceBusMessageState,
    ServiceBusReceivedMessage,
    ServiceBusReceiveMode,
    ServiceBusReceiver,
    ServiceBusSender,
)
from azure.servicebus.amqp import AmqpAnnotatedMessage
from azure.servicebus.exceptions import (
    MessageLockLostError,
    MessageNotFoundError,
    MessageSizeExceededError,
    MessagingEntityNotFoundError,
    ServiceBusAuthenticationError,
    ServiceBusError,
)

from tests.servicebus.conftest import Bus
from tests.servicebus.sdk import bodies, eventually, receive, receive_one
from tests.support.sdk_pace import with_pauses


@pytest.fixture(scope="module", autouse=True)
def sdk_as_it_comes(sdk_without_pauses: None) -> Iterator[None]:
    """Restore the SDK's pauses, because these tests show its own behavior."""
    with pytest.MonkeyPatch.context() as patch:
        with_pauses(patch)
        yield


@pytest.fixture
def opened(client: ServiceBusClient) -> Iterator[Callable[..., ServiceBusReceiver]]:
    """A function that opens receivers, which are closed after the test."""
    receivers = []

    def open_receiver(queue: str, **options: Any) -> ServiceBusReceiver:
        receivers.append(client.get_queue_receiver(queue, **options))
        return receivers[-1]

    yield open_receiver
    for receiver in receivers:
        receiver.close()


def send_to(client: ServiceBusClient, queue: str, *messages: ServiceBusMessage) -> None:
    with client.get_queue_sender(queue) as sender:
        sender.send_messages(list(messages))


def test_a_message_arrives_with_everything_its_sender_wrote(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    moment = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
    properties = {
        "text": "grün",
        "whole": 7,
        "real": 0.5,
        "flag": True,
        "id": uuid4(),
        "when": moment,
    }
    sender.send_messages(
        ServiceBusMessage(
            b"\x00binary\xff",
            message_id="m-1",
            subject="subject",
            correlation_id="c-1",
            content_type="application/json",
            reply_to="somewhere",
            reply_to_session_id="rs",
            to="there",
            session_id="s-1",
            partition_key="s-1",
            time_to_live=timedelta(minutes=10),
            application_properties=properties,  # type: ignore[arg-type]  # the docs use str keys
        )
    )
    before = datetime.now(UTC)
    message = receive_one(receiver)
    assert b"".join(message.body) == b"\x00binary\xff"
    assert (message.message_id, message.subject, message.correlation_id) == ("m-1", "subject", "c-1")
    assert (message.content_type, message.reply_to, message.to) == ("application/json", "somewhere", "there")
    assert (message.session_id, message.partition_key) == ("s-1", "s-1")
    assert message.reply_to_session_id == "rs"
    assert message.time_to_live == timedelta(minutes=10)
    received: dict[Any, Any] = message.application_properties or {}
    assert received[b"text"] == "grün".encode()
    assert (received[b"whole"], received[b"real"]) == (7, 0.5)
    assert (received[b"flag"], received[b"id"]) == (True, properties["id"])
    assert received[b"when"] == moment.timestamp() * 1000
    assert message.delivery_count == 0
    assert message.state is ServiceBusMessageState.ACTIVE
    assert message.enqueued_time_utc is not None
    assert abs(message.enqueued_time_utc - before) < timedelta(seconds=30)
    assert message.expires_at_utc == message.enqueued_time_utc + timedelta(minutes=10)
    assert message.locked_until_utc is not None
    assert timedelta(seconds=30) < message.locked_until_utc - before <= timedelta(seconds=61)
    receiver.complete_message(message)


def test_bodies_of_other_amqp_types_pass_through(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    sender.send_messages(AmqpAnnotatedMessage(value_body={"a": [1, "two"]}))
    sender.send_messages(AmqpAnnotatedMessage(sequence_body=[[1, 2], ["three"]]))
    value, sequence = receive(receiver, 2)
    assert value.raw_amqp_message.body_type.value == "value"
    assert value.body == {b"a": [1, b"two"]}
    assert list(sequence.body) == [[1, 2], [b"three"]]
    for message in (value, sequence):
        receiver.complete_message(message)


def test_a_received_message_can_be_sent_again_with_its_broker_annotations(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    sender.send_messages(ServiceBusMessage("again", message_id="r-1"))
    first = receive_one(receiver)
    sender.send_messages(first)
    receiver.complete_message(first)
    second = receive_one(receiver)
    assert (str(second), second.message_id) == ("again", "r-1")
    assert (second.sequence_number or 0) > (first.sequence_number or 0)
    receiver.complete_message(second)


def test_messages_arrive_in_order_and_completed_messages_do_not_return(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    sender.send_messages([ServiceBusMessage(f"m{number}") for number in range(10)])
    messages = receive(receiver, 10)
    assert bodies(messages) == [f"m{number}" for number in range(10)]
    numbers = [message.sequence_number or 0 for message in messages]
    assert numbers == sorted(numbers)
    for message in messages:
        receiver.complete_message(message)
    assert receiver.peek_messages(10, sequence_number=1) == []


def test_a_batch_object_sends_all_of_its_messages(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    batch = sender.create_message_batch()
    for number in range(50):
        batch.add_message(ServiceBusMessage(f"b{number}", application_properties={"n": number}))
    sender.send_messages(batch)
    messages = receive(receiver, 50)
    assert bodies(messages) == [f"b{number}" for number in range(50)]
    for message in messages:
        receiver.complete_message(message)


def test_an_abandoned_message_returns_to_its_position_and_counts(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    sender.send_messages([ServiceBusMessage("one"), ServiceBusMessage("two")])
    first = receive_one(receiver)
    receiver.abandon_message(first)
    again, other = receive(receiver, 2)
    assert bodies([again, other]) == ["one", "two"]
    assert (again.delivery_count, other.delivery_count) == (1, 0)
    assert again.sequence_number == first.sequence_number
    for message in (again, other):
        receiver.complete_message(message)


def test_a_message_abandoned_too_often_is_dead_lettered_by_the_broker(
    sender: ServiceBusSender, receiver: ServiceBusReceiver, dead_letters: ServiceBusReceiver
) -> None:
    sender.send_messages(ServiceBusMessage("poison", application_properties={"k": "v"}))
    for count in range(3):
        message = receive_one(receiver)
        assert message.delivery_count == count
        receiver.abandon_message(message)
    dead = receive_one(dead_letters)
    assert dead.dead_letter_reason == "MaxDeliveryCountExceeded"
    assert "3 delivery attempts" in (dead.dead_letter_error_description or "")
    assert (dead.application_properties or {})[b"k"] == b"v"
    assert dead.sequence_number == message.sequence_number
    dead_letters.abandon_message(dead)
    dead_again = receive_one(dead_letters)
    assert str(dead_again) == "poison"
    dead_letters.complete_message(dead_again)


def test_a_dead_letter_keeps_reason_description_body_and_properties(
    sender: ServiceBusSender, receiver: ServiceBusReceiver, dead_letters: ServiceBusReceiver
) -> None:
    sender.send_messages(ServiceBusMessage("bad", subject="s", application_properties={"n": 1}))
    receiver.dead_letter_message(receive_one(receiver), reason="why", error_description="because")
    dead = receive_one(dead_letters)
    assert (str(dead), dead.subject) == ("bad", "s")
    assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("why", "because")
    assert (dead.application_properties or {})[b"n"] == 1
    assert dead.dead_letter_source is None
    dead_letters.complete_message(dead)


def test_dead_letters_cannot_be_dead_lettered_again(
    sender: ServiceBusSender, receiver: ServiceBusReceiver, opened: Callable[..., ServiceBusReceiver]
) -> None:
    sender.send_messages(ServiceBusMessage("bad"))
    receiver.dead_letter_message(receive_one(receiver))
    dead_letters = opened("work", sub_queue="deadletter")
    dead = receive_one(dead_letters)
    dead_letters.defer_message(dead)
    (deferred,) = dead_letters.receive_deferred_messages(dead.sequence_number or 0)
    with pytest.raises(ServiceBusError, match="cannot be dead-lettered again"):
        dead_letters.dead_letter_message(deferred)


def test_a_deferred_message_is_received_only_by_its_number(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    sender.send_messages([ServiceBusMessage("later"), ServiceBusMessage("now")])
    later, now = receive(receiver, 2)
    receiver.defer_message(later)
    receiver.abandon_message(now)
    now = receive_one(receiver)
    assert str(now) == "now"
    receiver.complete_message(now)
    number = later.sequence_number or 0
    peeked = receiver.peek_messages(1, sequence_number=number)
    assert peeked[0].state is ServiceBusMessageState.DEFERRED
    (deferred,) = receiver.receive_deferred_messages([number])
    assert str(deferred) == "later"
    assert deferred.lock_token is not None
    with pytest.raises(MessageNotFoundError):
        receiver.receive_deferred_messages([number])
    receiver.renew_message_lock(deferred)
    receiver.abandon_message(deferred)
    (deferred,) = receiver.receive_deferred_messages([number])
    assert deferred.delivery_count == 1
    receiver.complete_message(deferred)
    with pytest.raises(MessageNotFoundError):
        receiver.receive_deferred_messages([number])


def test_a_deferred_message_can_be_dead_lettered(
    sender: ServiceBusSender, receiver: ServiceBusReceiver, dead_letters: ServiceBusReceiver
) -> None:
    sender.send_messages(ServiceBusMessage("later"))
    message = receive_one(receiver)
    receiver.defer_message(message)
    (deferred,) = receiver.receive_deferred_messages([message.sequence_number or 0])
    receiver.dead_letter_message(deferred, reason="old", error_description="too late")
    dead = receive_one(dead_letters)
    assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("old", "too late")
    dead_letters.complete_message(dead)


def test_peek_shows_active_locked_deferred_and_scheduled_messages_in_order(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    sender.send_messages([ServiceBusMessage(name) for name in ("deferred", "locked", "active")])
    deferred, locked = receive(receiver, 2)
    receiver.defer_message(deferred)
    due = datetime.now(UTC) + timedelta(hours=1)
    (number,) = sender.schedule_messages(ServiceBusMessage("scheduled"), due)
    peeked = receiver.peek_messages(10, sequence_number=deferred.sequence_number or 0)
    assert bodies(peeked) == ["deferred", "locked", "active", "scheduled"]
    assert [message.state for message in peeked] == [
        ServiceBusMessageState.DEFERRED,
        ServiceBusMessageState.ACTIVE,
        ServiceBusMessageState.ACTIVE,
        ServiceBusMessageState.SCHEDULED,
    ]
    assert peeked[3].scheduled_enqueue_time_utc is not None
    assert abs(peeked[3].scheduled_enqueue_time_utc - due) < timedelta(seconds=1)
    assert bodies(receiver.peek_messages(2, sequence_number=locked.sequence_number or 0)) == [
        "locked",
        "active",
    ]
    sender.cancel_scheduled_messages(number)
    (again,) = receiver.receive_deferred_messages([deferred.sequence_number or 0])
    for message in (again, locked):
        receiver.complete_message(message)


def test_a_scheduled_message_waits_for_its_time_and_then_gets_a_new_number(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    due = (datetime.now(UTC) + timedelta(seconds=2)).replace(microsecond=0)  # AMQP has no microseconds
    (number,) = sender.schedule_messages(ServiceBusMessage("timed"), due)
    sender.send_messages(ServiceBusMessage("by property", scheduled_enqueue_time_utc=due))
    messages = receive(receiver, 2)
    assert datetime.now(UTC) >= due
    assert sorted(bodies(messages)) == ["by property", "timed"]
    assert all((message.sequence_number or 0) > number for message in messages)
    for message in messages:
        receiver.complete_message(message)


def test_a_canceled_message_never_arrives_and_cannot_be_canceled_twice(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    numbers = sender.schedule_messages([ServiceBusMessage("a"), ServiceBusMessage("b")], due)
    sender.cancel_scheduled_messages(numbers[0])
    with pytest.raises(ServiceBusError):
        sender.cancel_scheduled_messages(numbers)
    assert bodies(receiver.peek_messages(5, sequence_number=numbers[0])) == ["b"]
    sender.cancel_scheduled_messages(numbers[1])
    assert receiver.peek_messages(5, sequence_number=numbers[0]) == []


def test_receive_and_delete_settles_on_delivery(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    receiver = opened("deleted", receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    send_to(client, "deleted", ServiceBusMessage("x"), ServiceBusMessage("y"))
    messages = receive(receiver, 2)
    assert bodies(messages) == ["x", "y"]
    assert receiver.peek_messages(5, sequence_number=1) == []
    with pytest.raises(ValueError, match="RECEIVE_AND_DELETE"):
        receiver.complete_message(messages[0])


def test_deferred_messages_can_be_received_and_deleted(
    sender: ServiceBusSender, receiver: ServiceBusReceiver, opened: Callable[..., ServiceBusReceiver]
) -> None:
    sender.send_messages(ServiceBusMessage("later"))
    message = receive_one(receiver)
    receiver.defer_message(message)
    deleting = opened("work", receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
    (deferred,) = deleting.receive_deferred_messages([message.sequence_number or 0])
    assert str(deferred) == "later"
    assert receiver.peek_messages(5, sequence_number=1) == []


def test_a_prefetching_receiver_gets_everything_once(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    send_to(client, "prefetched", *(ServiceBusMessage(str(number)) for number in range(120)))
    receiver = opened("prefetched", prefetch_count=50)
    messages: list[ServiceBusReceivedMessage] = []
    while len(messages) < 120:
        batch = receiver.receive_messages(30, max_wait_time=20)
        assert batch
        for message in batch:
            receiver.complete_message(message)
        messages += batch
    assert bodies(messages) == [str(number) for number in range(120)]


def test_the_receiver_can_be_iterated(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    send_to(client, "iterated", ServiceBusMessage("i"), ServiceBusMessage("j"))
    receiver = opened("iterated", max_wait_time=2)
    seen: list[str] = []
    while len(seen) < 2:  # the iteration ends after two seconds without a message
        for message in receiver:
            seen.append(str(message))
            receiver.complete_message(message)
    assert seen == ["i", "j"]


def test_an_expired_lock_is_lost_and_the_message_is_redelivered(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    send_to(client, "brief-locks", ServiceBusMessage("slow"))
    receiver = opened("brief-locks")
    first = receive_one(receiver)
    again = receive_one(receiver)
    assert (again.delivery_count or 0) >= 1
    with pytest.raises(MessageLockLostError):
        receiver.renew_message_lock(first)
    with pytest.raises(MessageLockLostError):
        receiver.complete_message(first)
    assert eventually(lambda: is_completed(receiver))


def is_completed(receiver: ServiceBusReceiver) -> bool:
    """Return whether the next message was completed before its brief lock was lost."""
    try:
        receiver.complete_message(receive_one(receiver))
    except MessageLockLostError:
        return False
    return True


def test_a_renewed_lock_holds_longer(sender: ServiceBusSender, receiver: ServiceBusReceiver) -> None:
    sender.send_messages(ServiceBusMessage("long"))
    message = receive_one(receiver)
    before = message.locked_until_utc
    assert before is not None
    # Locks end on a millisecond, and a renewal often comes in the same millisecond.
    assert eventually(lambda: receiver.renew_message_lock(message) > before)
    assert message.locked_until_utc is not None
    assert message.locked_until_utc > before
    receiver.complete_message(message)


@pytest.mark.slow
def test_the_sdks_auto_renewer_keeps_a_lock_past_its_duration(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    send_to(client, "renewable", ServiceBusMessage("long work"))
    receiver = opened("renewable")
    with AutoLockRenewer() as renewer:
        message = receive_one(receiver)
        first = message.locked_until_utc
        renewer.register(receiver, message, max_lock_renewal_duration=30)
        assert first is not None
        assert eventually(lambda: datetime.now(UTC) > first + timedelta(seconds=1), 15)
        receiver.complete_message(message)


def test_an_expired_message_is_dead_lettered_where_the_queue_says_so(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    send_to(client, "mortal", ServiceBusMessage("old", time_to_live=timedelta(seconds=1)))
    dead = receive_one(opened("mortal", sub_queue="deadletter"))
    assert dead.dead_letter_reason == "TTLExpiredException"
    assert str(dead) == "old"


def test_an_expired_message_vanishes_elsewhere(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    """The queue's default time to live limits the message's own."""
    send_to(client, "forgetful", ServiceBusMessage("old", time_to_live=timedelta(minutes=5)))
    receiver = opened("forgetful")
    assert eventually(lambda: receiver.peek_messages(1, sequence_number=1) == [])
    assert receiver.receive_messages(1, max_wait_time=0.5) == []


def test_a_duplicate_is_accepted_and_dropped(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    send_to(client, "unique", *(ServiceBusMessage(f"v{number}", message_id="same") for number in range(3)))
    send_to(client, "unique", ServiceBusMessage("w", message_id="same"), ServiceBusMessage("x"))
    receiver = opened("unique")
    messages = receive(receiver, 2)
    assert bodies(messages) == ["v0", "x"]
    for message in messages:
        receiver.complete_message(message)
    send_to(client, "unique", ServiceBusMessage("after completion", message_id="same"))
    assert receiver.peek_messages(5, sequence_number=1) == []


def test_a_message_id_is_forgotten_after_its_window(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    receiver = opened("brief-memory")
    with client.get_queue_sender("brief-memory") as sender:

        def sent_twice() -> bool:
            sender.send_messages(ServiceBusMessage("m", message_id="same"))
            return len(receiver.peek_messages(5, sequence_number=1)) == 2

        sender.send_messages(ServiceBusMessage("m", message_id="same"))
        assert len(receiver.peek_messages(5, sequence_number=1)) == 1
        assert eventually(sent_twice)


def test_a_message_of_almost_256_kb_passes_and_a_larger_one_does_not(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    with client.get_queue_sender("big") as sender:
        sender.send_messages(ServiceBusMessage(b"x" * 260_000))
        with pytest.raises(MessageSizeExceededError):
            sender.send_messages(ServiceBusMessage(b"x" * 270_000))
    receiver = opened("big")
    message = receive_one(receiver)
    assert b"".join(message.body) == b"x" * 260_000
    receiver.complete_message(message)


def test_a_message_received_before_the_link_closed_can_still_be_settled(
    client: ServiceBusClient, opened: Callable[..., ServiceBusReceiver]
) -> None:
    """Locks belong to the entity, not to the link, so another receiver can use the token."""
    send_to(client, "orphaned", ServiceBusMessage("orphan"))
    with client.get_queue_receiver("orphaned") as first:
        message = receive_one(first)
    receiver = opened("orphaned")
    assert bodies(receiver.peek_messages(5, sequence_number=1)) == ["orphan"]
    receiver._settle_message_via_mgmt_link("completed", [message.lock_token])  # type: ignore[list-item]
    assert receiver.peek_messages(5, sequence_number=1) == []


def test_a_wrong_key_is_refused(bus: Bus) -> None:
    wrong = bus.connection_string.replace("SAS_KEY_VALUE", "WRONG")
    with (
        ServiceBusClient.from_connection_string(wrong, retry_total=0) as client,
        pytest.raises(ServiceBusAuthenticationError),
    ):
        client.get_queue_sender("work").send_messages(ServiceBusMessage("x"))


def test_an_unknown_entity_is_not_found(client: ServiceBusClient) -> None:
    with pytest.raises(MessagingEntityNotFoundError, match="nowhere"):
        client.get_queue_receiver("nowhere").receive_messages(1, max_wait_time=20)


@pytest.mark.parametrize(
    ("queue", "options", "reason"),
    [
        ("work", {"session_id": "s"}, "does not require sessions"),
        ("entrance", {}, "it forwards to 'second'"),
        ("news", {}, "is a topic"),
    ],
)
def test_receivers_that_cannot_be_are_refused_with_the_reason(
    bus: Bus, queue: str, options: dict[str, Any], reason: str
) -> None:
    with (
        ServiceBusClient.from_connection_string(bus.connection_string, retry_total=0) as client,
        pytest.raises(ServiceBusError, match=reason),
    ):
        client.get_queue_receiver(queue, **options).receive_messages(1, max_wait_time=20)
