"""A process opens no more connections to Service Bus than the bound: Microsoft's emulator allows ten in total."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient
from azure.servicebus.exceptions import ServiceBusError

from shared.azure.servicebus.bus import Bus, OpenHandlers
from shared.pipeline.topology import QUEUES
from tests.support.cloud import servicebus_connection
from tests.support.services import RunningService, running_service
from tests.support.toy_stages import collect_dropped_sockets

if TYPE_CHECKING:
    from pathlib import Path

EMULATORS = 10  # connections that Microsoft's emulator allows


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Start the local Service Bus with the emulator's limits."""
    folder: Path = tmp_path_factory.mktemp("emulated")
    limits = ("--admin-port", "0", "--max-connections", str(EMULATORS))
    with running_service("servicebus", *limits, data=folder) as running:
        yield running


def connections(broker: RunningService) -> dict[str, int]:
    with urllib.request.urlopen(f"{broker.addresses['admin']}/health", timeout=10) as answer:
        counts: dict[str, int] = json.loads(answer.read())["connections"]
        return counts


def bus_on(broker: RunningService, most: int) -> Bus:
    client = ServiceBusClient.from_connection_string(servicebus_connection(broker), retry_total=0)
    return Bus(client, "events", most=most)


async def use_everything(bus: Bus) -> list[Any]:
    """Send all kinds of requests at once, as a busy minute and the operator's page do."""
    sends = (bus.send_to_queue(queue, [ServiceBusMessage("{}")]) for queue in QUEUES)
    peeks = (ask(queue, start=1) for queue in QUEUES for ask in (bus.peek, bus.peek_dead_letters))
    return await asyncio.gather(*sends, *peeks, return_exceptions=True)


async def test_a_process_keeps_to_its_connections_and_nothing_is_refused(broker: RunningService) -> None:
    bus = bus_on(broker, 3)
    answers = await use_everything(bus)
    await bus.close()

    counts = connections(broker)
    assert [answer for answer in answers if isinstance(answer, BaseException)] == []
    assert len(answers) == 3 * len(QUEUES)
    assert counts["refused"] == 0
    # The broker may read the end of one connection after the start of the next.
    assert 3 <= counts["most"] <= 2 * 3


async def test_without_a_bound_the_emulator_refuses_the_app(broker: RunningService) -> None:
    """The broker counts the connections, so the test above proves the bound."""
    bus = bus_on(broker, 40)
    refused = [isinstance(answer, ServiceBusError) for answer in await use_everything(bus)]
    await bus.close()
    collect_dropped_sockets()

    assert any(refused)
    assert connections(broker)["refused"] > 0


class Opened:
    """A sender that counts the open senders."""

    now = most = 0

    def __init__(self) -> None:
        Opened.now += 1
        Opened.most = max(Opened.most, Opened.now)

    async def close(self) -> None:
        await asyncio.sleep(0)
        Opened.now -= 1


async def test_the_one_that_was_not_used_for_longest_makes_room() -> None:
    kept = OpenHandlers(2)
    made = []

    def make() -> Opened:
        made.append(Opened())
        return made[-1]

    async def use(*names: str) -> None:
        for name in names:
            async with kept.use(name, make):
                await asyncio.sleep(0)

    await use("a", "b", "a", "c", "a", "b")
    assert len(made) == 4  # a and b, then c replaces b, then b replaces c
    await asyncio.gather(*(use(name, "a", name) for name in "abcdefgh" * 5))
    assert Opened.most == 2
    await kept.close()
    assert Opened.now == 0
