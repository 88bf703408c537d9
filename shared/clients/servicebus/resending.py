"""Sends dead letters to their stage's queue again, each under a new id that tells where it came from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.clients.servicebus.dead_letters import DeadLetter
from shared.clients.servicebus.message_copy import REQUEUED_BY, REQUEUED_FROM, MessageCopy
from shared.core.ids import resubmitted_id
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from azure.servicebus import ServiceBusMessageBatch, exceptions
    from azure.servicebus.aio import ServiceBusSender
    from azure.servicebus.amqp import AmqpAnnotatedMessage
else:
    exceptions = lazy("azure.servicebus.exceptions")


Resubmission = tuple[int, str | None, MessageCopy]
"""The sequence number, the original message id, and the message."""


def resubmission(letter: DeadLetter) -> Resubmission:
    return letter.sequence_number, letter.message_id, letter.copy


async def send_again(
    sender: "ServiceBusSender", queue: str, operation: str, letters: Sequence[Resubmission]
) -> dict[int, str]:
    """Send them; the numbers of those that cannot be sent, and why."""
    sending = _Sending(sender, await sender.create_message_batch())
    for number, original, copy in letters:
        message = _outgoing(operation, queue, number, original, copy)
        if copy.travels_alone:
            await sending.send_alone(number, message)
        else:
            await sending.add(number, message)
    await sending.flush()
    return sending.refused


@dataclass
class _Sending:
    """Fills one batch after the other. A batch is accepted as a whole or not at all."""

    sender: "ServiceBusSender"
    batch: "ServiceBusMessageBatch"
    members: list[tuple[int, "AmqpAnnotatedMessage"]] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)

    async def add(self, number: int, message: "AmqpAnnotatedMessage") -> None:
        if self._fits(message) or (self.members and await self._fits_after_flush(message)):
            self.members.append((number, message))
        else:
            await self.send_alone(number, message)  # the broker's word on it counts

    def _fits(self, message: "AmqpAnnotatedMessage") -> bool:
        try:
            self.batch.add_message(message)
        except (ValueError, TypeError):  # it is full, or the SDK cannot write the message
            return False
        return True

    async def _fits_after_flush(self, message: "AmqpAnnotatedMessage") -> bool:
        await self.flush()
        return self._fits(message)

    async def flush(self) -> None:
        members, batch = self.members, self.batch
        if not members:
            return
        self.members, self.batch = [], await self.sender.create_message_batch()
        try:
            await self.sender.send_messages(batch)
        except exceptions.MessageSizeExceededError:  # the SDK's idea of a batch's size is a little too small
            for number, message in members:
                await self.send_alone(number, message)

    async def send_alone(self, number: int, message: "AmqpAnnotatedMessage") -> None:
        try:
            await self.sender.send_messages(message)
        except (exceptions.MessageSizeExceededError, ValueError, TypeError) as error:
            self.refused[number] = " ".join(str(error).split())


def _outgoing(
    operation: str, queue: str, number: int, original: str | None, copy: MessageCopy
) -> "AmqpAnnotatedMessage":
    more = {REQUEUED_BY: operation, **({REQUEUED_FROM: original} if original else {})}
    return copy.outgoing(message_id=resubmitted_id(operation, queue, number, original), more=more)
