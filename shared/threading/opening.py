"""The mail that begins a thread, and the subject that names it."""

from collections import Counter
from typing import NamedTuple

from shared.threading.assignment import ThreadState
from shared.threading.subject_links import ALWAYS, ORPHANED, is_rule_of_patches, title_of


class Opening(NamedTuple):
    """What names a thread and begins it."""

    root: str = ""
    """The first message; empty where it is missing, or is not what its answers were written to."""
    impostor: str = ""
    """A message in place of the first one, whose subject its answers do not have."""
    title: str = ""
    """The title of most answers, where there is no first message."""
    is_disputed: bool = False
    """Several answers have another title. Anybody can send some."""


_SEVERAL = 2


def opening_of(state: ThreadState) -> Opening:
    """Anybody can send a mail in place of a first one that is missing. It gives the thread no name."""
    if not state.members:
        return Opening()
    root = state.root
    entries = {entry.node: entry for entry in state.subjects if not is_rule_of_patches(entry.key)}
    replies = (entries.get(one) for one, member in state.members.items() if member.parent == root)
    votes = Counter(title_of(entry.key) for entry in replies if entry and entry.seeks in {ALWAYS, ORPHANED})
    title = title_of(entries[root].key) if root in entries else ""
    ranked = sorted(votes, key=lambda one: (-votes[one], one))
    most = next((one for one in ranked if one != title), "")
    is_disputed = votes[most] >= _SEVERAL
    if root not in state.members:
        return Opening(title=most, is_disputed=votes[next(iter(ranked[1:]), "")] >= _SEVERAL)
    if is_disputed and votes[title] < min(votes[most], _SEVERAL):
        return Opening(impostor=root, title=most, is_disputed=True)
    return Opening(root, is_disputed=is_disputed)
