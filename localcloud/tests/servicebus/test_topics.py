"""Topics, rules and forwarding through the SDK."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusReceivedMessage, ServiceBusSender

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.performatives import TRANSFER
from tests.servicebus.conftest import Bus
from tests.servicebus.sdk import receive, receive_one
from tests.support.raw_amqp import RawClient, request


@pytest.fixture(scope="module")
def news(client: ServiceBusClient) -> Iterator[ServiceBusSender]:
    with client.get_topic_sender("news") as sender:
        yield sender


def taken(client: ServiceBusClient, subscription: str) -> list[ServiceBusReceivedMessage]:
    """Receive and delete the current messages of a subscription."""
    with client.get_subscription_receiver("news", subscription, receive_mode="receiveanddelete") as receiver:
        return receive(receiver, len(receiver.peek_messages(100, sequence_number=1)))


def test_subscriptions_get_messages_that_their_rules_select(
    client: ServiceBusClient, news: ServiceBusSender
) -> None:
    news.send_messages(
        [
            ServiceBusMessage("a", subject="sport", application_properties={"size": 5}),
            ServiceBusMessage("b", subject="sport", application_properties={"size": 50}),
            ServiceBusMessage("c", subject="politics", application_properties={"size": 50}),
            ServiceBusMessage("d", application_properties={"colour": "red", "urgent": True}),
            ServiceBusMessage("e", application_properties={"colour": "red", "urgent": 1}),
        ]
    )
    expected = {"all": "abcde", "sport": "ab", "every": "abcde", "props": "d"}
    for subscription, wanted in expected.items():
        assert [str(message) for message in taken(client, subscription)] == list(wanted)


def test_a_topic_drops_duplicates_before_it_fans_out(
    client: ServiceBusClient, news: ServiceBusSender
) -> None:
    for body in ("first", "second"):
        news.send_messages(ServiceBusMessage(body, subject="sport", message_id="dup-topic"))
    for subscription in ("all", "sport"):
        assert [str(message) for message in taken(client, subscription)] == ["first"]


def test_a_message_scheduled_on_a_topic_fans_out_when_it_is_due(
    client: ServiceBusClient, news: ServiceBusSender
) -> None:
    due = (datetime.now(UTC) + timedelta(seconds=3)).replace(microsecond=0)  # AMQP has no microseconds
    cancelled = news.schedule_messages(ServiceBusMessage("never", subject="sport"), due)
    news.schedule_messages(ServiceBusMessage("timed", subject="sport"), due)
    news.cancel_scheduled_messages(cancelled)
    with client.get_subscription_receiver("news", "sport") as receiver:
        message = receive_one(receiver)
        assert str(message) == "timed"
        assert datetime.now(UTC) >= due
        receiver.complete_message(message)
        assert receiver.peek_messages(5, sequence_number=1) == []
    assert [str(message) for message in taken(client, "all")] == ["timed"]


def test_a_forwarded_message_keeps_id_properties_and_body(bus: Bus, client: ServiceBusClient) -> None:
    with client.get_queue_sender("entrance") as sender, client.get_topic_sender("news") as news:
        sender.send_messages(
            ServiceBusMessage("two hops", message_id="f-1", to="t", application_properties={"k": 1})
        )
        news.send_messages(ServiceBusMessage("from a topic", message_id="f-2", subject="forward"))
    with client.get_queue_receiver("target") as receiver:
        messages = first, second = receive(receiver, 2)
        assert (str(first), first.message_id, first.to) == ("two hops", "f-1", "t")
        assert first.application_properties == {b"k": 1}
        assert (str(second), second.message_id, second.subject) == ("from a topic", "f-2", "forward")
        for message in messages:
            receiver.complete_message(message)
    taken(client, "all")


def test_dead_letters_are_forwarded_with_their_source(client: ServiceBusClient) -> None:
    with client.get_queue_sender("forwards-dead") as sender:
        sender.send_messages(ServiceBusMessage("dying", message_id="d-1"))
    with client.get_queue_receiver("forwards-dead") as receiver:
        message = receive_one(receiver)
        receiver.abandon_message(message)
    with client.get_queue_receiver("dead-target") as receiver:
        message = receive_one(receiver)
        assert (str(message), message.message_id) == ("dying", "d-1")
        assert message.dead_letter_reason == "MaxDeliveryCountExceeded"
        assert message.dead_letter_source == "forwards-dead"
        receiver.complete_message(message)


def test_a_circle_of_forwarding_ends_in_a_dead_letter_queue(client: ServiceBusClient) -> None:
    with client.get_queue_sender("ping") as sender:
        sender.send_messages(ServiceBusMessage("round and round"))
    with client.get_queue_receiver("ping", sub_queue="deadletter") as receiver:
        message = receive_one(receiver)
        assert str(message) == "round and round"
        assert message.dead_letter_reason == "MaxTransferHopCountExceeded"
        receiver.complete_message(message)


@pytest.mark.parametrize(
    ("skip", "top", "names"), [(0, 100, ["a", "b", "c"]), (1, 1, ["b"]), (3, 5, []), (0, 0, [])]
)
def test_rules_are_listed_by_page(bus: Bus, skip: int, top: int, names: list[str]) -> None:
    with RawClient(bus.port) as raw:
        raw.login()
        raw.attach_sender("news/Subscriptions/paged/$management")
        raw.attach_receiver("news/Subscriptions/paged/$management")
        raw.flow(1)
        raw.send_bytes(
            raw.transfer(0, request("enumerate-rules", skip=codec.int_(skip), top=codec.int_(top)))
        )
        _, reply = raw.expect(TRANSFER)
    body, _ = decoding.decode(reply, reply.index(b"\x00\x53\x77"))
    listed = [rule["rule-description"].value for rule in body.value["rules"]] if body.value else []
    assert [fields[2] for fields in listed] == names
