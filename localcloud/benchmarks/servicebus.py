"""Benchmark of the local Service Bus: server CPU per message, memory per queued message, and effect of depth.

    python -m benchmarks.servicebus

CPU is the server process's. Compared measurements alternate, so that other load affects both. Each figure is
the median of its rounds, with the best round in parentheses.
"""

import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psutil
from azure.servicebus import ServiceBusClient, ServiceBusMessage

from localcloud.servicebus.amqp import codec
from localcloud.servicebus.amqp.performatives import DISPOSITION, TRANSFER
from localcloud.servicebus.messages import BATCH_FORMAT
from tests.support.raw_amqp import RawClient, message, request
from tests.support.services import RunningService, running_service

BODY = b"x" * 200
WINDOW = 500
ROUNDS = 8
DEPTH_ROUNDS = 20
ROUND_MESSAGES = 5_000
ROUND_TRIPS = 200
SDK_MESSAGES = 2_000
SHALLOW, DEEP = 100, 100_000


def config(folder: Path) -> Path:
    names = ("raw", "sdk", "shallow", "deep")
    queues = [{"Name": name, "Properties": {"LockDuration": "PT5M"}} for name in names]
    path = folder / "Config.json"
    namespace = {"Name": "sbemulatorns", "Queues": queues, "Topics": []}
    path.write_text(json.dumps({"UserConfig": {"Namespaces": [namespace]}}))
    return path


def raw_send(client: RawClient, count: int, *, first: int = 0) -> None:
    """Send pipelined: a window of transfers in one write, then read its acknowledgements."""
    payload = message(BODY, "m" * 32)
    for start in range(first, first + count, WINDOW):
        numbers = range(start, min(start + WINDOW, first + count))
        client.send_bytes(b"".join(client.transfer(number, payload) for number in numbers))
        acknowledged = 0
        while acknowledged < len(numbers):
            fields, _ = client.expect(DISPOSITION)
            acknowledged += fields[2] - fields[1] + 1


def raw_send_batches(client: RawClient, count: int) -> None:
    """Send pipelined batches of 100 messages, in the SDKs' format."""
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
    """Receive a window of messages, complete them in one disposition, and wait for its confirmation."""
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


def cpu_seconds(service: RunningService) -> float:
    """Return the server's CPU time. The kernel's count is more precise than psutil's ticks."""
    precise = Path(f"/proc/{service.process.pid}/schedstat")
    if precise.exists():
        return int(precise.read_text().split()[0]) / 1e9
    return sum(psutil.Process(service.process.pid).cpu_times()[:2])


def measured(service: RunningService, count: int, work: Callable[[], None]) -> float:
    """Return the server CPU in us for each of `count` operations."""
    before = cpu_seconds(service)
    work()
    return (cpu_seconds(service) - before) / count * 1e6


Figures = dict[str, list[float]]  # one value for each round


def raw_figures(service: RunningService, port: int) -> Figures:
    figures: Figures = defaultdict(list)
    for _ in range(ROUNDS):
        with RawClient(port) as sender, RawClient(port) as receiver, RawClient(port) as batcher:
            for client in (sender, receiver, batcher):
                client.login()
            sender.attach_sender("raw")
            batcher.attach_sender("raw")
            receiver.attach_receiver("raw")
            count = ROUND_MESSAGES
            for name, messages, work in (
                ("raw send, batches of 100", count, partial(raw_send_batches, batcher, count)),
                ("raw send, 500 transfers in flight", count, partial(raw_send, sender, count)),
                (
                    "raw receive + complete, 500 at a time",
                    2 * count,
                    partial(raw_receive, receiver, 2 * count),
                ),
            ):
                figures[name].append(measured(service, messages, work))
    return figures


def reference_loop() -> float:
    """Return the CPU time in ns of a step of a plain Python loop: the machine's current speed."""
    started, slots = time.process_time(), dict[int, tuple[int, int]]()
    for number in range(500_000):
        slots[number & 1023] = (number, number + 1)
    return (time.process_time() - started) / 500_000 * 1e9


