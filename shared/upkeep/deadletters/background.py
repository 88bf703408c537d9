"""Operations on dead letters that run in the background: requested on the operator's page."""

from collections.abc import Mapping
from typing import Any

from shared.clients.connections import Clients
from shared.documents.records import Audit
from shared.upkeep.audit import Actor, send_operation
from shared.upkeep.deadletters.actions import REQUEUE
from shared.upkeep.deadletters.operations import request_operation

LARGEST = 5000
RATE = 50.0


async def request_requeue(clients: Clients, queue: str, group: str, actor: Actor) -> Audit:
    """Ask for a group to be requeued in the background, in bounded time."""
    return await request_in_background(clients, REQUEUE, {"queues": [queue], "groups": [group]}, actor)


async def request_in_background(
    clients: Clients, action: str, selection: Mapping[str, Any], actor: Actor
) -> Audit:
    """Ask for the action on these letters, at most so many, at a rate that leaves the stages room."""
    asked = {"limit": LARGEST, **selection}
    audit = await request_operation(clients, action, asked, actor, rate=RATE)
    await send_operation(clients, audit.id, audit.id)
    return audit
