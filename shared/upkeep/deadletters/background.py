"""A group of dead letters requeued in the background: requested on the operator's page."""

from shared.clients.connections import Clients
from shared.documents.audits import Audit
from shared.upkeep.audit import Actor, send_operation
from shared.upkeep.deadletters.operations import REQUEUE, request_operation

LARGEST = 5000
RATE = 50.0


async def request_requeue(clients: Clients, queue: str, group: str, actor: Actor) -> Audit:
    """Ask for a group to be requeued in the background, in bounded time."""
    selection = {"queues": [queue], "groups": [group], "limit": LARGEST}
    audit = await request_operation(clients, REQUEUE, selection, actor, rate=RATE)
    await send_operation(clients, audit.id, audit.id)
    return audit