def sdk_figures(service: RunningService, port: int) -> Figures:
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

            sent = measured(service, SDK_MESSAGES, send)
        with client.get_queue_receiver("sdk", prefetch_count=200) as receiver:

            def receive() -> None:
                count = 0
                while count < SDK_MESSAGES:
                    for received in receiver.receive_messages(100, max_wait_time=10):
                        receiver.complete_message(received)
                        count += 1

            completed = measured(service, SDK_MESSAGES, receive)
    return {"SDK send, batches of 100": [sent], "SDK receive + complete, one at a time": [completed]}


class Depth:
    """A queue of a given depth, with a receiver and a manager."""

    def __init__(self, service: RunningService, port: int, queue: str, depth: int, stack: ExitStack) -> None:
        self._service = service
        self._depth = depth
        self.sender, self.receiver, self.manager = (stack.enter_context(RawClient(port)) for _ in range(3))
        for client in (self.sender, self.receiver, self.manager):
            client.login()
        self.sender.attach_sender(queue)
        self.receiver.attach_receiver(queue)
        self.manager.attach_sender(f"{queue}/$management")
        self.manager.attach_receiver(f"{queue}/$management")
        self.manager.flow(1_000_000)
        self.sent = self.received = self.requests = 0
        self.send(depth)

    def send(self, count: int) -> None:
        raw_send(self.sender, count, first=self.sent)
        self.sent += count

    def round(self) -> tuple[float, float]:
        """Return the server CPU in us to receive and complete a message, and to peek one in the middle."""
        self.send(ROUND_TRIPS)
        trips = measured(self._service, ROUND_TRIPS, self._receive_singly)
        return trips, measured(self._service, ROUND_TRIPS, self._peek_singly)

    def _receive_singly(self) -> None:
        for _ in range(ROUND_TRIPS):
            self.receiver.flow(1, delivery_count=self.received)
            fields, _ = self.receiver.expect(TRANSFER)
            self.receiver.complete(fields[1], fields[1])
            self.receiver.expect(DISPOSITION)
            self.received += 1

    def _peek_singly(self) -> None:
        middle = self.received + self._depth // 2
        fields = {"from-sequence-number": codec.long(middle), "message-count": codec.int_(1)}
        peek = request("peek-message", **fields)
        for _ in range(ROUND_TRIPS):
            self.manager.send_bytes(self.manager.transfer(self.requests, peek))
            self.manager.expect(TRANSFER)
            self.requests += 1


def depth_figures(service: RunningService, port: int) -> tuple[float, Figures]:
    """Return the bytes of memory per queued message, and the figures by depth."""
    figures: Figures = defaultdict(list)
    process = psutil.Process(service.process.pid)
    with ExitStack() as stack:
        shallow = Depth(service, port, "shallow", SHALLOW, stack)
        before = process.memory_info().rss
        deep = Depth(service, port, "deep", DEEP, stack)
        memory = (process.memory_info().rss - before) / DEEP
        for _ in range(DEPTH_ROUNDS):
            for queue, depth in ((shallow, SHALLOW), (deep, DEEP)):
                trip, peek = queue.round()
                figures[f"receive + complete one, {depth:,} queued"].append(trip)
                figures[f"peek one, {depth:,} queued"].append(peek)
    return memory, figures


def show(figures: Figures) -> None:
    for name, rounds in figures.items():
        print(f"{name:42}{statistics.median(rounds):10.1f}{min(rounds):10.1f}")


def main() -> None:
    before = reference_loop()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("--admin-port", "0", "--config", str(config(Path(folder))))
        with running_service("servicebus", *arguments, data=Path(folder) / "data") as service:
            port = int(service.addresses["amqp"].rpartition(":")[2])
            rates = raw_figures(service, port) | sdk_figures(service, port)
            memory, depths = depth_figures(service, port)
    print(f"reference loop: {before:.0f} ns before, {reference_loop():.0f} ns after")
    print(f"memory a queued 200-byte message: {memory:.0f} bytes")
    print(f"{'server CPU, us a message or operation':42}{'median':>10}{'best':>10}")
    show(rates)
    show(depths)
    for kind in ("receive + complete one", "peek one"):
        shallow, deep = (depths[f"{kind}, {depth:,} queued"] for depth in (SHALLOW, DEEP))
        ratio = statistics.median(two / one for one, two in zip(shallow, deep, strict=True))
        best = min(deep) / min(shallow)
        print(f"{kind}: {DEEP:,} queued costs {ratio:.2f} times as much as {SHALLOW:,} (best: {best:.2f})")


if __name__ == "__main__":
    main()
