"""Service Bus triggers with the local Service Bus, each in its own process."""

import importlib.util
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusReceiver, ServiceBusSubQueue

from tests.functions.support import (
    EXAMPLE_APP,
    HEADER,
    Host,
    lines,
    running_host,
    wait_for,
    write_app,
)
from tests.support.services import RunningService, start_service


def _has_extension() -> bool:
    try:
        return importlib.util.find_spec("azurefunctions.extensions.bindings.servicebus") is not None
    except ModuleNotFoundError:
        return False


QUEUE = {
    "DeadLetteringOnMessageExpiration": False,
    "DefaultMessageTimeToLive": "PT1H",
    "LockDuration": "PT1M",
    "MaxDeliveryCount": 3,
    "RequiresDuplicateDetection": False,
    "RequiresSession": False,
}
CONFIG: dict[str, Any] = {
    "UserConfig": {
        "Namespaces": [
            {
                "Name": "sbemulatorns",
                "Queues": [
                    {"Name": "orders", "Properties": QUEUE},
                    {"Name": "events", "Properties": QUEUE},
                    {"Name": "manual", "Properties": QUEUE},
                    {"Name": "short-lock", "Properties": {**QUEUE, "LockDuration": "PT2S"}},
                ],
                "Topics": [],
            }
        ],
        "Logging": {"Type": "File"},
    }
}


@dataclass
class Bus:
    service: RunningService
    client: ServiceBusClient

    @property
    def connection_string(self) -> str:
        return _connection_string(self.service)

    def send(self, queue: str, *bodies: str, **fields: Any) -> None:
        with self.client.get_queue_sender(queue) as sender:
            sender.send_messages([ServiceBusMessage(body, **fields) for body in bodies])

    def peek(self, queue: str) -> list[str]:
        with self.client.get_queue_receiver(queue) as receiver:
            return [str(message) for message in receiver.peek_messages(max_message_count=50)]

    def dead_letters(self, queue: str) -> ServiceBusReceiver:
        return self.client.get_queue_receiver(queue, sub_queue=ServiceBusSubQueue.DEAD_LETTER)


def _connection_string(service: RunningService) -> str:
    address = service.addresses["amqp"].removeprefix("amqp://")
    return (
        f"Endpoint=sb://{address};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
    )


def start_bus(folder: Path, port: int = 0) -> RunningService:
    config = folder / "Config.json"
    config.write_text(json.dumps(CONFIG))
    return start_service(
        "servicebus",
        "--admin-port",
        "0",
        "--config",
        str(config),
        "--no-clamp",
        data=folder / "bus",
        port=port,
    )


def end(service: RunningService) -> None:
    if service.process.poll() is None:
        service.stop()
    for stream in (service.process.stdin, service.process.stdout):
        if stream is not None:
            stream.close()


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bus]:
    service = start_bus(tmp_path_factory.mktemp("bus"))
    with ServiceBusClient.from_connection_string(_connection_string(service)) as client:
        yield Bus(service, client)
    end(service)


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("output")


@pytest.fixture(scope="module")
def host(bus: Bus, output: Path) -> Iterator[Host]:
    with example_host(bus.connection_string, output) as running:
        yield running


def example_host(connection_string: str, output: Path) -> Any:
    environ = {
        "BUS": connection_string,
        "ORDERS_QUEUE": "orders",
        "TICK_SCHEDULE": "0 0 0 1 1 *",
        "EXAMPLE_OUTPUT": str(output),
    }
    return running_host(EXAMPLE_APP, output / "data", **environ)


def seen(output: Path, name: str, body: str) -> list[Any]:
    return [line for line in lines(output / name) if line.get("body") == body]


def test_a_message_is_completed_when_its_function_succeeds(host: Host, bus: Bus, output: Path) -> None:
    bus.send("orders", "order 1", message_id="m-1")
    assert wait_for(lambda: seen(output, "orders-done", "order 1"))
    wait_for(lambda: "order 1" not in bus.peek("orders"))
    assert [(line["id"], line["count"]) for line in seen(output, "orders", "order 1")] == [("m-1", 1)]


