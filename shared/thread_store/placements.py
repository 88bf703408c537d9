"""Placements: an operator decides where messages belong, whatever their headers are."""

from collections.abc import Iterable, Mapping, Sequence

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.models.containers import read_document
from shared.models.edits import Placement, PlacementAct
from shared.models.queries.threads import PLACEMENTS_OF_SOURCE
from shared.models.readings import ShownPlacement
from shared.models.threads import Thread
from shared.threading.assignment import BY_OPERATOR, ReplyLinks
from shared.threading.subject_links import NEVER

MAX_SHOWN = 50


def placed(links: Sequence[ReplyLinks], parents: Mapping[str, str]) -> list[ReplyLinks]:
    """Return the links, with the operator's parent in place of the mail's own ancestors."""
    if not parents:
        return list(links)
    return [_placed(own, parents[own.node]) if own.node in parents else own for own in links]


def _placed(links: ReplyLinks, parent: str) -> ReplyLinks:
    """Return links that seek nothing by subject. Other messages may still find the message by its subject."""
    entries = [entry._replace(seeks=NEVER) for entry in links.entries]
    return ReplyLinks(links.node, [parent] if parent else [], entries, decided=BY_OPERATOR)


async def placements_of(store: Store, thread: Thread, session: Session) -> list[Placement]:
    """Return placements of messages that are or were in the thread, also undone ones, the latest last."""
    members = {member["id"] for member in thread.threading.get("members", [])}
    rows = store.query(PLACEMENTS_OF_SOURCE, session, partition=thread.source or "")
    found = [read_document(Placement, row) async for row in rows]
    about = [
        placement
        for placement in found
        if placement.message_id in members or any(entry.thread_id == thread.id for entry in placement.entries)
    ]
    return sorted(about, key=lambda placement: (placement.last.at, placement.id))


async def shown_placements(store: Store, thread: Thread, session: Session) -> list[ShownPlacement]:
    """Return the latest placements for readers of the thread. A thread without corrections has none."""
    if not thread.corrections:
        return []
    members = {member["id"] for member in thread.threading.get("members", [])}
    return [
        ShownPlacement(
            message_id=placement.message_id,
            act=placement.last.act,
            is_here=placement.message_id in members,
            by=placement.last.by,
            at=placement.last.at,
            reason=placement.last.reason,
        )
        for placement in (await placements_of(store, thread, session))[-MAX_SHOWN:]
    ]


def placement_notes(placements: Iterable[ShownPlacement]) -> tuple[str, ...]:
    """Return notes on messages that were taken out of the thread."""
    return tuple(
        f"An operator has put a message elsewhere on {placement.at:%Y-%m-%d}."
        for placement in placements
        if not placement.is_here and placement.act is not PlacementAct.UNDONE
    )
