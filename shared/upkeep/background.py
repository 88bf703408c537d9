"""Operations that run in the background: their record is stored, and their id goes to a queue.

A function that breaks off is delivered again, and goes on where it was.
"""

import json

from shared.clients.connections import Clients
from shared.clients.servicebus.dead_letter_mover import OperationObserver
from shared.core.errors import InvalidEventError
from shared.documents.records import Audit, AuditStatus
from shared.upkeep.audit import find_audit, send_operation
from shared.upkeep.deadletters.operations import run_operation
from shared.upkeep.resummarizing import RESUMMARIZE, run_resummarizing

RUN_SECONDS = 1200.0  # then the rest is left to another delivery


async def run_requested(body: bytes, clients: Clients) -> Audit:
    try:
        operation = str(json.loads(body)["operation_id"])
    except (ValueError, KeyError, TypeError):
        raise InvalidEventError("not a request for an operation: it has no operation_id") from None
    runtime = clients.runtime
    until = runtime.monotonic() + RUN_SECONDS
    watch = OperationObserver(stopped=lambda: runtime.monotonic() > until)
    action = (await find_audit(clients.store, operation)).action
    run = run_resummarizing if action == RESUMMARIZE else run_operation
    ended = await run(clients, operation, watch=watch)
    if ended.status is AuditStatus.INTERRUPTED:
        await send_operation(clients, ended.id, f"{ended.id}-{runtime.now().timestamp():.0f}")
    return ended