def test_a_message_whose_function_raises_is_redelivered_and_then_dead_lettered_by_the_broker(
    host: Host, bus: Bus, output: Path
) -> None:
    bus.send("orders", "fail me")
    with bus.dead_letters("orders") as receiver:
        message = wait_for(lambda: receiver.receive_messages(max_wait_time=1))[0]
        assert str(message) == "fail me"
        assert message.dead_letter_reason == "MaxDeliveryCountExceeded"
        receiver.complete_message(message)
    assert [line["count"] for line in seen(output, "orders", "fail me")] == [1, 2, 3]


def test_a_message_arrives_with_its_properties(host: Host, bus: Bus, output: Path) -> None:
    bus.send(
        "events", "event 1", subject="ArchiveIngested", application_properties={"attempt": 1, "key": "k"}
    )
    line = wait_for(lambda: seen(output, "events", "event 1"))[0]
    assert line["subject"] == "ArchiveIngested"
    assert line["properties"]["attempt"] == 1
    assert line["properties"]["key"] == "k"
    assert line["sequence_number"] >= 1
    assert line["enqueued"].startswith("20")


def test_no_more_run_at_once_than_max_concurrent_calls(host: Host, bus: Bus, output: Path) -> None:
    bodies = [f"slow 0.5{number}" for number in range(8)]  # host.json allows four
    bus.send("orders", *bodies)
    wait_for(lambda: all(seen(output, "orders-done", body) for body in bodies))
    starts = [(line["at"], 1) for body in bodies for line in seen(output, "orders", body)]
    ends = [(line["at"], -1) for body in bodies for line in seen(output, "orders-done", body)]
    running = list(itertools.accumulate(change for _, change in sorted(starts + ends)))
    assert len(starts) == len(ends) == 8
    assert 2 <= max(running) <= 4


APP = (
    HEADER
    + """
import os, json, time
from pathlib import Path

def record(value):
    with (Path(os.environ["EXAMPLE_OUTPUT"]) / "record").open("a") as file:
        file.write(json.dumps(value) + "\\n")
"""
)
LONG = (
    APP
    + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="short-lock", connection="BUS")
def long_work(msg: func.ServiceBusMessage) -> None:
    record({"body": msg.get_body().decode(), "count": msg.delivery_count})
    time.sleep(5)
    record({"body": "ended"})
"""
)


@pytest.fixture
def own_host(bus: Bus, tmp_path: Path) -> Callable[..., Any]:
    """A function that starts a host for the test's own app, which writes to tmp_path."""

    def start(code: str, *arguments: str, host: dict[str, Any] | None = None) -> Any:
        root = write_app(tmp_path / "app", code, host=host)
        environ = {"BUS": bus.connection_string, "EXAMPLE_OUTPUT": str(tmp_path)}
        return running_host(root, tmp_path / "data", *arguments, **environ)

    return start


def test_the_lock_is_renewed_over_a_long_run(own_host: Callable[..., Any], bus: Bus, tmp_path: Path) -> None:
    with own_host(LONG):
        bus.send("short-lock", "takes longer than its lock of two seconds")
        wait_for(lambda: len(lines(tmp_path / "record")) == 2, seconds=30)
        wait_for(lambda: bus.peek("short-lock") == [])
    assert [line.get("count") for line in lines(tmp_path / "record")] == [1, None]


def test_sigterm_lets_a_message_finish_and_takes_no_other(
    own_host: Callable[..., Any], bus: Bus, tmp_path: Path
) -> None:
    code = (
        APP
        + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="manual", connection="BUS")
def work(msg: func.ServiceBusMessage) -> None:
    record({"started": msg.get_body().decode()})
    time.sleep(2)
    record({"ended": msg.get_body().decode()})
"""
    )
    one_at_a_time = {"version": "2.0", "extensions": {"serviceBus": {"maxConcurrentCalls": 1}}}
    with own_host(code, host=one_at_a_time) as running:
        bus.send("manual", "first", "second")
        wait_for(lambda: lines(tmp_path / "record"))
        assert running.service.stop(30) == 0
    assert lines(tmp_path / "record") == [{"started": "first"}, {"ended": "first"}]
    assert bus.peek("manual") == ["second"]
    drain(bus, "manual")


def test_a_message_of_a_late_function_is_abandoned_for_the_next_host(
    own_host: Callable[..., Any], bus: Bus, tmp_path: Path
) -> None:
    code = (
        APP
        + """
import asyncio

