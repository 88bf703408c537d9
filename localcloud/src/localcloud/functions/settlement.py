"""What becomes of a message after its function ran, and the locks while it runs.

Nothing here receives: it settles through a `Receiver`, which azure-servicebus's receiver satisfies.
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
    """The message of one invocation, until it is settled or the invocation is over."""

    def __init__(self, receiver: Receiver, message: ServiceBusReceivedMessage) -> None:
        self._receiver = receiver
        self._message = message
        self._settled = False
        self._over = False

    async def settle(self, operation: str, lock_token: str, **arguments: Any) -> None:
        """As the function asks: complete, abandon, defer or dead_letter."""
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
            raise LookupError(
                f"no message of this invocation has the lock token {lock_token}, or it is settled"
            )

    async def finish(self, *, succeeded: bool, auto_complete: bool) -> None:
        """Settle it if the function did not; where that fails it is logged, and the broker redelivers.

        A failure abandons, whatever autoComplete says.
        """
        self._over = True
        if self._settled or (succeeded and not auto_complete):
            return
        settle = self._receiver.complete_message if succeeded else self._receiver.abandon_message
        try:
            await settle(self._message)
        except Exception as error:  # noqa: BLE001 - lost locks and lost connections are the broker's to mend
            line = "could not %s message %s (it will be redelivered): %s"
            log.error(line, "complete" if succeeded else "abandon", self._message.message_id, error)  # noqa: TRY400 - one line is enough


async def keep_locked(receiver: Receiver, message: ServiceBusReceivedMessage, *, max_seconds: float) -> None:
    """Renew the lock ahead of its end until cancelled or the time is up; a negative time has no end."""
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
        except Exception as error:  # noqa: BLE001 - the lock is lost: settling will say so
            log.warning("the lock of message %s could not be renewed: %s", message.message_id, error)
            return
