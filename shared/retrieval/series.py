"""The versions of a patch series: which mail of a thread begins one, and the threads that have the others."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.messages import Message
from shared.documents.queries.threads import THREADS_OF_SERIES
from shared.documents.threads import Thread

SHORTEST_TITLE = 12  # "Fix a typo" names no series
_TAGS = re.compile(r"^(?:\s{0,8}\[([^\]]{0,80})\])+\s{0,8}")
_PATCH = re.compile(r"\b(?:patch|rfc|pull)\b", re.IGNORECASE)
_VERSION = re.compile(r"\bv(\d{1,3})\b", re.IGNORECASE)
_PART = re.compile(r"\b(\d{1,4})/(\d{1,4})\b")


@dataclass(frozen=True)
class PatchSubject:
    """`[PATCH v2 0/3] A title`: the version, the part of the series, and the title."""

    version: int
    part: int
    title: str


def patch_subject(subject: str) -> PatchSubject | None:
    """None where it is an answer, or no patch."""
    tags = _TAGS.match(subject[:1000])
    if tags is None or not _PATCH.search(tags[0]):
        return None
    version, part = _VERSION.search(tags[0]), _PART.search(tags[0])
    title = " ".join(subject[tags.end() :].split())
    return PatchSubject(int(version[1]) if version else 1, int(part[1]) if part else 0, title)


def versions_in_thread(messages: Iterable[Message]) -> list[tuple[int, Message]]:
    """The mail that begins each version: its cover letter, or its first patch."""
    found: dict[int, tuple[int, Message]] = {}
    for message in messages:
        patch = patch_subject(message.subject)
        if patch is not None and (patch.version not in found or patch.part < found[patch.version][0]):
            found[patch.version] = (patch.part, message)
    return [(number, found[number][1]) for number in sorted(found)]


def series_of(thread: Thread) -> PatchSubject | None:
    """What other threads of its series are found by; None where nothing can be."""
    patch = patch_subject(thread.subject)
    return patch if patch is not None and len(patch.title) >= SHORTEST_TITLE else None


async def threads_of_series(clients: Clients, thread: Thread) -> list[tuple[int, Thread]]:
    """The threads of the same list that have a version of this series, by version, this one among them."""
    series, source = series_of(thread), next(iter(thread.sources), thread.source)
    if series is None or source is None:
        return []
    rows = await clients.store.query_documents(
        Thread, THREADS_OF_SERIES, Session(), source=source, words=series.title
    )
    found = [(patch_subject(row.subject), row) for row in rows]
    same = [(patch.version, row) for patch, row in found if patch is not None and patch.title == series.title]
    return sorted(same, key=lambda each: (each[0], each[1].id))
