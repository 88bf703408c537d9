"""Deletions over HTTP: accepted here, done by the queue's function, followed at the operation."""

from datetime import UTC, datetime

import azure.functions as func

from shared.clients.connections import Clients
from shared.upkeep.removal.requests import request_removal
from web.problems import Problem, answer

__all__ = ["accept_removal"]


async def accept_removal(connected: Clients, kind: str, target: str) -> func.HttpResponse:
    now = datetime.now(UTC)
    removal = await request_removal(connected, kind, target, requested_by="api", now=now)
    if removal is None:
        raise Problem(404, f"There is no {kind} {target!r}.")
    location = f"/api/operations/{removal.id}"
    body = {
        "operation_id": removal.id,
        "already_running": removal.created_at != now,
        "links": {"operation": location},
    }
    return answer(202, body, Location=location)
