"""From a Functions trigger to the stage's runner."""

from typing import Any
from weakref import WeakKeyDictionary

import azure.functions as func

from shared.clients import Clients, clients
from shared.stage.delivery import Delivery
from shared.stage.runner import StageRunner
from shared.stage.stage import Stage

__all__ = ["CONNECTION", "run_stage"]

CONNECTION = "SERVICEBUS_CONNECTION"
_runners: WeakKeyDictionary[Clients, dict[str, StageRunner[Any]]] = WeakKeyDictionary()


async def run_stage(stage: Stage[Any], message: func.ServiceBusMessage) -> None:
    """Run the stage on a message. An error that goes through has the host abandon it."""
    connected = await clients()
    runners = _runners.setdefault(connected, {})
    if stage.name not in runners:
        runners[stage.name] = StageRunner(stage, connected)
    await runners[stage.name].run(Delivery.from_functions(message))
