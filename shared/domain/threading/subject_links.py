"""Edges by subject, for mail without threading headers.

Three rules, each of which gives a mail one edge at most, as a function of the set of mails:
- a numbered patch goes with the mail before it in the same series, from the same sender, within the hour
  (`git send-email` sends a series in one go);
- a later version of a patch or series goes with the one before it, by title and sender, within six weeks;
- a reply goes with the mail before it of the same normalised subject, within three weeks.

Where none finds anything, the mail goes to the root that most of its own answers claim.

The limits, on purpose: a subject that says nothing ("Re: question") links nothing; without a date nothing is
linked. Dates and subjects are the senders' own, so what is joined by them is marked.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shared.domain.mail.models import ParsedMail
from shared.domain.threading.subjects import SubjectKey, read_subject

_HOUR = 3600
_DAY = 24 * _HOUR
REPLY_WINDOW = 21 * _DAY
"""How far before a reply the mail that it answers may lie."""
REROLL_WINDOW = 42 * _DAY
SERIES_WINDOW = _HOUR
CLOCK_SKEW = _DAY
"""How far after it, by a wrong clock."""
MARGIN = REROLL_WINDOW + CLOCK_SKEW
"""No edge by subject is longer."""
_SERIES, _REROLL = "#", "~"


class SubjectEntry(NamedTuple):
    key: str
    at: int
    """Seconds since the epoch."""
    seeks: bool
    """Whether the message has nothing but this to be threaded by."""
    node: str


def entries_of(message: ParsedMail) -> list[SubjectEntry]:
    if message.date is None:
        return []
    at, node = int(message.date.timestamp()), message.node
    headerless = not message.references and not message.in_reply_to
    subject = read_subject(message.subject)
    entries = []
    if subject.key:
        entries.append(SubjectEntry(subject.key, at, headerless and subject.is_reply, node))
    if subject.version and message.sender.email and not subject.is_reply:
        entries += _patch_entries(subject, message.sender.email.lower(), at, node, headerless=headerless)
    return entries


def _patch_entries(
    subject: SubjectKey, sender: str, at: int, node: str, *, headerless: bool
) -> Iterator[SubjectEntry]:
    if subject.series:
        # The cover letter begins the series: it is found, it does not seek.
        seeks = headerless and not subject.is_cover
        yield SubjectEntry(f"{_SERIES}{subject.series} {sender}", at, seeks, node)
    if subject.title:
        yield SubjectEntry(f"{_REROLL}{subject.title} {sender}", at, headerless and subject.version > 1, node)


def nearest_by_subject(
    entries: Iterable[SubjectEntry], group_of: Mapping[str, str], claims: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """The parent of each mail that seeks one; empty where there is none.

    `group_of` has the root of each mail by headers alone: a mail never goes under one of its own answers.
    `claims` has the roots that the answers to a mail name beyond it. A later version of a patch may begin a
    thread of its own: only where there are claims it goes with the version before it. A mail without any
    partner goes to the root that most of its answers claim.
    """
    by_key: dict[str, list[SubjectEntry]] = defaultdict(list)
    for entry in entries:
        by_key[entry.key].append(entry)
    found: dict[str, tuple[int, str]] = {}
    for key, group in by_key.items():
        rule = _RULES.get(key[:1], _REPLY)
        seeking = {entry.node for entry in group if entry.seeks}
        if rule is _RULES[_REROLL]:
            seeking &= claims.keys()
        if seeking:
            for node, parent in _parents(sorted(group, key=_place), rule, seeking, group_of):
                # A mail may have several entries: the first rule that finds something decides.
                ranked = (rule.order if parent else _NOTHING, parent)
                found[node] = min(found.get(node, ranked), ranked)
    return {node: parent or _most_claimed(claims.get(node, ())) for node, (_, parent) in found.items()}


def _most_claimed(roots: Sequence[str]) -> str:
    counts = Counter(roots)
    return min(counts, key=lambda root: (-counts[root], root), default="")


class _Rule(NamedTuple):
    order: int
    before: int
    after: int


_RULES = {_SERIES: _Rule(0, SERIES_WINDOW, SERIES_WINDOW), _REROLL: _Rule(1, REROLL_WINDOW, 0)}
_REPLY = _Rule(2, REPLY_WINDOW, REPLY_WINDOW)
_NOTHING = 3


def _place(entry: SubjectEntry) -> tuple[int, str]:
    return entry.at, entry.node


def _parents(
    group: Sequence[SubjectEntry], rule: _Rule, seeking: Collection[str], group_of: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The mail before it within the window; where there is none, the first after it that seeks nothing.

    Each mail passes over its own answers only, so the work is linear.
    """
    for number, entry in enumerate(group):
        if entry.node not in seeking:
            continue
        own = group_of[entry.node]
        above = (group[place] for place in range(number - 1, -1, -1))
        parent = next((other for other in above if group_of[other.node] != own), None)
        if parent is None or parent.at < entry.at - rule.before:
            below = (group[place] for place in range(number + 1, len(group)))
            parent = next((one for one in below if not one.seeks and group_of[one.node] != own), None)
            if parent is not None and parent.at > entry.at + rule.after:
                parent = None
        yield entry.node, parent.node if parent else ""
