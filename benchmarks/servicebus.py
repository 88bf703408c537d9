"""What the local Service Bus costs: server CPU a message, memory a queued message, and what depth does.

    python -m benchmarks.servicebus

CPU is the server process's own, by psutil, so a busy machine does not change it much.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from azure.servicebus import ServiceBusClient, ServiceBusMessage

from localcloud.servicebus.amqp import codec
from localcloud.servicebus.amqp.performatives import DISPOSITION, TRANSFER
from localcloud.servicebus.messages import BATCH_FORMAT
from tests.support.raw_amqp import RawClient, message
from tests.support.services import RunningService, running_service

BODY = b"x" * 200
WINDOW = 500
RAW_MESSAGES = 40_000
SDK_MESSAGES = 2_000
DEEP = 100_000


def config(folder: Path) -> Path:
    names = ("raw", "sdk", "deep")
    queues = [{"Name": name, "Properties": {"LockDuration": "PT5M"}} for name in names]
    path = folder / "Config.json"
    namespace = {"Name": "sbemulatorns", "Queues": queues, "Topics": []}
    path.write_text(json.dumps({"UserConfig": {"Namespaces": [namespace]}}))
    return path


def raw_send(client: RawClient, count: int) -> None:
    """Pipelined: a window of transfers in one write, then its acknowledgements."""
    payload = message(BODY, "m" * 32)
    for start in range(0, count, WINDOW):
        numbers = range(start, min(start + WINDOW, count))
        client.send_bytes(b"".join(client.transfer(number, payload) for number in numbers))
        acknowledged = 0
        while acknowledged < len(numbers):
            fields, _ = client.expect(DISPOSITION)
            acknowledged += fields[2] - fields[1] + 1


def raw_send_batches(client: RawClient, count: int) -> None:
    """Pipelined as well, with batches of 100 messages as the SDKs send lists."""
    item = codec.described(0x75, codec.binary(message(BODY, "m" * 32)))
    for start in range(0, count // 100, 5):
        numbers = range(start, start + 5)
        client.send_bytes(
            b"".join(client.transfer(number, item * 100, message_format=BATCH_FORMAT) for number in numbers)
        )
        acknowledged = 0
        while acknowledged < len(numbers):
            fields, _ = client.expect(DISPOSITION)
            acknowledged += fields[2] - fields[1] + 1


def raw_receive(client: RawClient, count: int) -> None:
    """Receive a window of messages, complete them in one disposition, and await its confirmation."""
    for start in range(0, count, WINDOW):
        wanted = min(WINDOW, count - start)
        client.flow(wanted, delivery_count=start)
        received = 0
        while received < wanted:
            client.expect(TRANSFER)
            received += 1
        client.complete(start, start + wanted - 1)
        confirmed = 0
        while confirmed < wanted:
            fields, _ = client.expect(DISPOSITION)
            confirmed += fields[2] - fields[1] + 1


def measured(process: psutil.Process, count: int, work: Callable[[], None]) -> tuple[float, float]:
    """Server CPU in us a message, and messages a second."""
    before, started = sum(process.cpu_times()[:2]), time.perf_counter()
    work()
    elapsed = time.perf_counter() - started
    return (sum(process.cpu_times()[:2]) - before) / count * 1e6, count / elapsed


def raw_figures(service: RunningService, port: int) -> dict[str, tuple[float, float]]:
    process = psutil.Process(service.process.pid)
    with RawClient(port) as sender, RawClient(port) as receiver, RawClient(port) as batcher:
        sender.login()
        sender.attach_sender("raw")
        receiver.login()
        receiver.attach_receiver("raw")
        send = measured(process, RAW_MESSAGES, lambda: raw_send(sender, RAW_MESSAGES))
        receive = measured(process, RAW_MESSAGES, lambda: raw_receive(receiver, RAW_MESSAGES))
        batcher.login()
        batcher.attach_sender("raw")
        batches = measured(process, RAW_MESSAGES, lambda: raw_send_batches(batcher, RAW_MESSAGES))
    return {
        "raw send, 500 transfers in flight": send,
        "raw send, batches of 100": batches,
        "raw receive + complete, 500 at a time": receive,
    }


def reference_loop() -> float:
    """CPU in ns of one step of a plain Python loop: how fast this machine is at the moment."""
    started, slots = time.process_time(), dict[int, tuple[int, int]]()
    for number in range(500_000):
        slots[number & 1023] = (number, number + 1)
    return (time.process_time() - started) / 500_000 * 1e9


def sdk_figures(service: RunningService, port: int) -> dict[str, tuple[float, float]]:
    process = psutil.Process(service.process.pid)
    connection = (
        f"Endpoint=sb://localhost:{port};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
    )
    with ServiceBusClient.from_connection_string(connection) as client:
        with client.get_queue_sender("sdk") as sender:
            batch = [ServiceBusMessage(BODY) for _ in range(100)]

            def send() -> None:
                for _ in range(SDK_MESSAGES // 100):
                    sender.send_messages(batch)

            sent = measured(process, SDK_MESSAGES, send)
        with client.get_queue_receiver("sdk", prefetch_count=200) as receiver:

            def receive() -> None:
                count = 0
                while count < SDK_MESSAGES:
                    for received in receiver.receive_messages(100, max_wait_time=10):
                        receiver.complete_message(received)
                        count += 1

            completed = measured(process, SDK_MESSAGES, receive)
    return {"SDK send, batches of 100": sent, "SDK receive + complete": completed}


def round_trip(client: RawClient, count: int, start: int) -> float:
    """Median time in us of receiving and completing one message at a time."""
    times = []
    for number in range(start, start + count):
        started = time.perf_counter()
        client.flow(1, delivery_count=number)
        fields, _ = client.expect(TRANSFER)
        client.complete(fields[1], fields[1])
        client.expect(DISPOSITION)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e6


def peek_time(client: RawClient, from_sequence: int, count: int) -> float:
    """Median time in us of peeking one message."""
    fields = [
        (codec.string("from-sequence-number"), codec.long(from_sequence)),
        (codec.string("message-count"), codec.int_(1)),
    ]
    operation = codec.map_([(codec.string("operation"), codec.string("com.microsoft:peek-message"))])
    request = (
        codec.described(0x73, codec.list_([codec.string("id")]))
        + codec.described(0x74, operation)
        + codec.described(0x77, codec.map_(fields))
    )
    times = []
    for number in range(count):
        started = time.perf_counter()
        client.send_bytes(client.transfer(number, request))
        client.expect(TRANSFER)
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e6


def depth_figures(service: RunningService, port: int) -> dict[str, float]:
    process = psutil.Process(service.process.pid)
    with RawClient(port) as sender, RawClient(port) as receiver, RawClient(port) as manager:
        for client in (sender, receiver, manager):
            client.login()
        sender.attach_sender("deep")
        receiver.attach_receiver("deep")
        manager.attach_sender("deep/$management")
        manager.attach_receiver("deep/$management")
        manager.flow(1_000_000)
        raw_send(sender, 300)
        shallow = round_trip(receiver, 200, 0), peek_time(manager, 250, 200)
        before = process.memory_info().rss
        raw_send(sender, DEEP)
        memory = (process.memory_info().rss - before) / DEEP
        deep = round_trip(receiver, 200, 200), peek_time(manager, DEEP // 2, 200)
    return {
        "memory a queued 200-byte message, bytes": memory,
        "receive + complete one, 100 queued, us": shallow[0],
        f"receive + complete one, {DEEP} queued, us": deep[0],
        "peek one, 100 queued, us": shallow[1],
        f"peek one in the middle of {DEEP}, us": deep[1],
    }


def main() -> None:
    before = reference_loop()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("--admin-port", "0", "--config", str(config(Path(folder))))
        with running_service("localcloud.servicebus", *arguments, data=Path(folder) / "data") as service:
            port = int(service.addresses["amqp"].rpartition(":")[2])
            rates = raw_figures(service, port) | sdk_figures(service, port)
            depths = depth_figures(service, port)
    print(f"reference loop: {before:.0f} ns before, {reference_loop():.0f} ns after")
    print(f"{'operation':42}{'server CPU us':>14}{'messages/s':>12}")
    for name, (cpu, rate) in rates.items():
        print(f"{name:42}{cpu:14.1f}{rate:12.0f}")
    print()
    for name, value in depths.items():
        print(f"{name:42}{value:14.0f}")


if __name__ == "__main__":
    main()
