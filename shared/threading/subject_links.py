"""Find edges by subject, for mail whose threading headers are missing or name absent mails.

Three rules each give a mail at most one edge, as a function of the set of mails:
- A numbered patch goes with the mail before it in the same series, from the same sender, within the hour,
  because `git send-email` sends a series at once.
- A later version of a patch or series goes with the version before it, by title and sender, within six weeks.
- A reply goes with the mail before it that has the same normalized subject, within three weeks. So does a
  mail that names only absent mails.

If no rule finds a parent, the mail goes to the root that it claims, else to the root that most of its answers
claim. A subject that says nothing ("Re: question") and a mail without a date have no edge by subject.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from shared.mail.models import ParsedMail
from shared.mail.subjects import split_subject

_WAS = re.compile(r"\s*[(\[]\s*was\s*:?\s.{0,300}[)\]]?\s*$", re.IGNORECASE)
_PATCH = re.compile(r"\bpatch\b|\brfc\b|\bv\d{1,3}\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b(\d{1,3})/(\d{1,3})\s*$")
_VERSION = re.compile(r"\bv(\d{1,3})\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_MIN_LETTERS = 5
_MAX_KEY = 200
# Words that say nothing. Two mails that share such a subject may belong to different discussions.
_EMPTY_WORDS = frozenset(
    {"hello", "hi", "help", "test", "testing", "question", "questions", "problem", "problems", "info",
     "information", "request", "update", "urgent", "thanks", "none", "no", "subject", "untitled",
     "status", "report", "meeting", "minutes", "agenda", "reminder", "patch", "rfc", "bug", "issue"}
)  # fmt: skip
TITLE_AFTER = "|"
"""The separator between the tags of a patch and its title. No word contains it."""


class SubjectKey(NamedTuple):
    key: str
    """The normalized subject. Empty if it says too little to thread by."""
    is_reply: bool
    """Whether the subject has a mark of a reply or of a forwarded mail."""
    series: str
    """The key that the mails of a numbered patch series share, e.g. `v2/7`. Empty for other mail."""
    is_cover: bool
    version: int = 0
    """The version of a patch. 0 for other mail."""
    title: str = ""
    """The title that the versions of a patch share. Empty if it says too little."""


@lru_cache(maxsize=4096)
def read_subject(subject: str) -> SubjectKey:
    """Remove reply marks and list tags, and keep the tags that tell patches of a series apart."""
    split, series, is_cover, version = split_subject(subject), "", False, 0
    kept: list[str] = []
    for tag in split.tags:
        if _PATCH.search(tag):
            kept.append(" ".join(_WORD.findall(tag.lower())))
            series, is_cover = _series(tag)
            version = _version(tag)
    words = _WORD.findall(_WAS.sub("", split.text).lower())
    telling = sum(len(word) for word in words if word not in _EMPTY_WORDS and not word.isdigit())
    title = " ".join(words)[:_MAX_KEY] if telling >= _MIN_LETTERS else ""
    tags = " ".join(kept)[:_MAX_KEY]
    key = (f"{tags}{TITLE_AFTER}{title}" if tags else title) if title else ""
    return SubjectKey(
        key, split.is_reply or split.is_forward, series, is_cover, version, title if version else ""
    )


def _series(tag: str) -> tuple[str, bool]:
    """Return the key that the mails of a series share, and whether this is the cover letter (number 0)."""
    number = _NUMBER.search(tag)
    if number is None:
        return "", False
    return f"v{_version(tag)}/{int(number[2])}", int(number[1]) == 0


def _version(tag: str) -> int:
    version = _VERSION.search(tag)
    return max(1, int(version[1])) if version else 1


_HOUR, _DAY = 3600, 86_400
REPLY_WINDOW = 21 * _DAY
"""The most seconds from a mail to its reply."""
REROLL_WINDOW = 42 * _DAY
SERIES_WINDOW = _HOUR
CLOCK_SKEW = _DAY
"""A tolerance for wrong clocks."""
MARGIN = REROLL_WINDOW + CLOCK_SKEW
"""No edge by subject is longer."""
_SERIES, _REROLL = "#", "~"


class SubjectEntry(NamedTuple):
    key: str
    at: int
    """Seconds since the epoch."""
    seeks: int
    """Whether the message is threaded by this entry: `NEVER`, `ALWAYS`, or if its ancestors are absent."""
    node: str


NEVER, ALWAYS, ORPHANED, RETITLED = range(4)
"""The values of `seeks`. A mail is orphaned if it names ancestors and all are absent.

