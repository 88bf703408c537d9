"""Helpers for the synchronous SDK, which wait long enough for a busy machine."""

import time
from collections.abc import Callable
from typing import Any

from azure.servicebus import ServiceBusReceivedMessage, ServiceBusReceiver


def receive(receiver: ServiceBusReceiver, count: int = 1) -> list[ServiceBusReceivedMessage]:
    """Receive exactly `count` messages, because the SDK may return fewer at a time."""
    found: list[ServiceBusReceivedMessage] = []
    deadline = time.monotonic() + 30
    while len(found) < count and time.monotonic() < deadline:
        found += receiver.receive_messages(count - len(found), max_wait_time=10)
    assert len(found) == count
    return found


def receive_one(receiver: ServiceBusReceiver) -> ServiceBusReceivedMessage:
    return receive(receiver)[0]


def bodies(messages: list[ServiceBusReceivedMessage]) -> list[str]:
    return [str(message) for message in messages]


def eventually(look: Callable[[], Any], seconds: float = 20) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
