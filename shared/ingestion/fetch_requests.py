"""Requests to fetch a source, by a user or by the timer: one at a time for each source.

The source's document has the lease, taken by its ETag. It runs out after a crash: the source is still due.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict
from shared.clients.telemetry.metrics import span
from shared.core.times import stored_time
from shared.documents.queries.operations import DUE_SOURCES
from shared.documents.sources import Operation, Source
from shared.pipeline.topology import INGESTION

WAITING_LEASE = timedelta(minutes=10)  # for a message that waits in the queue


@dataclass(frozen=True)
class Requested:
    operation_id: str
    is_new: bool


async def request_fetch(
    source: Source, clients: Clients, *, requested_by: str, now: datetime
) -> Requested | Conflict:
    """Request the operation that fetches the source; CONFLICT where the document changed meanwhile."""
    if source.lease_owner and source.lease_until and source.lease_until > now:
        return Requested(source.lease_owner, is_new=False)
    operation = Operation(id=uuid.uuid4().hex, source=source.name, requested_by=requested_by, created_at=now)
    lease = {"lease_owner": operation.id, "lease_until": now + WAITING_LEASE}
    session = Session()
    if await clients.store.replace(source.model_copy(update=lease), session) is Conflict.CONFLICT:
        return Conflict.CONFLICT
    await clients.store.create(operation, session)
    with span("fetch requested", attributes={"pipeline.source": source.name}):
        request = {"operation_id": operation.id, "session": session.tokens()}
        await clients.bus.send_request(INGESTION.name, request, operation.id)
    return Requested(operation.id, is_new=True)


async def request_due_fetches(clients: Clients, now: datetime) -> list[str]:
    """Request every source that is due. Return the new operations."""
    asked = []
    for source in await clients.store.query_documents(Source, DUE_SOURCES, Session(), now=stored_time(now)):
        requested = await request_fetch(source, clients, requested_by="timer", now=now)
        if isinstance(requested, Requested) and requested.is_new:
            asked.append(requested.operation_id)
    return asked
