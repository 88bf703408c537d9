"""Service Bus messages, built from AMQP as in the SDK, and a receiver that records their settlement."""

import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus._pyamqp.message import Header, Message, Properties
from azure.servicebus.exceptions import MessageAlreadySettled, MessageLockLostError

ENQUEUED_MS = 1_767_225_600_123  # 2026-01-01T00:00:00.123Z


def received(
    body: bytes = b"body",
    *,
    deliveries: int = 0,
    locked_seconds: float = 60,
    properties: dict[str | bytes, Any] | None = None,
    annotations: dict[str | bytes, Any] | None = None,
    ttl: int | None = None,
    value: Any = None,
    **fields: Any,
) -> ServiceBusReceivedMessage:
    """Return a message received in peek-lock mode."""
    message = Message(
        header=Header(delivery_count=deliveries, ttl=ttl),
        properties=Properties(**fields),
        application_properties=properties or {},
        data=[body] if value is None else None,
        value=value,
        message_annotations={
            b"x-opt-enqueued-time": ENQUEUED_MS,
            b"x-opt-sequence-number": 42,
            b"x-opt-locked-until": int((time.time() + locked_seconds) * 1000),
            **(annotations or {}),
        },
    )
    return ServiceBusReceivedMessage(message, receiver=None, lock_token=uuid.uuid4())


class RecordingReceiver:
    """A receiver that settles nothing, but returns the same results as the SDK's receiver."""

    def __init__(self, *, fail: Exception | None = None, lock_seconds: float = 60) -> None:
        self.done: list[tuple[str, str]] = []
        self.details: dict[str, Any] = {}
        self._settled: set[int] = set()
        self._fail = fail
        self._lock_seconds = lock_seconds

    async def complete_message(self, message: ServiceBusReceivedMessage) -> None:
        self._settle("complete", message)

    async def abandon_message(self, message: ServiceBusReceivedMessage) -> None:
        self._settle("abandon", message)

    async def defer_message(self, message: ServiceBusReceivedMessage) -> None:
        self._settle("defer", message)

    async def dead_letter_message(
        self,
        message: ServiceBusReceivedMessage,
        reason: str | None = None,
        error_description: str | None = None,
    ) -> None:
        self.details = {"reason": reason, "error_description": error_description}
        self._settle("dead_letter", message)

    async def renew_message_lock(self, message: ServiceBusReceivedMessage) -> datetime:
        if self._fail is not None:
            raise self._fail
        self.done.append(("renew", _body(message)))
        message._expiry = datetime.now(UTC) + timedelta(seconds=self._lock_seconds)
        return message._expiry

    def _settle(self, operation: str, message: ServiceBusReceivedMessage) -> None:
        if self._fail is not None:
            raise self._fail
        if id(message) in self._settled:
            raise MessageAlreadySettled(action=operation)
        self._settled.add(id(message))
        self.done.append((operation, _body(message)))


def _body(message: ServiceBusReceivedMessage) -> str:
    return b"".join(message.body).decode()


LOST = MessageLockLostError(message="The lock on the message lock has expired.")
