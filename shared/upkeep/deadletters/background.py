"""Operations that run in the background: requested on the operator's page, done by a function.

The operation's record is written first and its id goes to a queue. A function that breaks off is delivered
again, and goes on where it was.
"""

import json

from shared.clients.connections import Clients
from shared.clients.servicebus.dead_letter_mover import OperationObserver
from shared.core.errors import InvalidEventError
from shared.documents.audits import Audit, AuditStatus
from shared.pipeline.topology import OPERATIONS
from shared.upkeep.audit import Actor
from shared.upkeep.deadletters.operations import REQUEUE, request_operation, run_operation

LARGEST = 5000
RATE = 50.0
RUN_SECONDS = 1200.0  # then the rest is left to another delivery


async def request_requeue(clients: Clients, queue: str, group: str, actor: Actor) -> Audit:
    """Ask for a group to be requeued in the background, in bounded time."""
    selection = {"queues": [queue], "groups": [group], "limit": LARGEST}
    audit = await request_operation(clients, REQUEUE, selection, actor, rate=RATE)
    await _send(clients, audit.id, audit.id)
    return audit


async def run_requested(body: bytes, clients: Clients) -> Audit:
    try:
        operation = json.loads(body)["operation_id"]
    except (ValueError, KeyError, TypeError):
        raise InvalidEventError("not a request for an operation: it has no operation_id") from None
    runtime = clients.runtime
    until = runtime.monotonic() + RUN_SECONDS
    ended = await run_operation(
        clients, str(operation), watch=OperationObserver(stopped=lambda: runtime.monotonic() > until)
    )
    if ended.status is AuditStatus.INTERRUPTED:
        await _send(clients, ended.id, f"{ended.id}-{runtime.now().timestamp():.0f}")
    return ended


async def _send(clients: Clients, operation: str, message_id: str) -> None:
    await clients.bus.send_request(OPERATIONS.name, {"operation_id": operation}, message_id)