@app.service_bus_queue_trigger(arg_name="msg", queue_name="manual", connection="BUS")
async def work(msg: func.ServiceBusMessage) -> None:
    record({"count": msg.delivery_count})
    if msg.delivery_count == 1:
        await asyncio.sleep(600)
"""
    )
    with own_host(code, "--drain-seconds", "0.5") as running:
        bus.send("manual", "interrupted")
        wait_for(lambda: lines(tmp_path / "record"))
        assert running.service.stop(30) == 0
    with own_host(code):
        wait_for(lambda: [line["count"] for line in lines(tmp_path / "record")] == [1, 2])
        wait_for(lambda: bus.peek("manual") == [])


@pytest.mark.slow
def test_without_auto_complete_a_message_stays_locked_and_is_redelivered(
    own_host: Callable[..., Any], bus: Bus, tmp_path: Path
) -> None:
    code = (
        APP
        + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="short-lock", connection="BUS",
                               auto_complete_messages=False)
def work(msg: func.ServiceBusMessage) -> None:
    record({"count": msg.delivery_count})
"""
    )
    with own_host(code):
        bus.send("short-lock", "nobody settles this")
        wait_for(lambda: len(lines(tmp_path / "record")) >= 2, seconds=30)
    assert [line["count"] for line in lines(tmp_path / "record")][:2] == [1, 2]
    drain(bus, "short-lock")


@pytest.mark.skipif(
    not _has_extension(), reason="azurefunctions-extensions-bindings-servicebus is not installed"
)
def test_a_function_settles_with_the_preview_extension(
    own_host: Callable[..., Any], bus: Bus, tmp_path: Path
) -> None:
    code = (
        APP
        + """
import azurefunctions.extensions.bindings.servicebus as sb

@app.service_bus_queue_trigger(arg_name="msg", queue_name="manual", connection="BUS",
                               auto_complete_messages=False)
def settle(msg: sb.ServiceBusReceivedMessage, actions: sb.ServiceBusMessageActions) -> None:
    record({"body": str(msg), "id": msg.message_id, "properties": len(msg.application_properties or {})})
    actions.renew_message_lock(msg)
    if str(msg) == "bad":
        actions.deadletter(msg, deadletter_reason="permanent", deadletter_error_description="no archive")
    else:
        actions.complete(msg)
"""
    )
    with own_host(code) as running:
        bus.send("manual", "bad", "good")
        wait_for(lambda: running.log.count("Executed 'Functions.settle' (Succeeded") == 2, seconds=30)
        wait_for(lambda: bus.peek("manual") == [])
        with bus.dead_letters("manual") as receiver:
            message = wait_for(lambda: receiver.receive_messages(max_wait_time=1))[0]
            assert (str(message), message.dead_letter_reason) == ("bad", "permanent")
            assert message.dead_letter_error_description == "no archive"
            receiver.complete_message(message)


def test_the_trigger_recovers_with_the_broker(tmp_path: Path) -> None:
    with ExitStack() as stack:
        _check_that_the_trigger_comes_back(tmp_path, stack)


def _check_that_the_trigger_comes_back(tmp_path: Path, stack: ExitStack) -> None:
    service = start_bus(tmp_path)
    stack.callback(end, service)
    port = int(service.addresses["amqp"].rpartition(":")[2])
    output = tmp_path / "output"
    output.mkdir()
    with example_host(_connection_string(service), output) as running:
        send(service, "before")
        wait_for(lambda: seen(output, "orders-done", "before"))
        service.kill()
        wait_for(lambda: running.log.count("trigger on_order cannot receive") == 1, seconds=60)
        service = start_bus(tmp_path, port)
        stack.callback(end, service)
        send(service, "after")
        wait_for(lambda: seen(output, "orders-done", "after"), seconds=60)
        wait_for(lambda: "trigger on_order receives from 'orders' again" in running.log)
        assert running.log.count("trigger on_order cannot receive") == 1


def send(service: RunningService, body: str) -> None:
    with ServiceBusClient.from_connection_string(_connection_string(service)) as client:
        Bus(service, client).send("orders", body)


def drain(bus: Bus, queue: str) -> None:
    """Empty the queue for the next test."""
    with bus.client.get_queue_receiver(queue) as receiver:
        while bus.peek(queue):  # locked messages are peeked too, and become available later
            for message in receiver.receive_messages(max_message_count=10, max_wait_time=6):
                receiver.complete_message(message)
