"""Operations on dead letters that are killed at a named step, for the tests."""

from typing import Any

from shared.azure.connections import Clients
from shared.azure.servicebus.dead_letter_mover import OperationObserver
from shared.operations.deadletters.operations import run_operation
from shared.settings.app import load_settings
from tests.support.kills import Step, serve

PATIENCE = 15.0


async def operate(asked: dict[str, Any], step: Step) -> None:
    clients = await Clients.connect(load_settings(asked["settings"]))
    try:
        await run_operation(
            clients, asked["operation"], watch=OperationObserver(step=step), patience=PATIENCE
        )
    finally:
        await clients.close()


if __name__ == "__main__":
    serve(operate)
