"""From a Functions trigger to the stage's runner.

By default a function takes the message and the host settles it by the function's end. With the app setting
SERVICEBUS_SETTLEMENT=preview, and `azurefunctions-extensions-bindings-servicebus` installed, the stage
settles its message itself: a permanent failure is dead-lettered at once, with our reason.
"""

import os
from typing import Any
from weakref import WeakKeyDictionary

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.pipeline.delivery import Delivery
from shared.pipeline.runner import StageRunner
from shared.pipeline.stage import Stage
from stages.preview_settlement import PreviewSettlement

__all__ = ["CONNECTION", "SETTLEMENT", "register_stage", "run_stage"]

CONNECTION = "SERVICEBUS_CONNECTION"
SETTLEMENT = "SERVICEBUS_SETTLEMENT"
PREVIEW = "preview"
_runners: WeakKeyDictionary[Clients, dict[str, StageRunner[Any]]] = WeakKeyDictionary()


async def run_stage(stage: Stage[Any], delivery: Delivery) -> None:
    """Run the stage on a delivery. An error that goes through has the host abandon the message."""
    connected = await clients()
    runners = _runners.setdefault(connected, {})
    if stage.name not in runners:
        runners[stage.name] = StageRunner(stage, connected)
    await runners[stage.name].run(delivery)


def register_stage(blueprint: func.Blueprint, stage: Stage[Any]) -> None:
    """Give the stage its function, on the queue of its own name."""
    if os.environ.get(SETTLEMENT) == PREVIEW:
        run, automatic = _settling(stage), False
    else:
        run, automatic = _settled_by_host(stage), True
    trigger = blueprint.service_bus_queue_trigger(
        arg_name="msg", queue_name=stage.name, connection=CONNECTION, auto_complete_messages=automatic
    )
    blueprint.function_name(stage.name)(trigger(run))


def _settled_by_host(stage: Stage[Any]) -> Any:
    async def run(msg: func.ServiceBusMessage) -> None:
        await run_stage(stage, Delivery.from_functions(msg))

    return run


def _settling(stage: Stage[Any]) -> Any:
    # Not a dependency: who switches this on installs it.
    import azurefunctions.extensions.bindings.servicebus as sb  # type: ignore[import-not-found]  # noqa: PLC0415

    async def run(msg: Any, actions: Any) -> None:
        await run_stage(stage, Delivery.from_sdk(msg, PreviewSettlement(msg, actions)))

    # The worker goes by the annotations; they are known only here.
    run.__annotations__ |= {"msg": sb.ServiceBusReceivedMessage, "actions": sb.ServiceBusMessageActions}
    return run
