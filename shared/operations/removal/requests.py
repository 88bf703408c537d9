"""Requests for deletions: store the document, mark the archive, then send the message to the worker.

A deletion without progress is requested again. A completed one is requested once more to remove late writes.
"""

from contextlib import nullcontext
from datetime import datetime, timedelta

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict, Store
from shared.core.ids import removal_id
from shared.core.times import stored_time
from shared.models.queries.operations import (
    ARCHIVE_IDS_OF_SOURCE,
    REMOVALS_TO_LOOK_AT_AGAIN,
    UNFINISHED_REMOVALS,
)
from shared.models.sources import Archive, Removal, Source
from shared.operations.audit import Operator, audited
from shared.operations.removal.thread_part import LATE_AFTER, LATE_UNTIL
from shared.pipeline.state.archives import DONE, mark_deleting
from shared.pipeline.topology import REMOVAL

SILENT_FOR = timedelta(minutes=45)  # longer than a run


async def request_removal(
    clients: Clients,
    kind: str,
    target: str,
    *,
    requested_by: str,
    now: datetime,
    via: str = "command line",
    replaced: bool = False,
) -> Removal | None:
    """Return the new or running deletion, or None without a target. It is audited unless `replaced`."""
    store, session, id_ = clients.store, Session(), removal_id(kind, target)
    known = await store.find(Removal, id_, session)
    if known is not None and known.status not in DONE:
        return known
    if not await _exists(clients, kind, target, session):
        return None
    removal = Removal(
        id=id_,
        target_kind=kind,
        target=target,
        requested_by=requested_by,
        replaced=replaced,
        created_at=now,
        updated_at=now,
    )
    if not await _store(store, removal, known, session):
        current = await store.read(Removal, id_, session)
        if stored_time(current.created_at) != stored_time(now):  # not this call's write
            return current
    if kind == "archive" and not await mark_deleting(store, target, session):
        return None
    asked = audited(clients, f"delete {kind}", Operator(requested_by, via), {kind: target})
    async with nullcontext() if replaced else asked:
        await ask_again(clients, removal, now)
    return removal


async def _store(store: Store, removal: Removal, known: Removal | None, session: Session) -> bool:
    """Create the document or replace the known one. Another deletion may have been requested since."""
    if known is None:
        return await store.create(removal, session)
    removal.etag = known.etag
    return not isinstance(await store.replace(removal, session), Conflict)


async def ask_again(clients: Clients, removal: Removal, now: datetime) -> None:
    message_id = f"{removal.id}-{now.timestamp():.6f}"
    await clients.bus.send_request(REMOVAL.name, {"removal_id": removal.id}, message_id)


async def resume_removals(clients: Clients, now: datetime) -> list[str]:
    """Request stalled deletions again, and completed ones that need a second check. Return their ids."""
    before = stored_time(now - SILENT_FOR)
    silent = await clients.store.query_documents(Removal, UNFINISHED_REMOVALS, Session(), before=before)
    done = await clients.store.query_documents(
        Removal,
        REMOVALS_TO_LOOK_AT_AGAIN,
        Session(),
        before=stored_time(now - LATE_AFTER),
        since=stored_time(now - LATE_UNTIL),
    )
    for removal in (*silent, *done):
        await ask_again(clients, removal, now)
    return [removal.id for removal in (*silent, *done)]


async def _exists(clients: Clients, kind: str, target: str, session: Session) -> bool:
    if kind == "archive":
        return await clients.store.find(Archive, target, session) is not None
    if await clients.store.find(Source, target, session) is not None:
        return True
    # An upload may name a source that is not defined.
    async for _ in clients.store.query(ARCHIVE_IDS_OF_SOURCE, session, source=target):
        return True
    return False
