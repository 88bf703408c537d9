"""Injected faults, as seen through the real SDK and with raw AMQP."""

import gc
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusReceiver, ServiceBusSender
from azure.servicebus.exceptions import MessageLockLostError, ServiceBusServerBusyError

from localcloud.faults import FAULTS_PATH
from localcloud.servicebus.amqp import codec
from localcloud.servicebus.amqp.performatives import DETACH, DISPOSITION, TRANSFER
from tests.servicebus.conftest import Bus
from tests.servicebus.sdk import receive_one
from tests.servicebus.topology import entity, topology
from tests.support.raw_amqp import RawClient, message, request
from tests.support.services import running_service

# The SDK leaves the socket of a broken connection to the garbage collector, which warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def _collect_abandoned_sockets() -> Iterator[None]:
    """Collect here, where the warning is ignored, instead of in a later test."""
    yield
    gc.collect()


@pytest.fixture
def faulty(bus: Bus) -> Iterator[Bus]:
    """The queue `faulty`, without faults after the test."""
    yield bus
    bus.plan_faults()
    bus.purge("faulty")


@pytest.fixture
def raw(faulty: Bus) -> Iterator[RawClient]:
    with RawClient(faulty.port) as client:
        client.login()
        client.attach_sender("faulty")
        client.attach_receiver("faulty")
        yield client


@pytest.fixture
def sdk(faulty: Bus) -> Iterator[ServiceBusClient]:
    """A separate client for the test, so that nothing remains after it."""
    with ServiceBusClient.from_connection_string(
        faulty.connection_string, retry_backoff_factor=0.05
    ) as client:
        yield client


@pytest.fixture
def sdk_sender(sdk: ServiceBusClient) -> Iterator[ServiceBusSender]:
    with sdk.get_queue_sender("faulty") as sender:
        yield sender


@pytest.fixture
def sdk_receiver(sdk: ServiceBusClient) -> Iterator[ServiceBusReceiver]:
    with sdk.get_queue_receiver("faulty") as receiver:
        yield receiver


def send(raw: RawClient, number: int = 0) -> int:
    """Return the outcome of sending a message."""
    raw.send_bytes(raw.transfer(number, message(b"x", f"m{number}")))
    fields, _ = raw.expect(DISPOSITION)
    return int(fields[4].descriptor)


def test_a_dropped_connection_loses_nothing_because_the_sdk_sends_again(
    faulty: Bus, sdk_sender: ServiceBusSender
) -> None:
    faulty.plan_faults({"kind": "drop", "operation": "send"})
    sdk_sender.send_messages(ServiceBusMessage("persistent"))
    assert faulty.purge("faulty") == 1


def test_a_lost_acknowledgement_makes_the_sdk_send_twice(faulty: Bus, sdk_sender: ServiceBusSender) -> None:
    """The message is committed, but its sender does not know.

    Duplicate detection prevents the second copy.
    """
    faulty.plan_faults({"kind": "lose-ack", "operation": "send"})
    sdk_sender.send_messages(ServiceBusMessage("twice"))
    assert faulty.purge("faulty") == 2


def test_a_busy_server_is_tried_again(faulty: Bus, raw: RawClient) -> None:
    faulty.plan_faults({"kind": "server-busy", "operation": "send", "times": 2})
    assert [send(raw, 0), send(raw, 1), send(raw, 2)] == [0x25, 0x25, 0x24]
    assert faulty.purge("faulty") == 1


def test_a_busy_server_has_an_error_of_its_own_in_the_sdk(bus: Bus, faulty: Bus) -> None:
    faulty.plan_faults({"kind": "server-busy", "operation": "management.*", "times": None})
    with (
        ServiceBusClient.from_connection_string(bus.connection_string, retry_total=0) as client,
        client.get_queue_receiver("faulty") as receiver,
        pytest.raises(ServiceBusServerBusyError),
    ):
        receiver.peek_messages(1)


