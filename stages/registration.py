"""From a Functions trigger to the stage's runner. The host settles a message by the function's end.

With the app setting SERVICEBUS_SETTLEMENT=preview and `azurefunctions-extensions-bindings-servicebus`
installed, the stage settles it itself: a permanent failure is dead-lettered at once, with our reason.
"""

import asyncio
import os
from datetime import UTC, datetime
from typing import Any

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.servicebus.bus import ReceivedMessage
from shared.pipeline.delivery import Delivery, RaiseToAbandon, Settlement
from shared.pipeline.runner import StageRunner
from shared.pipeline.stage import Stage

CONNECTION = "SERVICEBUS_CONNECTION"
SETTLEMENT = "SERVICEBUS_SETTLEMENT"
PREVIEW = "preview"
REASON_LENGTH = 4096  # the broker refuses a longer reason or description


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


def register_stage(blueprint: func.Blueprint, stage: Stage[Any]) -> None:
    """Give the stage its function on the queue of its name. After an error the host abandons the message."""
    if os.environ.get(SETTLEMENT) == PREVIEW:
        run, automatic = _settled_by_stage(stage), False
    else:
        run, automatic = _settled_by_host(stage), True
    trigger = blueprint.service_bus_queue_trigger(
        arg_name="msg", queue_name=stage.name, connection=CONNECTION, auto_complete_messages=automatic
    )
    blueprint.function_name(stage.name)(trigger(run))


def _settled_by_host(stage: Stage[Any]) -> Any:
    async def run(msg: func.ServiceBusMessage) -> None:
        await StageRunner(stage, await clients()).run(delivery_from_functions(msg))

    return run


def _settled_by_stage(stage: Stage[Any]) -> Any:
    # Not a dependency: who switches this on installs it.
    import azurefunctions.extensions.bindings.servicebus as sb  # type: ignore[import-not-found]  # noqa: PLC0415

    async def run(msg: Any, actions: Any) -> None:
        delivery = delivery_from_sdk(msg, PreviewSettlement(msg, actions))
        await StageRunner(stage, await clients()).run(delivery)

    # The worker goes by the annotations; they are known only here.
    run.__annotations__ |= {"msg": sb.ServiceBusReceivedMessage, "actions": sb.ServiceBusMessageActions}
    return run


def delivery_from_functions(message: func.ServiceBusMessage) -> Delivery:
    return Delivery(
        body=message.get_body(),
        message_id=message.message_id,
        delivery_count=message.delivery_count or 1,
        enqueued_at=_utc(message.enqueued_time_utc),
        properties=message.application_properties or {},
        subject=message.subject,
        correlation_id=message.correlation_id,
    )


def delivery_from_sdk(message: ReceivedMessage, settlement: Settlement | None = None) -> Delivery:
    """From a message of the SDK, which counts the deliveries before this one."""
    properties = message.application_properties or {}
    return Delivery(
        body=b"".join(message.body),
        message_id=message.message_id,
        delivery_count=(message.delivery_count or 0) + 1,
        enqueued_at=_utc(message.enqueued_time_utc),
        properties={_text(name): _text(value) for name, value in properties.items()},
        settlement=settlement or RaiseToAbandon(),
        subject=message.subject,
        correlation_id=message.correlation_id,
    )


def _utc(time: datetime | None) -> datetime | None:
    """The host may leave the zone out."""
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
