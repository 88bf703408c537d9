"""The mail that begins a thread, and the subject that names it."""

from collections import Counter
from typing import NamedTuple

from shared.threading.assignment import ThreadState
from shared.threading.subject_links import ALWAYS, ORPHANED, is_rule_of_patches, title_of


class Opening(NamedTuple):
    """The first message of a thread, and the title that names the thread."""

    root: str = ""
    """The first message. Empty if it is missing or if the answers were written to another message."""
    impostor: str = ""
    """A message in place of the first message, with a subject that its answers do not have."""
    title: str = ""
    """The title of most answers, if there is no first message."""
    is_disputed: bool = False
    """Several answers have another title. Anybody can send some."""


_SEVERAL = 2


def opening_of(state: ThreadState) -> Opening:
    """Return the opening. A mail that replaces a missing first mail does not name the thread."""
    if not state.members:
        return Opening()
    root = state.root
    entries = {entry.node: entry for entry in state.subjects if not is_rule_of_patches(entry.key)}
    replies = (entries.get(node) for node, member in state.members.items() if member.parent == root)
    votes = Counter(title_of(entry.key) for entry in replies if entry and entry.seeks in {ALWAYS, ORPHANED})
    title = title_of(entries[root].key) if root in entries else ""
    ranked = sorted(votes, key=lambda voted: (-votes[voted], voted))
    most = next((voted for voted in ranked if voted != title), "")
    is_disputed = votes[most] >= _SEVERAL
    if root not in state.members:
        return Opening(title=most, is_disputed=votes[next(iter(ranked[1:]), "")] >= _SEVERAL)
    if is_disputed and votes[title] < min(votes[most], _SEVERAL):
        return Opening(impostor=root, title=most, is_disputed=True)
    return Opening(root, is_disputed=is_disputed)