def test_a_message_is_delivered_twice_and_its_first_lock_is_lost(
    faulty: Bus, sdk_sender: ServiceBusSender, sdk_receiver: ServiceBusReceiver
) -> None:
    faulty.plan_faults({"kind": "deliver-twice", "operation": "receive"})
    sdk_sender.send_messages(ServiceBusMessage("echo"))
    first = receive_one(sdk_receiver)
    second = receive_one(sdk_receiver)
    assert (str(first), first.delivery_count) == ("echo", 0)
    assert (str(second), second.delivery_count) == ("echo", 1)
    with pytest.raises(MessageLockLostError):
        sdk_receiver.complete_message(first)
    sdk_receiver.complete_message(second)


def test_an_answer_can_be_delayed(faulty: Bus, raw: RawClient) -> None:
    faulty.plan_faults({"kind": "delay", "operation": "send", "args": {"ms": 400}})
    started = time.monotonic()
    assert send(raw) == 0x24
    # The server's event loop counts whole milliseconds, so its timer can fire a fraction early.
    assert time.monotonic() - started >= 0.398


def test_a_completion_whose_answer_is_lost_has_still_happened(faulty: Bus, raw: RawClient) -> None:
    assert send(raw) == 0x24
    raw.flow(1)
    fields, _ = raw.expect(TRANSFER)
    faulty.plan_faults({"kind": "lose-ack", "operation": "complete"})
    raw.complete(fields[1], fields[1])
    with pytest.raises(ConnectionError):
        raw.expect(DISPOSITION)
    assert faulty.purge("faulty") == 0


def test_a_completion_on_a_dropped_connection_has_not_happened(faulty: Bus, raw: RawClient) -> None:
    assert send(raw) == 0x24
    raw.flow(1)
    fields, _ = raw.expect(TRANSFER)
    faulty.plan_faults({"kind": "drop", "operation": "complete"})
    raw.complete(fields[1], fields[1])
    with pytest.raises(ConnectionError):
        raw.expect(DISPOSITION)
    with RawClient(faulty.port) as other:
        other.login()
        other.attach_sender("faulty/$management")
        other.attach_receiver("faulty/$management")
        other.flow(1)
        peek = {"from-sequence-number": codec.long(1), "message-count": codec.int_(5)}
        other.send_bytes(other.transfer(0, request("peek-message", **peek)))
        _, reply = other.expect(TRANSFER)
        assert b"m0" in reply


def test_a_receiver_can_be_detached_as_busy(faulty: Bus, raw: RawClient) -> None:
    assert send(raw) == 0x24
    faulty.plan_faults({"kind": "server-busy", "operation": "receive"})
    raw.flow(1)
    fields, _ = raw.expect(DETACH)
    assert fields[2].value[0] == "com.microsoft:server-busy"
    assert faulty.purge("faulty") == 1


def test_a_plan_reports_its_hits_and_rejects_unknown_kinds(faulty: Bus, raw: RawClient) -> None:
    faulty.plan_faults({"kind": "server-busy", "operation": "send", "skip": 1, "times": 1})
    assert [send(raw, 0), send(raw, 1)] == [0x24, 0x25]
    with urllib.request.urlopen(faulty.admin + FAULTS_PATH, timeout=5) as response:
        (fault,) = json.loads(response.read())
    assert (fault["seen"], fault["hits"]) == (2, 1)
    with pytest.raises(urllib.error.HTTPError, match="400"):
        faulty.plan_faults({"kind": "explode"})


def test_faults_are_off_unless_asked_for(tmp_path: Path) -> None:
    config = tmp_path / "Config.json"
    config.write_text(json.dumps(topology([entity("q")], [])))
    arguments = ("--admin-port", "0", "--config", str(config))
    with running_service("servicebus", *arguments, data=tmp_path / "data") as service:
        planned = urllib.request.Request(service.addresses["admin"] + FAULTS_PATH, b"[]", method="PUT")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(planned, timeout=5)
