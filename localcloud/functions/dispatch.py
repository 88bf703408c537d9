"""From received messages to an invocation and back to their settlement."""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
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
    """Runs one Service Bus function on what its listener receives."""

    function: Function
    trigger: ServiceBusTrigger
    options: ServiceBusOptions
    invoker: Invoker

    async def dispatch(self, receiver: Receiver, messages: Sequence[ServiceBusReceivedMessage]) -> None:
        """Run the function on one message, or on one batch of them, and settle them."""
        settlement = Settlement(receiver, messages)
        succeeded = False
        try:
            with self._locks_kept(receiver, messages):
                outcome = await self.invoker.invoke(self.function, self._call(settlement, messages))
            succeeded = outcome.succeeded
        finally:  # also when the host stops: what did not end is abandoned
            override = self.trigger.auto_complete
            auto_complete = self.options.auto_complete_messages if override is None else override
            await settlement.finish(succeeded=succeeded, auto_complete=auto_complete)

    def _call(self, settlement: Settlement, messages: Sequence[ServiceBusReceivedMessage]) -> Call:
        plan, many = self.function.plan, self.trigger.many
        if plan.sdk_message:
            argument = [detached(m) for m in messages] if many else detached(messages[0])
        else:
            argument = message_argument(
                messages, many=many, binary=self.trigger.binary, plain=plan.plain_body
            )
        actions = MessageActions(settlement, asyncio.get_running_loop()) if plan.actions_parameter else None
        count = f"{len(messages)} messages" if many else "New ServiceBus message"
        reason = f"{count} detected on '{self.trigger.entity}'."
        return Call(argument, reason, _trace(messages), actions=actions)

    @contextlib.contextmanager
    def _locks_kept(
        self, receiver: Receiver, messages: Sequence[ServiceBusReceivedMessage]
    ) -> Iterator[None]:
        """The real host renews the lock of a single message, but none of a batch."""
        seconds = self.options.max_auto_lock_renewal_seconds
        if self.trigger.many or seconds == 0:
            yield
            return
        renewals = [
            asyncio.ensure_future(keep_locked(receiver, message, max_seconds=seconds)) for message in messages
        ]
        try:
            yield
        finally:
            for renewal in renewals:
                renewal.cancel()


def _trace(messages: Sequence[ServiceBusReceivedMessage]) -> Trace:
    if len(messages) != 1:
        return Trace()
    properties = message_metadata(messages[0])["ApplicationProperties"]
    parent = properties.get("Diagnostic-Id") or properties.get("traceparent") or ""
    return Trace(str(parent), str(properties.get("tracestate") or ""))
