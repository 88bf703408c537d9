"""The reading order of a thread, and the versions of a patch series."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.queries.threads import THREADS_OF_SERIES
from shared.models.threads import Message, Thread
from shared.threading.assignment import BY_OPERATOR

_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Placed:
    message: Message
    parent: Message | None
    depth: int


def in_time(messages: Iterable[Message]) -> list[Message]:
    return sorted(messages, key=lambda message: (message.date or _NEVER, message.id))


def placed_by_operator(thread: Thread) -> dict[str, str]:
    """Return by Message-ID the parents that an operator gave. A message that begins the thread has none."""
    members = thread.threading.get("members", [])
    return {member["id"]: member.get("parent", "") for member in members if member.get("via") == BY_OPERATOR}


def in_reading_order(messages: Sequence[Message], decided: Mapping[str, str] | None = None) -> list[Placed]:
    """Order the messages depth first. There is no recursion, because chains can be long.

    `decided` has the parents that an operator gave, which take precedence over the headers.
    """
    ordered = in_time(messages)
    by_id = {message.message_id: message for message in reversed(ordered)}
    given = decided or {}
    parents = {
        message.id: by_id.get(given[message.message_id])
        if message.message_id in given
        else _parent(message, by_id)
        for message in ordered
    }
    _break_cycles(ordered, parents)
    replies: dict[str, list[Message]] = {}
    for message in ordered:
        parent = parents[message.id]
        replies.setdefault(parent.id if parent else "", []).append(message)
    placed: list[Placed] = []
    waiting = [(message, 0) for message in reversed(replies.get("", []))]
    while waiting:
        message, depth = waiting.pop()
        placed.append(Placed(message, parents[message.id], depth))
        waiting += [(reply, depth + 1) for reply in reversed(replies.get(message.id, []))]
    return placed


def _parent(message: Message, by_id: dict[str, Message]) -> Message | None:
    named = [message.in_reply_to, *reversed(message.references)]
    found = (name for name in named if name and name != message.message_id and name in by_id)
    return by_id.get(next(found, ""))


def _break_cycles(messages: Sequence[Message], parents: dict[str, Message | None]) -> None:
    """Make the earliest message of each cycle a root. Forged headers can form cycles."""
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


SHORTEST_TITLE = 12  # shorter titles such as "Fix a typo" do not identify a series
_TAGS = re.compile(r"^(?:\s{0,8}\[([^\]]{0,80})\])+\s{0,8}")
_PATCH = re.compile(r"\b(?:patch|rfc|pull)\b", re.IGNORECASE)
_VERSION = re.compile(r"\bv(\d{1,3})\b", re.IGNORECASE)
_PART = re.compile(r"\b(\d{1,4})/(\d{1,4})\b")


@dataclass(frozen=True)
class PatchSubject:
    """The version, the part and the title of a subject such as `[PATCH v2 0/3] A title`."""

    version: int
    part: int
    title: str


def patch_subject(subject: str) -> PatchSubject | None:
    """Return the parsed subject, or None for a reply or a mail without a patch."""
    tags = _TAGS.match(subject[:1000])
    if tags is None or not _PATCH.search(tags[0]):
        return None
    version, part = _VERSION.search(tags[0]), _PART.search(tags[0])
    title = " ".join(subject[tags.end() :].split())
    return PatchSubject(int(version[1]) if version else 1, int(part[1]) if part else 0, title)


def versions_in_thread(messages: Iterable[Message]) -> list[tuple[int, Message]]:
    """Return the mail that begins each version: its cover letter or its first patch."""
    found: dict[int, tuple[int, Message]] = {}
    for message in messages:
        patch = patch_subject(message.subject)
        if patch is not None and (patch.version not in found or patch.part < found[patch.version][0]):
            found[patch.version] = (patch.part, message)
    return [(number, found[number][1]) for number in sorted(found)]


def series_of(thread: Thread) -> PatchSubject | None:
    """Return the subject that identifies the series of the thread, or None."""
    patch = patch_subject(thread.subject)
    return patch if patch is not None and len(patch.title) >= SHORTEST_TITLE else None


async def threads_of_series(clients: Clients, thread: Thread) -> list[tuple[int, Thread]]:
    """Return the threads of the same list with versions of this series, by version, including this thread."""
    series, source = series_of(thread), next(iter(thread.sources), thread.source)
    if series is None or source is None:
        return []
    words = series.title
    found = await clients.store.query_documents(
        Thread, THREADS_OF_SERIES, Session(), source=source, words=words
    )
    patches = [(patch_subject(row.subject), row) for row in found]
    same = [(patch.version, row) for patch, row in patches if patch is not None and patch.title == words]
    return sorted(same, key=lambda versioned: (versioned[0], versioned[1].id))
