"""The asynchronous Python SDK."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from azure.servicebus import ServiceBusMessage, ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver, ServiceBusSender
from azure.servicebus.exceptions import MessageNotFoundError, ServiceBusError

from tests.servicebus.conftest import Bus

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(bus: Bus) -> AsyncIterator[ServiceBusClient]:
    async with ServiceBusClient.from_connection_string(
        bus.connection_string, retry_backoff_factor=0.05
    ) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sender(client: ServiceBusClient) -> AsyncIterator[ServiceBusSender]:
    async with client.get_queue_sender("async-work") as sender:
        yield sender


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def receiver(client: ServiceBusClient) -> AsyncIterator[ServiceBusReceiver]:
    async with client.get_queue_receiver("async-work") as receiver:
        yield receiver


async def receive(receiver: ServiceBusReceiver, count: int = 1) -> list[ServiceBusReceivedMessage]:
    found: list[ServiceBusReceivedMessage] = []
    while len(found) < count:
        batch = await receiver.receive_messages(count - len(found), max_wait_time=20)
        assert batch
        found += batch
    return found


async def test_messages_are_sent_received_and_settled_in_every_way(
    client: ServiceBusClient, sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    await sender.send_messages([ServiceBusMessage(name) for name in ("done", "again", "bad", "later")])
    done, again, bad, later = await receive(receiver, 4)
    await receiver.complete_message(done)
    await receiver.abandon_message(again)
    await receiver.dead_letter_message(bad, reason="r", error_description="d")
    await receiver.defer_message(later)
    (again,) = await receive(receiver)
    assert (str(again), again.delivery_count) == ("again", 1)
    await receiver.complete_message(again)
    (deferred,) = await receiver.receive_deferred_messages([later.sequence_number or 0])
    await receiver.renew_message_lock(deferred)
    await receiver.complete_message(deferred)
    with pytest.raises(MessageNotFoundError):
        await receiver.receive_deferred_messages([later.sequence_number or 0])
    async with client.get_queue_receiver("async-work", sub_queue="deadletter") as dead_letters:
        (dead,) = await receive(dead_letters)
        assert (dead.dead_letter_reason, dead.dead_letter_error_description) == ("r", "d")
        await dead_letters.complete_message(dead)
    assert await receiver.peek_messages(10, sequence_number=1) == []


async def test_scheduling_peeking_and_cancelling(
    sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    numbers = await sender.schedule_messages([ServiceBusMessage("x"), ServiceBusMessage("y")], due)
    peeked = await receiver.peek_messages(10, sequence_number=numbers[0])
    assert [str(message) for message in peeked] == ["x", "y"]
    await sender.cancel_scheduled_messages(numbers)
    assert await receiver.peek_messages(10, sequence_number=numbers[0]) == []


async def test_two_receivers_share_the_messages(
    client: ServiceBusClient, sender: ServiceBusSender, receiver: ServiceBusReceiver
) -> None:
    batch = await sender.create_message_batch()
    for number in range(20):
        batch.add_message(ServiceBusMessage(str(number)))
    await sender.send_messages(batch)
    async with client.get_queue_receiver("async-work", prefetch_count=5) as other:
        mine = await receive(receiver, 10)
        theirs = await receive(other, 10)
        for message in mine:
            await receiver.complete_message(message)
        for message in theirs:
            await other.complete_message(message)
    assert sorted(int(str(message)) for message in mine + theirs) == list(range(20))


async def test_a_missing_topic_is_an_error_of_its_own(bus: Bus) -> None:
    async with ServiceBusClient.from_connection_string(bus.connection_string, retry_total=0) as client:
        sender = client.get_topic_sender("nowhere")
        with pytest.raises(ServiceBusError, match="nowhere"):
            await sender.send_messages(ServiceBusMessage("x"))
        await sender.close()
