"""Dispatch of received messages: invocation and settlement."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from azure.servicebus import ServiceBusReceivedMessage

from localcloud.functions.actions import MessageActions, detached
from localcloud.functions.context import Trace
from localcloud.functions.definitions import Function, ServiceBusTrigger
from localcloud.functions.hostconfig import ServiceBusOptions
from localcloud.functions.invocation import Call, Invoker
from localcloud.functions.messages import message_argument, message_metadata
from localcloud.functions.settlement import Receiver, Settlement, keep_locked


@dataclass
class Dispatcher:
    """Runs a Service Bus function for the messages of its listener."""

    function: Function
    trigger: ServiceBusTrigger
    options: ServiceBusOptions
    invoker: Invoker

    async def dispatch(self, receiver: Receiver, message: ServiceBusReceivedMessage) -> None:
        """Run the function on a message, and settle it."""
        settlement = Settlement(receiver, message)
        succeeded = False
        try:
            with self._lock_kept(receiver, message):
                outcome = await self.invoker.invoke(self.function, self._call(settlement, message))
            succeeded = outcome.succeeded
        finally:  # also when the host stops: unfinished messages are abandoned
            override = self.trigger.auto_complete
            auto_complete = self.options.auto_complete_messages if override is None else override
            await settlement.finish(succeeded=succeeded, auto_complete=auto_complete)

    def _call(self, settlement: Settlement, message: ServiceBusReceivedMessage) -> Call:
        plan = self.function.plan
        argument = detached(message) if plan.sdk_message else message_argument(message)
        actions = MessageActions(settlement, asyncio.get_running_loop()) if plan.actions_parameter else None
        reason = f"New ServiceBus message detected on '{self.trigger.queue}'."
        return Call(argument, reason, _trace(message), actions=actions)

    @contextlib.contextmanager
    def _lock_kept(self, receiver: Receiver, message: ServiceBusReceivedMessage) -> Iterator[None]:
        seconds = self.options.max_auto_lock_renewal_seconds
        if seconds == 0:
            yield
            return
        renewal = asyncio.ensure_future(keep_locked(receiver, message, max_seconds=seconds))
        try:
            yield
        finally:
            renewal.cancel()


def _trace(message: ServiceBusReceivedMessage) -> Trace:
    properties = message_metadata(message)["ApplicationProperties"]
    parent = properties.get("Diagnostic-Id") or properties.get("traceparent") or ""
    return Trace(str(parent), str(properties.get("tracestate") or ""))
