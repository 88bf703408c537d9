"""Placements: operators put a message into its own thread, another thread, or under another message.

The replies follow. A placement is stored before it is committed, and interrupted ones are resumed.
"""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict
from shared.core.errors import EditConflictError, InvalidEditError, NotFoundError
from shared.core.ids import message_key
from shared.models.containers import read_document
from shared.models.edits import Placement, PlacementAct, PlacementEntry
from shared.models.queries.several_containers import first_with_id
from shared.models.queries.threads import PLACEMENTS_OF_SOURCE, UNAPPLIED_PLACEMENTS
from shared.models.threads import Message, Thread
from shared.operations.audit import Operator, audited
from shared.operations.correcting import Reason
from shared.operations.requeue import request_summary
from shared.pipeline.state.threads import count_correction, mark_placement_applied
from shared.thread_store.commit import ThreadCommit
from shared.thread_store.finishing import announce_moves
from shared.thread_store.moving import resolve_thread, threads_of_messages
from shared.thread_store.placements import placements_of
from shared.threading.assignment import ThreadState

MAX_ENTRIES = 50
MAX_PLACEMENTS = 1000
"""The largest number in one source, because threading reads all placements of the source."""
MessageId = Annotated[str, Field(min_length=1, max_length=1000)]


class PlacementAsked(BaseModel):
    """The requested place of a message, and the reason."""

    model_config = ConfigDict(extra="forbid")

    message_id: MessageId
    to_thread: str | None = Field(None, max_length=32, description="the thread that it is moved to")
    parent_id: MessageId | None = Field(None, description="the Message-ID that it is attached to")
    reason: Reason

    @model_validator(mode="after")
    def _has_one_target(self) -> Self:
        if self.to_thread is not None and self.parent_id is not None:
            raise ValueError("to_thread, parent_id: name one of them, or none to split the thread")
        return self

    @property
    def act(self) -> PlacementAct:
        if self.to_thread is not None:
            return PlacementAct.MOVED
        return PlacementAct.REATTACHED if self.parent_id is not None else PlacementAct.SPLIT


async def place_message(
    clients: Clients, thread_id: str, asked: PlacementAsked, actor: Operator
) -> Placement:
    session = Session()
    selection = {
        "thread": thread_id, "message_id": asked.message_id, "to": asked.to_thread or asked.parent_id,
        "reason": asked.reason,
    }  # fmt: skip
    async with audited(clients, f"placement.{asked.act}", actor, selection) as counts:
        thread, message = await _find_message(clients, thread_id, asked.message_id, session)
        parent = await _find_parent(clients, message, asked, session)
        entry = PlacementEntry(
            act=asked.act, by=actor.name[:200], via=actor.via, at=clients.runtime.now(),
            reason=asked.reason, thread_id=thread.id, parent=parent,
        )  # fmt: skip
        stored = await _store(clients, message, entry, session)
        changed = await _commit(clients, stored, session)
        counts["threads"] = len(changed)
        return await _request_summaries(clients, stored, changed, session)


async def undo_placement(clients: Clients, id_: str, reason: str, actor: Operator) -> Placement:
    """Place the message by its own headers again. The record of the placement is kept."""
    session = Session()
    placement = await find_placement(clients, id_, session)
    selection = {"placement": id_, "message_id": placement.message_id, "reason": reason}
    async with audited(clients, "placement.undone", actor, selection) as counts:
        if not placement.revoked:
            entry = PlacementEntry(
                act=PlacementAct.UNDONE, by=actor.name[:200], via=actor.via, at=clients.runtime.now(),
                reason=reason, thread_id=await _thread_of(clients, placement, session) or "-",
            )  # fmt: skip
            placement = await _replace(clients, _with_entry(placement, entry), session)
        changed = await _commit(clients, placement, session)
        counts["threads"] = len(changed)
        return await _request_summaries(clients, placement, changed, session)


async def resume_placements(clients: Clients) -> list[str]:
    """Complete interrupted placements, and return the Message-IDs of their messages."""
    session = Session()
    rows = [row async for row in clients.store.query(UNAPPLIED_PLACEMENTS, session)]
    for placement in (read_document(Placement, row) for row in rows):
        changed = await _commit(clients, placement, session)
        await _request_summaries(clients, placement, changed, session)
    return [row["message_id"] for row in rows]


async def find_placement(clients: Clients, id_: str, session: Session) -> Placement:
    found = await clients.store.query_documents(
        Placement, first_with_id(Placement.container), session, id=id_
    )
    if not found:
        raise NotFoundError("There is no placement with this id.")
    return found[0]


async def placements_of_thread(clients: Clients, thread_id: str) -> list[Placement]:
    """Return placements of messages that are or were in the thread, oldest first, also undone ones."""
    session = Session()
    return await placements_of(clients.store, await _thread(clients, thread_id, session), session)


