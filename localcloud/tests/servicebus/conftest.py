"""A Service Bus process for the tests of a worker, with shared clients: opening one takes 0.5 s."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusReceiver, ServiceBusSender

from localcloud.faults import FAULTS_PATH
from localcloud.servicebus.amqp.performatives import FLOW
from tests.servicebus.topology import TOPOLOGY, connection_string
from tests.support.raw_amqp import RawClient
from tests.support.services import RunningService, running_service


@dataclass
class Bus:
    service: RunningService
    data: Path

    @property
    def port(self) -> int:
        return int(self.service.addresses["amqp"].rpartition(":")[2])

    @property
    def admin(self) -> str:
        return self.service.addresses["admin"]

    @property
    def connection_string(self) -> str:
        return connection_string(self.port)

    @property
    def admin_connection_string(self) -> str:
        return connection_string(int(self.admin.rpartition(":")[2]))

    def purge(self, address: str) -> int:
        """Receive and delete all ready messages, and return their number."""
        with RawClient(self.port) as client:
            client.login()
            client.attach_receiver(address, presettled=True)
            client.drain(1_000_000)
            client.expect(FLOW)
            return client.transfers_seen

    def plan_faults(self, *faults: dict[str, Any]) -> None:
        request = urllib.request.Request(self.admin + FAULTS_PATH, json.dumps(faults).encode(), method="PUT")
        with urllib.request.urlopen(request, timeout=10) as response:
            assert response.status == 200


@pytest.fixture(scope="session")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bus]:
    folder = tmp_path_factory.mktemp("servicebus")
    config = folder / "Config.json"
    config.write_text(json.dumps(TOPOLOGY))
    arguments = ("--admin-port", "0", "--config", str(config), "--no-clamp", "--faults")
    with running_service("servicebus", *arguments, data=folder / "data") as service:
        yield Bus(service, folder / "data")


@pytest.fixture(scope="session")
def client(bus: Bus) -> Iterator[ServiceBusClient]:
    with ServiceBusClient.from_connection_string(bus.connection_string, retry_backoff_factor=0.05) as client:
        yield client


@pytest.fixture(scope="session")
def shared_sender(client: ServiceBusClient) -> Iterator[ServiceBusSender]:
    with client.get_queue_sender("work") as sender:
        yield sender


@pytest.fixture(scope="session")
def shared_receiver(client: ServiceBusClient) -> Iterator[ServiceBusReceiver]:
    with client.get_queue_receiver("work") as receiver:
        yield receiver


@pytest.fixture(scope="session")
def shared_dead_letters(client: ServiceBusClient) -> Iterator[ServiceBusReceiver]:
    with client.get_queue_receiver("work", sub_queue="deadletter") as receiver:
        yield receiver


@pytest.fixture
def sender(bus: Bus, shared_sender: ServiceBusSender) -> Iterator[ServiceBusSender]:
    """A sender for the queue `work`, which is empty before and after the test."""
    yield shared_sender
    bus.purge("work")
    bus.purge("work/$deadletterqueue")


@pytest.fixture
def receiver(shared_receiver: ServiceBusReceiver) -> ServiceBusReceiver:
    return shared_receiver


@pytest.fixture
def dead_letters(shared_dead_letters: ServiceBusReceiver) -> ServiceBusReceiver:
    return shared_dead_letters
