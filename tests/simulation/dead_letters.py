"""The part of a receiver that shared.azure.servicebus uses: peeking at a queue and receiving dead letters."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

from azure.servicebus import exceptions
from azure.servicebus.amqp import AmqpMessageBodyType

from localcloud.testing import ServiceBusEngine

if TYPE_CHECKING:
    from tests.simulation.servicebus import Broker


class SimulatedReceiver:
    def __init__(self, broker: "Broker", queue: ServiceBusEngine.Queue) -> None:
        self._broker, self._queue = broker, queue

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Locked messages return when their locks end."""

    async def close(self) -> None:
        """Nothing to close."""

    async def peek_messages(self, *, max_message_count: int, sequence_number: int) -> list[Any]:
        def effect() -> list[Any]:
            return [self._seen(message) for message in self._queue.peek(sequence_number, max_message_count)]

        found: list[Any] = await self._broker.call("peek", effect, self._queue.path)
        return found

    async def receive_messages(self, *, max_message_count: int, max_wait_time: float) -> list[Any]:
        def effect() -> list[Any]:
            taken = [self._queue.take() for _ in range(max_message_count)]
            return [self._seen(message) for message in taken if message is not None]

        found: list[Any] = await self._broker.call("receive", effect, self._queue.path)
        if not found:
            await asyncio.sleep(max_wait_time)
        return found

    async def complete_message(self, message: Any) -> None:
        await self._settle(message, "complete")

    async def abandon_message(self, message: Any) -> None:
        await self._settle(message, "abandon")

    async def _settle(self, message: Any, how: str) -> None:
        def effect() -> None:
            try:
                getattr(self._queue, how)(message.lock)
            except ServiceBusEngine.Error as error:
                raise exceptions.MessageLockLostError(message="the lock is lost") from error
            finally:
                self._broker.changed()

        await self._broker.call(how, effect, self._queue.path)

    def _seen(self, message: ServiceBusEngine.Message) -> Any:
        content = self._broker.content(message)
        properties = SimpleNamespace(message_id=content.message_id, content_type="application/json")
        raw = SimpleNamespace(
            body_type=AmqpMessageBodyType.DATA,
            body=[content.body],
            properties=properties,
            header=None,
            application_properties=dict(content.properties),
            annotations={},
            footer={},
        )
        return SimpleNamespace(
            raw_amqp_message=raw,
            sequence_number=message.sequence,
            enqueued_time_utc=_utc(message.enqueued_at),
            delivery_count=message.delivery_count,
            locked_until_utc=_utc(message.locked_until) if message.lock is not None else None,
            lock=message.lock,
            body=[content.body],
            application_properties=dict(content.properties),
            message_id=content.message_id,
        )


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
