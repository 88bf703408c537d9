"""Keeps a worker that stood still for longer than its lease lives from writing where others have been since.

Each turn of the threading lease has a number, higher than all before. Each partition of messages and of
threads has a small document with the number of the last turn that wrote there, or looked. Every batch of a
turn raises it, and is refused as a whole where it is higher already. Cosmos DB decides, so it does not matter
how late a request arrives.
"""

import logging
from typing import TYPE_CHECKING, Any

from shared.core.errors import TransientError
from shared.core.lazy_import import lazy
from shared.documents.threads import FENCE, Message, Thread

if TYPE_CHECKING:
    from azure.cosmos import exceptions as cosmos
    from azure.cosmos.aio import ContainerProxy
else:
    cosmos = lazy("azure.cosmos.exceptions")

log = logging.getLogger(__name__)
HTTP_NOT_FOUND = 404
FENCED = frozenset({Message.container, Thread.container})


class TurnOverError(TransientError):
    """The lease ran out, and who holds it since has been at this partition: nothing was written."""


async def fenced_batch(
    container: "ContainerProxy", operations: list[tuple[Any, ...]], partition: str, turn: int
) -> Any:
    """Run the batch in this turn. An error's index is that of the operation, as if there were no fence."""
    while True:
        try:
            return await container.execute_item_batch(
                [_raising(turn), *operations], partition, no_response=True
            )
        except cosmos.CosmosBatchOperationError as error:
            if error.error_index > 0:
                error.error_index -= 1
                raise
            if error.status_code != HTTP_NOT_FOUND:
                raise TurnOverError from error
        await _make_fence(container, partition)  # the first time in this partition


def _raising(turn: int) -> tuple[Any, ...]:
    """Raise the fence to this turn, or fail."""
    operations = [{"op": "set", "path": "/turn", "value": turn}]
    return ("patch", (FENCE, operations), {"filter_predicate": f"FROM c WHERE c.turn <= {turn:d}"})


async def _make_fence(container: "ContainerProxy", partition: str) -> None:
    """It lets everybody pass. It has no field of a message or thread, so their queries skip it."""
    try:
        await container.create_item({"id": FENCE, "shelf": partition, "turn": 0})
    except cosmos.CosmosResourceExistsError:
        log.debug("somebody else made the fence of partition %s", partition)
