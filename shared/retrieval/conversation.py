"""The reading order of a thread: every reply below its parent, as the headers name it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.documents.threads import Message, Thread
from shared.domain.threading.assignment import BY_OPERATOR

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Placed:
    message: Message
    parent: Message | None
    depth: int


def placed_by_operator(thread: Thread) -> dict[str, str]:
    """By Message-ID: the parents that an operator gave; empty for one that begins the thread."""
    members = thread.threading.get("members", [])
    return {one["id"]: one.get("parent", "") for one in members if one.get("via") == BY_OPERATOR}


def in_reading_order(messages: Sequence[Message], decided: Mapping[str, str] | None = None) -> list[Placed]:
    """Depth first, without recursion: a chain of replies can be long, and forged headers form a cycle.

    `decided` has the parents that an operator gave, which count before the headers.
    """
    in_time = sorted(messages, key=lambda message: (message.date or _NEVER, message.id))
    by_id = {message.message_id: message for message in reversed(in_time)}
    given = decided or {}
    parents = {
        message.id: by_id.get(given[message.message_id])
        if message.message_id in given
        else _parent(message, by_id)
        for message in in_time
    }
    _break_cycles(in_time, parents)
    replies: dict[str, list[Message]] = {}
    for message in in_time:
        above = parents[message.id]
        replies.setdefault(above.id if above else "", []).append(message)
    placed: list[Placed] = []
    waiting = [(message, 0) for message in reversed(replies.get("", []))]
    while waiting:
        message, depth = waiting.pop()
        placed.append(Placed(message, parents[message.id], depth))
        waiting += [(reply, depth + 1) for reply in reversed(replies.get(message.id, []))]
    return placed


def _parent(message: Message, by_id: dict[str, Message]) -> Message | None:
    named = [message.in_reply_to, *reversed(message.references)]
    for name in named:
        if name and name != message.message_id and name in by_id:
            return by_id[name]
    return None


def _break_cycles(messages: Sequence[Message], parents: dict[str, Message | None]) -> None:
    """In a cycle of replies, the earliest message becomes a root."""
    rank = {message.id: position for position, message in enumerate(messages)}
    reaches_top: set[str] = set()
    for message in messages:
        path: dict[str, None] = {}
        at: Message | None = message
        while at is not None and at.id not in reaches_top:
            if at.id in path:
                cycle = list(path)[list(path).index(at.id) :]
                parents[min(cycle, key=rank.__getitem__)] = None
                break
            path[at.id] = None
            at = parents[at.id]
        reaches_top.update(path)
