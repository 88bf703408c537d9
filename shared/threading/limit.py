"""Limit the size of a thread, so that its document can be stored (`assign_within_limit`).

Anybody can send thousands of short replies. A mail that does not fit starts a thread, and neither its headers
nor its subject join it to another thread. Threads that a mail would join beyond the limit stay apart.
"""

from collections.abc import Collection, Mapping, Sequence

from shared.threading.assignment import (
    BY_LIMIT,
    ReplyLinks,
    ThreadingResult,
    ThreadMember,
    ThreadState,
    assign_links,
)

MAX_THREAD_BYTES = 600_000
_MEMBER_BYTES = 90  # of a member without its ids
_ID_BYTES = 4


class _LoadedThreads:
    """The known threads as `KnownThreads`. Each lookup returns all of them."""

    def __init__(self, states: Collection[ThreadState]) -> None:
        self._states = states

    def by_message_ids(self, ids: Sequence[str]) -> Collection[ThreadState]:  # noqa: ARG002 - all are candidates
        return self._states

    def by_subject_keys(self, keys: Sequence[str]) -> Collection[ThreadState]:  # noqa: ARG002
        return self._states


def assign_within_limit(
    links: Sequence[ReplyLinks], known: Mapping[str, ThreadState], source: str
) -> ThreadingResult:
    """Assign messages to the known threads. A thread takes the first messages, up to its limit."""
    alone: set[str] = set()
    threads = _LoadedThreads(known.values())
    while True:
        placed = [_alone(own) if own.node in alone else own for own in links]
        result = assign_links(placed, threads, source)
        beyond = _beyond(result, placed, known)
        if not beyond:
            return result
        alone |= beyond


def _alone(links: ReplyLinks) -> ReplyLinks:
    return ReplyLinks(links.node, [], [], decided=BY_LIMIT)


def _beyond(
    result: ThreadingResult, links: Sequence[ReplyLinks], known: Mapping[str, ThreadState]
) -> set[str]:
    """Return the new messages that would make a thread larger than the limit."""
    beyond: set[str] = set()
    for name, state in result.threads.items():
        size = _size(state)
        if size <= MAX_THREAD_BYTES:
            continue
        before = known[name].members if name in known else {}
        new = [
            own.node
            for own in links
            if not own.decided and result.assignments[own.node] == name and own.node not in before
        ]
        left = MAX_THREAD_BYTES - size + sum(_member_size(node, state.members[node]) for node in new)
        for number, node in enumerate(new):
            left -= _member_size(node, state.members[node])
            if left < 0:
                beyond.update(new[number:])
                break
    return beyond


def _size(state: ThreadState) -> int:
    """Return the most bytes that the stored state can have."""
    subjects = {entry.key for entry in state.subjects}
    return sum(_member_size(node, member) for node, member in state.members.items()) + sum(
        map(_text_size, subjects)
    )


def _member_size(node: str, member: ThreadMember) -> int:
    ids = (node, member.parent, member.root, *member.wants)
    return _MEMBER_BYTES + sum(map(_text_size, ids))


def _text_size(text: str) -> int:
    """Return the size as JSON, which writes a non-ASCII character as six or twelve characters."""
    return _ID_BYTES + (len(text) if text.isascii() else 12 * len(text))
