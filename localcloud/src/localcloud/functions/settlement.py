"""Settlement of a message after its function ran, and renewal of its lock.

This module does not receive. It settles through a `Receiver`, such as azure-servicebus's receiver.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any, Protocol

from azure.servicebus import ServiceBusReceivedMessage

log = logging.getLogger(__name__)

RENEW_AHEAD_SECONDS = 10.0
SHORTEST_PAUSE_SECONDS = 0.2


class Receiver(Protocol):
    async def complete_message(self, message: ServiceBusReceivedMessage) -> None: ...

    async def abandon_message(self, message: ServiceBusReceivedMessage) -> None: ...

    async def renew_message_lock(self, message: ServiceBusReceivedMessage) -> datetime: ...


class Settlement:
    """The message of an invocation, until it is settled or the invocation ends."""

    def __init__(self, receiver: Receiver, message: ServiceBusReceivedMessage) -> None:
        self._receiver = receiver
        self._message = message
        self._settled = False
        self._over = False

    async def settle(self, operation: str, lock_token: str, **arguments: Any) -> None:
        """Complete, abandon, defer or dead_letter the message for the function."""
        self._check(lock_token)
        await getattr(self._receiver, f"{operation}_message")(self._message, **arguments)
        self._settled = True

    async def renew(self, lock_token: str) -> None:
        self._check(lock_token)
        await self._receiver.renew_message_lock(self._message)

    def _check(self, lock_token: str) -> None:
        if self._over:
            raise LookupError("the invocation is over: its message is settled")
        if self._settled or lock_token != str(self._message.lock_token):
            raise LookupError(f"no unsettled message of this invocation has the lock token {lock_token}")

    async def finish(self, *, succeeded: bool, auto_complete: bool) -> None:
        """Settle the message if the function did not. An error is logged, and the broker redelivers.

        A failed function abandons the message, even without autoComplete.
        """
        self._over = True
        if self._settled or (succeeded and not auto_complete):
            return
        settle = self._receiver.complete_message if succeeded else self._receiver.abandon_message
        try:
            await settle(self._message)
        except Exception as error:  # noqa: BLE001 - the broker handles lost locks and connections
            line = "could not %s message %s (it will be redelivered): %s"
            log.error(line, "complete" if succeeded else "abandon", self._message.message_id, error)  # noqa: TRY400


async def keep_locked(receiver: Receiver, message: ServiceBusReceivedMessage, *, max_seconds: float) -> None:
    """Renew the lock before it expires, until canceled or for max_seconds.

    A negative value means no limit.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + max_seconds if max_seconds >= 0 else None
    while (locked_until := message.locked_until_utc) is not None:
        left = (locked_until - datetime.now(UTC)).total_seconds()
        pause = max(left - min(left / 2, RENEW_AHEAD_SECONDS), SHORTEST_PAUSE_SECONDS)
        if deadline is not None and loop.time() + pause > deadline:
            return
        await asyncio.sleep(pause)
        try:
            await receiver.renew_message_lock(message)
        except Exception as error:  # noqa: BLE001 - settling will report the lost lock
            log.warning("the lock of message %s could not be renewed: %s", message.message_id, error)
            return
