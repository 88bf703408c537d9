"""What becomes of a message after its function ran, and the locks while it runs.

Nothing here receives: it settles through a `Receiver`, which azure-servicebus's receiver satisfies.
"""

import asyncio
import logging
from collections.abc import Sequence
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
    """The messages of one invocation, by lock token, until each is settled or the invocation is over."""

    def __init__(self, receiver: Receiver, messages: Sequence[ServiceBusReceivedMessage]) -> None:
        self._receiver = receiver
        self._open = {str(message.lock_token): message for message in messages}
        self._over = False

    async def settle(self, operation: str, lock_token: str, **arguments: Any) -> None:
        """As the function asks: complete, abandon, defer or dead_letter."""
        message = self._message(lock_token)
        await getattr(self._receiver, f"{operation}_message")(message, **arguments)
        self._open.pop(lock_token, None)

    async def renew(self, lock_token: str) -> None:
        await self._receiver.renew_message_lock(self._message(lock_token))

    def _message(self, lock_token: str) -> ServiceBusReceivedMessage:
        if self._over:
            raise LookupError("the invocation is over: its messages are settled")
        if lock_token not in self._open:
            raise LookupError(
                f"no message of this invocation has the lock token {lock_token}, or it is settled"
            )
        return self._open[lock_token]

    async def finish(self, *, succeeded: bool, auto_complete: bool) -> None:
        """Settle what the function did not; what fails is logged, and the broker redelivers it.

        A failure abandons, whatever autoComplete says.
        """
        self._over = True
        if succeeded and not auto_complete:
            return
        settle = self._receiver.complete_message if succeeded else self._receiver.abandon_message
        for message in list(self._open.values()):
            try:
                await settle(message)
            except Exception as error:  # noqa: BLE001 - lost locks and lost connections are the broker's to mend
                line = "could not %s message %s (it will be redelivered): %s"
                log.error(line, "complete" if succeeded else "abandon", message.message_id, error)  # noqa: TRY400 - one line is enough


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
