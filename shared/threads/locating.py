"""Finds documents of threads that may have moved since an event was published."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.documents.base import Document
from shared.documents.threads import Thread
from shared.threads.merging import resolve_thread

__all__ = ["ThreadMovedError", "ensure_not_merged", "load_following_merges"]

Model = TypeVar("Model", bound=Document)


class ThreadMovedError(DocumentNotFoundError):
    """A thread was merged while its documents were worked on: the work is done again where they are now."""


async def load_following_merges(
    clients: Clients, model: type[Model], places: Mapping[str, str], ids: Sequence[str], session: Session
) -> list[Model]:
    """The announced documents in order, wherever their threads are by now; `places` has each one's thread."""
    known = [(id_, places[id_]) for id_ in ids if id_ in places]
    found = await clients.store.find_many(model, known, session)
    missing = [(id_, thread) for id_, thread in known if id_ not in found]
    if missing:
        now = {thread: await resolve_thread(clients, thread, session) for thread in {t for _, t in missing}}
        found |= await clients.store.find_many(
            model, [(id_, now[thread]) for id_, thread in missing], session
        )
    absent = [id_ for id_ in ids if id_ not in found]
    if absent:
        raise DocumentNotFoundError(
            f"{len(absent)} of {len(ids)} documents in {model.container} are not there,"
            f" among them {absent[0]}"
        )
    return [found[id_] for id_ in ids]


async def ensure_not_merged(clients: Clients, threads: set[str], session: Session) -> dict[str, Thread]:
    """The threads just written to. What was written to one that has moved would be lost there."""
    found = await clients.store.find_many(Thread, [(thread, thread) for thread in threads], session)
    moved = [thread.id for thread in found.values() if thread.merged_into is not None]
    if moved:
        raise ThreadMovedError(f"{len(moved)} threads were merged into others, among them {moved[0]}")
    return found
