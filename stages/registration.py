"""Connect a Functions trigger to the stage's runner. By default, the host settles the message.

With SERVICEBUS_SETTLEMENT=preview and `azurefunctions-extensions-bindings-servicebus`, the stage settles it.
A permanent failure then becomes a dead letter at once, with its reason.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import azure.functions as func

from shared.azure.connections import Clients, clients
from shared.azure.servicebus.bus import ReceivedMessage
from shared.azure.telemetry.metrics import PipelineSpan, consumer_span
from shared.core.errors import InvalidEventError
from shared.pipeline.delivery import Delivery, RaiseToAbandon, Settlement
from shared.pipeline.runner import StageRunner, run_request
from shared.pipeline.stage import Stage
from shared.pipeline.topology import QueueRow

CONNECTION = "SERVICEBUS_CONNECTION"
SETTLEMENT = "SERVICEBUS_SETTLEMENT"
PREVIEW = "preview"
RequestWork = Callable[[bytes, Clients, PipelineSpan], Awaitable[Any]]
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
    """Register the stage's Function on its queue. After an error the host abandons the message."""
    if os.environ.get(SETTLEMENT) == PREVIEW:
        _register(blueprint, stage.name, _settled_by_stage(stage), auto_complete=False)
    else:
        _register(blueprint, stage.name, _settled_by_host(stage))


def _register(blueprint: func.Blueprint, queue: str, run: Any, *, auto_complete: bool = True) -> None:
    trigger = blueprint.service_bus_queue_trigger(
        arg_name="msg", queue_name=queue, connection=CONNECTION, auto_complete_messages=auto_complete
    )
    blueprint.function_name(queue)(trigger(run))


def register_request(
    blueprint: func.Blueprint, row: QueueRow, work: RequestWork, *, name: str | None = None
) -> None:
    """Register the Function of a queue that belongs to no stage. `name` is the name of its span."""

    async def run(msg: func.ServiceBusMessage) -> None:
        connected, delivery = await clients(), delivery_from_functions(msg)
        with consumer_span(name or row.name, delivery.properties) as recording:
            await run_request(row, delivery, connected, lambda: work(delivery.body, connected, recording))

    _register(blueprint, row.name, run)


def read_request(body: bytes, id_: str) -> dict[str, Any]:
    """Return the request, a JSON object with a string in this id field."""
    try:
        request = json.loads(body)
    except ValueError as error:
        raise InvalidEventError(f"the message is not JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get(id_), str):
        raise InvalidEventError(f"{id_}: missing or not a string")
    return request


def _settled_by_host(stage: Stage[Any]) -> Any:
    async def run(msg: func.ServiceBusMessage) -> None:
        await StageRunner(stage, await clients()).run(delivery_from_functions(msg))

    return run


def _settled_by_stage(stage: Stage[Any]) -> Any:
    # Not a dependency: the operator who enables the setting installs the package.
    import azurefunctions.extensions.bindings.servicebus as sb  # type: ignore[import-not-found]  # noqa: PLC0415

    async def run(msg: Any, actions: Any) -> None:
        delivery = delivery_from_sdk(msg, PreviewSettlement(msg, actions))
        await StageRunner(stage, await clients()).run(delivery)

    # The Functions worker reads the annotations, which are known only here.
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
    """Convert a message of the SDK, whose count excludes this delivery."""
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
    """Return the time with a zone, which the host may omit."""
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
