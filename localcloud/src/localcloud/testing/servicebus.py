"""A Service Bus namespace inside the test's process: queues, locks and settlement, without AMQP."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from localcloud.clock import Clock
from localcloud.servicebus.amqp import codec
from localcloud.servicebus.changes import SEQUENCE_BITS
from localcloud.servicebus.config import parse_config
from localcloud.servicebus.engine import Namespace
from localcloud.servicebus.entities import Queue
from localcloud.servicebus.errors import BrokerError
from localcloud.servicebus.messages import Message

NULL = b"\x40"
PROPERTIES, APPLICATION_PROPERTIES, BODY = 0x73, 0x74, 0x75


class SavedNamespace(NamedTuple):
    """The content of the broker's journal."""

    rows: list[tuple[int, Message]]
    counters: list[tuple[int, int]]
    duplicates: list[tuple[int, str, int]]


class ServiceBusEngine(Namespace):
    """A namespace from a Config.json of Microsoft's emulator, without the emulator's limits."""

    Queue: TypeAlias = Queue
    Message: TypeAlias = Message
    Saved: TypeAlias = SavedNamespace
    Error: TypeAlias = BrokerError

    def __init__(self, config: Mapping[str, Any], clock: Clock) -> None:
        numbers: dict[str, int] = {}
        parsed = parse_config(config, clamp=False)
        super().__init__(parsed, clock, lambda path: numbers.setdefault(path, len(numbers) + 1))

    @staticmethod
    def message(body: bytes, properties: Mapping[str, str], *, due_at: int = 0, **named: str) -> Message:
        """Return an encoded message. `named`: message_id, subject, correlation_id, content_type."""
        fields = [
            codec.string(named["message_id"]), NULL, NULL, codec.string(named["subject"]), NULL,
            codec.string(named["correlation_id"]), codec.symbol(named["content_type"]),
        ]  # fmt: skip
        pairs = [(codec.string(name), codec.string(value)) for name, value in properties.items()]
        bare = (
            codec.described(PROPERTIES, codec.list_(fields))
            + codec.described(APPLICATION_PROPERTIES, codec.map_(pairs))
            + codec.described(BODY, codec.binary(body))
        )
        return Message(bare, due_at=due_at)

    def save(self) -> SavedNamespace:
        queues = list(self.by_number.values())
        return SavedNamespace(
            [
                (queue.number << SEQUENCE_BITS, replace(message))
                for queue in queues
                for message in queue.messages.values()
            ],
            [(queue.number, queue.last_sequence) for queue in queues if queue.last_sequence],
            list(self._duplicates()),
        )

    def _duplicates(self) -> Iterator[tuple[int, str, int]]:
        for queue in self.by_number.values():
            if queue.history is not None:
                yield from ((queue.number, message_id, until) for until, message_id in queue.history.entries)

    def load(self, saved: SavedNamespace) -> None:
        """Load a saved state into an empty namespace."""
        self.restore(
            [(row, replace(message)) for row, message in saved.rows], saved.counters, saved.duplicates
        )