async def _find_message(
    clients: Clients, thread_id: str, message_id: str, session: Session
) -> tuple[Thread, Message]:
    thread = await _thread(clients, thread_id, session)
    key = message_key(message_id, thread.source or "")
    message = await clients.store.find(Message, key, session)
    if message is None or message.thread_id != thread.id:
        raise InvalidEditError("message_id: no such message in this thread.")
    return thread, message


async def _thread(clients: Clients, thread_id: str, session: Session) -> Thread:
    place = await resolve_thread(clients, thread_id, session)
    thread = await clients.store.find(Thread, place, session)
    if thread is None:
        raise InvalidEditError("There is no thread with this id.")
    return thread


async def _find_parent(clients: Clients, message: Message, asked: PlacementAsked, session: Session) -> str:
    """Return the Message-ID of the new parent, or an empty string if the message begins a thread."""
    if asked.to_thread is not None:
        thread = await _thread(clients, asked.to_thread, session)
        parent = thread.root_message_id
    elif asked.parent_id is not None:
        parent = asked.parent_id
        home = (await threads_of_messages(clients, [message_key(parent, message.source)], session)).values()
        if not home:
            raise InvalidEditError("parent_id: no such message in this list.")
        thread = await _thread(clients, next(iter(home)), session)
    else:
        return ""
    if thread.source != message.source:
        raise InvalidEditError("to_thread: threads of different lists cannot be merged.")
    if _leads_to(parent, message.message_id, ThreadState.from_document(thread.threading)):
        raise InvalidEditError("A message cannot reply to itself or to one of its own replies.")
    return parent


def _leads_to(message_id: str, target: str, state: ThreadState) -> bool:
    """Return whether the target is an ancestor of this message or the message itself."""
    seen: set[str] = set()
    while message_id and message_id not in seen:
        if message_id == target:
            return True
        seen.add(message_id)
        message_id = state.members[message_id].parent if message_id in state.members else ""
    return False


async def _store(clients: Clients, message: Message, entry: PlacementEntry, session: Session) -> Placement:
    """Create the placement or replace the existing one. An equal placement is returned unchanged."""
    before = await clients.store.find(Placement, message.id, session, partition=message.source)
    if before is not None:
        if not before.revoked and before.parent == entry.parent:
            return before
        return await _replace(clients, _with_entry(before, entry), session)
    await _check_limit(clients, message.source, session)
    made = Placement(
        id=message.id, created_at=entry.at, source=message.source, message_key=message.id,
        message_id=message.message_id, parent=entry.parent, entries=[entry],
    )  # fmt: skip
    if not await clients.store.create(made, session):
        raise EditConflictError(_CHANGED)
    return await clients.store.read(Placement, made.id, session, partition=made.source)


_CHANGED = "The message was moved in the meantime. Read the thread again."


async def _check_limit(clients: Clients, source: str, session: Session) -> None:
    rows = [row async for row in clients.store.query(PLACEMENTS_OF_SOURCE, session, partition=source)]
    if len(rows) >= MAX_PLACEMENTS:
        raise InvalidEditError(f"A list has at most {MAX_PLACEMENTS} placements.")


def _with_entry(placement: Placement, entry: PlacementEntry) -> Placement:
    changes = {
        "entries": [*placement.entries, entry][-MAX_ENTRIES:],
        "parent": entry.parent,
        "revoked": entry.act is PlacementAct.UNDONE,
        "applied": False,
    }
    return placement.model_copy(update=changes)


async def _replace(clients: Clients, changed: Placement, session: Session) -> Placement:
    stored = await clients.store.replace(changed, session)
    if isinstance(stored, Conflict):
        raise EditConflictError(_CHANGED)
    return stored


async def _commit(clients: Clients, placement: Placement, session: Session) -> list[str]:
    """Commit the placement, and return the old and new threads. A missing message is placed later."""
    home = await _thread_of(clients, placement, session)
    commit = ThreadCommit(clients, placement.source, session)
    parent = None if placement.revoked else placement.parent
    message = await clients.store.find(Message, placement.message_key, session)
    result = await commit.place(placement.message_id, message, parent)
    await announce_moves(clients, commit, result, session)
    if home is None:
        return []
    changed = {placement.last.thread_id, home, *result.threads.values(), *result.touched.values()}
    return sorted(changed - {"-"})


async def _thread_of(clients: Clients, placement: Placement, session: Session) -> str | None:
    homes = await threads_of_messages(clients, [placement.message_key], session)
    return homes.get(placement.message_key)


async def _request_summaries(
    clients: Clients, placement: Placement, changed: Sequence[str], session: Session
) -> Placement:
    """Request new summaries of the threads, even if their messages are the same as before."""
    for thread_id in changed:
        if await clients.store.find(Thread, thread_id, session) is not None:
            await count_correction(clients.store, thread_id, session)
            await request_summary(clients, thread_id, session)
    await mark_placement_applied(clients.store, placement, session)
    return await clients.store.read(Placement, placement.id, session, partition=placement.source)