`RETITLED` is for a mail that names ancestors although its subject has no mark of a reply.
"""


def entries_of(message: ParsedMail) -> list[SubjectEntry]:
    if message.date is None:
        return []
    at, node = int(message.date.timestamp()), message.node
    headerless = not message.references and not message.in_reply_to
    subject = read_subject(message.subject)
    entries = []
    if subject.key:
        # A mail that names others is an answer, except for a patch, which may begin a thread.
        answers = subject.is_reply or (not headerless and not subject.version)
        named = ORPHANED if subject.is_reply else RETITLED
        seeks = (ALWAYS if headerless else named) if answers else NEVER
        entries.append(SubjectEntry(subject.key, at, seeks, node))
    if subject.version and message.sender.email and not subject.is_reply:
        entries += _patch_entries(subject, message.sender.email.lower(), at, node, headerless=headerless)
    return entries


def _patch_entries(
    subject: SubjectKey, sender: str, at: int, node: str, *, headerless: bool
) -> Iterator[SubjectEntry]:
    if subject.series:
        # The cover letter begins the series, so it seeks no parent.
        seeks = headerless and not subject.is_cover
        yield SubjectEntry(f"{_SERIES}{subject.series} {sender}", at, int(seeks), node)
    if subject.title:
        seeks = headerless and subject.version > 1
        yield SubjectEntry(f"{_REROLL}{sender}{TITLE_AFTER}{subject.title}", at, int(seeks), node)


def is_rule_of_patches(key: str) -> bool:
    """Return whether the key belongs to the rules of series and versions."""
    return key[:1] in _RULES


def title_of(key: str) -> str:
    """Return the title of a key. All keys of one title share an entry of the store."""
    return key.rpartition(TITLE_AFTER)[2]


def nearest_by_subject(
    entries: Iterable[SubjectEntry],
    group_of: Mapping[str, str],
    claims: Mapping[str, Sequence[str]],
    orphans: Collection[str],
    parents: Mapping[str, str],
) -> dict[str, str]:
    """Return the parent of each mail that seeks a parent. Empty if no mail matches.

    `group_of` has the root of each mail by headers alone, so that a mail never goes under its own answers.
    `claims` has the roots that answers to a mail name beyond it. `parents` has the present parents by
    headers. A mail that brings the subject into a thread of another subject is the last choice, because
    anybody can send it.
    """
    by_key: dict[str, list[SubjectEntry]] = defaultdict(list)
    for entry in entries:
        by_key[entry.key].append(entry)
    found: dict[str, tuple[int, str]] = {}
    for key, group in by_key.items():
        rule = _RULES.get(key[:1], _REPLY)
        seeking = {
            entry.node
            for entry in group
            if entry.seeks == ALWAYS or (entry.seeks >= ORPHANED and entry.node in orphans)
        }
        if rule is _RULES[_REROLL]:
            seeking &= claims.keys()
        if seeking:
            nodes = {entry.node for entry in group}
            # Strangers answer a mail of another subject.
            strangers = {node for node in nodes if parents.get(node, node) not in nodes}
            partners = _Partners(sorted(group, key=_place), rule, seeking, group_of, orphans)
            for node, parent in partners.found(strangers if rule is _REPLY else ()):
                # A mail may have several entries. The first rule that finds a parent decides.
                ranked = (rule.order if parent else _NOTHING, parent)
                found[node] = min(found.get(node, ranked), ranked)
    parent_of = {node: parent for node, (_, parent) in found.items()}
    for node, parent in parent_of.items():
        if not parent and node not in orphans:
            counts = Counter(claims.get(node, ()))
            parent_of[node] = min(counts, key=lambda root: (-counts[root], root), default="")
    return parent_of


class _Rule(NamedTuple):
    order: int
    before: int
    after: int


_RULES = {_SERIES: _Rule(0, SERIES_WINDOW, SERIES_WINDOW), _REROLL: _Rule(1, REROLL_WINDOW, 0)}
_REPLY = _Rule(2, REPLY_WINDOW, REPLY_WINDOW)
_NOTHING = 3


def _place(entry: SubjectEntry) -> tuple[int, str]:
    return entry.at, entry.node


@dataclass(frozen=True)
class _Partners:
    """The mails of one subject, among which some mails seek a parent."""

    in_order: Sequence[SubjectEntry]
    rule: _Rule
    seeking: Collection[str]
    group_of: Mapping[str, str]
    orphans: Collection[str]

    def found(self, strangers: Collection[str]) -> Iterator[tuple[str, str]]:
        """Return each seeking mail with a mail before it, else with a mail after it that seeks nothing."""
        regular = [entry for entry in self.in_order if entry.node not in strangers]
        # Mails that name the same absent mail stay together, whatever mails are between them.
        first: dict[str, SubjectEntry] = {}
        for entry in self.in_order:
            if entry.node in self.orphans:
                first.setdefault(self.group_of[entry.node], entry)
        for entry in self.in_order:
            if entry.node not in self.seeking:
                continue
            seeker = first[self.group_of[entry.node]] if entry.node in self.orphans else entry
            parent = self._before(seeker, regular) or self._before(seeker, self.in_order)
            # An orphan stays with the mails that name the same absent mail.
            if parent is None and entry.node not in self.orphans:
                parent = self._after(entry, regular) or self._after(entry, self.in_order)
            yield entry.node, parent.node if parent else ""

    def _before(self, entry: SubjectEntry, group: Sequence[SubjectEntry]) -> SubjectEntry | None:
        own, earliest = self.group_of[entry.node], entry.at - self.rule.before
        above = range(bisect_left(group, _place(entry), key=_place) - 1, -1, -1)
        other = next((group[place] for place in above if self.group_of[group[place].node] != own), None)
        return other if other is not None and other.at >= earliest else None

    def _after(self, entry: SubjectEntry, group: Sequence[SubjectEntry]) -> SubjectEntry | None:
        own, latest = self.group_of[entry.node], entry.at + self.rule.after
        below = (group[place] for place in range(bisect_right(group, _place(entry), key=_place), len(group)))
        others = (
            later for later in below if later.node not in self.seeking and self.group_of[later.node] != own
        )
        other = next(others, None)
        return other if other is not None and other.at <= latest else None
