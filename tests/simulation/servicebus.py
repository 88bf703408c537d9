"""The engine of the local Service Bus on virtual time, without AMQP: sending, delivery and settlement."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias

from azure.servicebus import ServiceBusMessage
from azure.servicebus import exceptions as servicebus

from localcloud.testing import Clock, ServiceBusEngine
from tests.simulation.chance import Fault
from tests.simulation.dead_letters import SimulatedReceiver
from tests.simulation.loop import NOBODY
from tests.simulation.network import Errors, Network
from tests.support.services import ROOT

CONFIG: dict[str, Any] = json.loads((ROOT / "infra/servicebus/Config.json").read_text())
Queue: TypeAlias = ServiceBusEngine.Queue
Message: TypeAlias = ServiceBusEngine.Message
LOSE_LOCK_RATE = 0.15
REORDER_RATE = 0.3
REORDERED = 4
BATCH_BYTES = 250_000
DUPLICATE_WINDOW = 5 * 60 * 1000  # milliseconds, as the design assumes


@dataclass(frozen=True)
class Content:
    """The part of a message that a receiver sees."""

    body: bytes
    message_id: str
    subject: str
    correlation_id: str
    properties: Mapping[str, Any]


class Receiver(Protocol):
    """A host, as far as the broker needs it."""

    name: str
    alive: bool
    context: Any

    def has_room(self, queue: str) -> bool: ...
    def receive(self, queue: Queue, message: Message, token: bytes) -> None: ...
    def expect(self, queue: str) -> None: ...


def _broken(sent: bool) -> Exception:
    return servicebus.ServiceBusConnectionError(message="the connection broke")


def _refused(fault: Fault) -> Exception:
    return servicebus.ServiceBusServerBusyError(message="the server is busy")


ERRORS = Errors(_broken, _refused)


class Broker:
    def __init__(
        self, network: Network, clock: Clock, config: Mapping[str, Any], functions: Sequence[str]
    ) -> None:
        self._network, self._loop = network, network.loop
        self.namespace = ServiceBusEngine(config, clock)
        self.receivers: list[Receiver] = []
        self.delivered = 0
        self._functions = sorted(functions)
        self.contents: dict[bytes, Content] = {}
        self.direct: set[str] = set()  # ids of messages that were sent to a queue directly
        self.arrived: dict[tuple[str, str], dict[int, int]] = {}  # sequence numbers and times
        self.repeated: list[str] = []
        self._timer_at: int | None = None
        self._turn_is_due = False
        # An optional gate: the broker then delivers one message at a time, if the gate allows it.
        self.may_deliver: Callable[[], bool] | None = None

    async def send(self, address: str, messages: Sequence[ServiceBusMessage]) -> None:
        entity = self.namespace.entity(address)

        def effect() -> None:
            if address in self.namespace.queues:
                self.direct.update(str(message.message_id) for message in messages)
            self.namespace.send(entity, [self._encoded(message) for message in messages])
            self.changed()

        about = f"{address} {','.join(str(message.subject) for message in messages)}"
        await self._network.call("bus", "send", effect, ERRORS, about)

    def _encoded(self, message: ServiceBusMessage) -> Message:
        body = b"".join(message.body)
        properties = {str(name): value for name, value in (message.application_properties or {}).items()}
        text = json.dumps(properties, sort_keys=True, default=str)
        named = [str(name) for name in (message.message_id, message.subject, message.correlation_id)]
        at = message.scheduled_enqueue_time_utc
        encoded = ServiceBusEngine.message(
            body,
            {"all": text},
            due_at=int(at.timestamp() * 1000) if at is not None else 0,
            message_id=named[0],
            subject=named[1],
            correlation_id=named[2],
            content_type="application/json",
        )
        self.contents[encoded.bare] = Content(body, named[0], named[1], named[2], properties)
        return encoded

    def content(self, message: Message) -> Content:
        found = self.contents.get(message.bare)
        if found is not None:
            return found
        # The broker adds its reason to a dead letter, which is still the same message.
        return next(content for content in self.contents.values() if content.body in message.bare)

    def changed(self) -> None:
        self.namespace.changes.clear_committed()
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._turn, context=NOBODY)

    def _turn(self) -> None:
        self._turn_is_due = False
        self.namespace.run_due()
        if self.may_deliver is not None:
            self._deliver_one(self.may_deliver)
        else:
            self._deliver_all()
        self.namespace.changes.ready.clear()
        self.namespace.changes.clear_committed()
        self._arm()

    def _deliver_one(self, may_deliver: Callable[[], bool]) -> None:
        queues = [self.namespace.queues[name] for name in self._functions]
        ready = [queue for queue in queues if queue.has_ready_entries]
        if not ready or not may_deliver():
            return
        queue = ready[int(self._network.chance.draw.random() * len(ready))]
        message = queue.take()
        if message is not None:
            self._deliver(self.receivers[0], queue, message)

    def _deliver_all(self) -> None:
        for name in self._functions:
            queue = self.namespace.queues[name]
            while queue.has_ready_entries:
                free = [host for host in self.receivers if host.has_room(name)]
                message = self._take(queue) if free else None
                if message is None:
                    break
                self._deliver(free[int(self._network.chance.draw.random() * len(free))], queue, message)

    def _take(self, queue: Queue) -> Message | None:
        chance = self._network.chance
        if chance.strike(Fault.REORDER, rate=REORDER_RATE) is None:
            return queue.take()
        taken = [message for _ in range(REORDERED) if (message := queue.take()) is not None]
        if not taken:
            return None
        chosen = taken.pop(int(chance.draw.random() * len(taken)))
        for message in taken:
            assert message.lock is not None
            queue.release(message.lock)
        return chosen

    def _deliver(self, host: Receiver, queue: Queue, message: Message) -> None:
        chance, token = self._network.chance, message.lock
        assert token is not None
        self.delivered += 1
        host.expect(queue.path)
        content = self.content(message)
        self._note_arrival(queue, message, content)
        self._network.trace(
            self._loop.time(), host.name, "deliver", queue.path, content.message_id[:12],
            f"delivery {message.delivery_count + 1}",
        )  # fmt: skip
        self._loop.call_later(chance.leg(), host.receive, queue, message, token, context=host.context)
        fault = chance.strike(Fault.LOSE_LOCK, Fault.REDELIVER, rate=LOSE_LOCK_RATE)
        if fault is not None:
            after = chance.draw.choice([0.01, 0.3, 30.0]) * chance.draw.random()
            self._loop.call_later(after, self._unlock, queue, token, fault, context=NOBODY)

    def _note_arrival(self, queue: Queue, message: Message, content: Content) -> None:
        """Record an arrival. An event reaches its stage only once within the duplicate window."""
        if content.message_id in self.direct:
            return
        arrived = self.arrived.setdefault((queue.path, content.message_id), {})
        others = [at for sequence, at in arrived.items() if sequence != message.sequence]
        if any(abs(message.enqueued_at - at) < DUPLICATE_WINDOW for at in others):
            self.repeated.append(f"an event came to {queue.path} twice within five minutes")
        arrived[message.sequence] = message.enqueued_at

    def _unlock(self, queue: Queue, token: bytes, fault: Fault) -> None:
        if token in queue.locked:
            self._network.trace(self._loop.time(), "broker", fault.upper(), queue.path)
            (queue.expire_lock if fault is Fault.LOSE_LOCK else queue.release)(token)
            self.changed()

    def forget_locks(self) -> None:
        """Forget all locks, as a restart does, so that locked messages are delivered again."""
        for queue in self.namespace.queues.values():
            for token in list(queue.locked):
                queue.release(token)
        self.changed()

    def _arm(self) -> None:
        when = self.namespace.next_deadline()
        if when is None or (self._timer_at is not None and self._timer_at <= when):
            return
        self._timer_at = when
        seconds = max(0.0, (when - self.namespace.now()) / 1000) + 0.001
        self._loop.call_later(seconds, self._due, context=NOBODY)

    def _due(self) -> None:
        self._timer_at = None
        self._turn()

    async def call(self, operation: str, effect: Callable[[], Any], about: str) -> Any:
        return await self._network.call("bus", operation, effect, ERRORS, about)

    async def settle(self, queue: Queue, token: bytes, how: str) -> None:
        def effect() -> None:
            try:
                getattr(queue, how)(token)
            except ServiceBusEngine.Error as error:
                raise servicebus.MessageLockLostError(message="the lock is lost") from error
            finally:
                self.changed()

        await self._network.call("bus", how, effect, ERRORS, queue.path)

    def is_idle(self) -> bool:
        waiting = [self.namespace.queues[name] for name in self._functions]
        return not any(entity.messages for entity in (*waiting, *self.namespace.topics.values()))

    def dead_letters(self) -> dict[str, list[Content]]:
        return {
            name: [self.content(message) for message in queue.dead_letters.messages.values()]
            for name, queue in self.namespace.queues.items()
            if queue.dead_letters is not None and queue.dead_letters.messages
        }

    def locks(self) -> int:
        return sum(len(queue.locked) for queue in self.namespace.queues.values())


class _Batch:
    def __init__(self) -> None:
        self.messages: list[ServiceBusMessage] = []
        self._bytes = 0

    def add_message(self, message: ServiceBusMessage) -> None:
        size = sum(len(part) for part in message.body) + 200
        if self.messages and self._bytes + size > BATCH_BYTES:
            raise ValueError("the batch is full")
        self.messages.append(message)
        self._bytes += size


class _Sender:
    def __init__(self, broker: Broker, address: str) -> None:
        self._broker, self._address = broker, address

    async def create_message_batch(self) -> _Batch:
        return _Batch()

    async def send_messages(self, messages: _Batch | list[ServiceBusMessage]) -> None:
        given = messages.messages if isinstance(messages, _Batch) else messages
        await self._broker.send(self._address, given)

    async def close(self) -> None:
        """Nothing to close."""


class SimulatedBusClient:
    """The part of ServiceBusClient that shared.azure.servicebus.bus.Bus uses."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def get_topic_sender(self, topic: str) -> _Sender:
        return _Sender(self._broker, topic)

    def get_queue_sender(self, queue: str) -> _Sender:
        return _Sender(self._broker, queue)

    def get_queue_receiver(self, queue: str, *, sub_queue: object = None) -> SimulatedReceiver:
        found = self._broker.namespace.queues[queue]
        return SimulatedReceiver(
            self._broker, found.dead_letters if sub_queue and found.dead_letters else found
        )

    async def close(self) -> None:
        """Nothing to close."""


def utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
