"""Settles through `azurefunctions-extensions-bindings-servicebus` (preview), where a setting asks for it.

With it a permanent failure is dead-lettered at once, with our own reason, instead of being delivered until
the broker's max delivery count. The package's calls are synchronous, so they run in a thread.

    @blueprint.service_bus_queue_trigger(..., auto_complete_messages=False)
    async def chunking(msg: sb.ServiceBusReceivedMessage, actions: sb.ServiceBusMessageActions) -> None:
        await runner.run(delivery_from_sdk(msg, PreviewSettlement(msg, actions)))
"""

import asyncio
from typing import Any

# The broker cuts both at this length, and refuses what is longer.
REASON_LENGTH = 4096


class PreviewSettlement:
    def __init__(self, message: Any, actions: Any) -> None:
        self._message = message
        self._actions = actions

    async def complete(self) -> None:
        await asyncio.to_thread(self._actions.complete, self._message)

    async def dead_letter(self, reason: str, description: str) -> bool:
        await asyncio.to_thread(
            self._actions.deadletter,
            self._message,
            deadletter_reason=reason[:REASON_LENGTH],
            deadletter_error_description=description[:REASON_LENGTH],
        )
        return True
