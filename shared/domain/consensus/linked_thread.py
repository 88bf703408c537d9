"""A thread with its reply links, people and own sentences: what every part of the reader looks at."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.documents.values import Preset, SentenceCitation, SourceProfile
from shared.domain.consensus.cues import TRAILER
from shared.domain.consensus.own_sentences import MAX_CHARS, OwnSentence, own_sentences, word_key
from shared.domain.consensus.people import People
from shared.domain.consensus.thread_mail import ThreadMail
from shared.domain.mail.subjects import split_subject

_PATCH_TAG = re.compile(
    r"\[[^\]]{0,80}\b(?:PATCH|PULL)\b|\bGIT PULL\b|"
    r"\[RFC(?: [A-Za-z][\w-]{0,20})?(?: v\d{1,2})?,? \d{1,3}/\d{1,3}\s*\]"
)
_MACHINE = re.compile(
    r"(?:^|[\W_])(?:(?:ro|syz|dependa|build|git)?bot|no-?reply|notifications?|jenkins|bugzilla|gerrit|"
    r"patchwork|mailer-daemon)(?:$|[\W_])",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\bv(\d{1,3})\b", re.IGNORECASE)
_SERIES_PART = re.compile(r"\b(\d{1,3})/(\d{1,3})\s*\]")
_MAX_ANCESTORS = 12
"""How far up an ancestor's words are looked for: older quotes are rare, long chains of replies are not."""
_LONGEST_NAME = 80
_MAX_SEARCHED = 20_000
"""Letters of a mail in which a quoted line is looked for: what lies beyond is a long patch."""
_MIN_KEY = 24
"""Letters of a sentence that two people do not write by chance."""
_DIFF_MARKS = ("\ndiff --git ", "\n--- a/", "\n@@ -", "\nIndex: ")
_DIFF_OPENINGS = tuple(mark[1:] for mark in _DIFF_MARKS)
_MARKUP = re.compile(r"<[^<>]{0,80}>")
_TAIL_WORDS = 7
_MIN_PROBE = 3
_MAX_PROBES = 5
_MAX_TAIL = 600


@dataclass
class LinkedMail:
    """A mail in its place. `number` counts in the thread, `parent` is such a number."""

    number: int
    mail: ThreadMail
    person: str
    parent: int | None
    sentences: list[OwnSentence]
    has_diff: bool
    is_reply: bool
    is_machine: bool
    """Written by a program: it tells what was done, and stands nowhere."""
    is_patch: bool
    """Whether the mail itself brings a patch, a series' cover letter or a pull request."""

    @cached_property
    def words(self) -> str:
        """All own words, bare: to find a quoted line's origin."""
        return word_key(self.mail.text[:_MAX_SEARCHED])

    @property
    def version(self) -> int:
        found = _VERSION.search(self.mail.subject)
        return int(found[1]) if found else 1

    @property
    def is_part(self) -> bool:
        """A patch of a series, and not its cover letter."""
        found = _SERIES_PART.search(self.mail.subject)
        return found is not None and int(found[1]) > 0

    @property
    def is_one_of_many(self) -> bool:
        """One patch of a series of several, or an answer to one."""
        found = _SERIES_PART.search(self.mail.subject)
        return found is not None and int(found[1]) > 0 and int(found[2]) > 1


class LinkedThread:
    def __init__(self, mails: Sequence[ThreadMail], profile: SourceProfile) -> None:
        self.profile = profile
        self.people = People(mails, profile)
        numbers = {mail.message_id: number for number, mail in enumerate(mails)}
        self.mails = [self._link(number, mail, numbers) for number, mail in enumerate(mails)]
        self._drop_borrowed()
        self._answered: dict[tuple[int, int], int | None] = {}

    @property
    def preset(self) -> Preset:
        return self.profile.preset

    @property
    def root(self) -> LinkedMail:
        return self.mails[0]

    def _link(self, number: int, mail: ThreadMail, numbers: dict[str, int]) -> LinkedMail:
        wanted = [mail.reply_to, *reversed(mail.references)]
        # A parent may stand later where clocks were wrong. Cycles do no harm: `ancestors` is bounded.
        parent = next((numbers[one] for one in wanted if one in numbers and numbers[one] != number), None)
        is_reply = split_subject(mail.subject).is_reply
        return LinkedMail(
            number=number,
            mail=mail,
            person=self.people.of_mail[number],
            parent=parent,
            sentences=_without_names(own_sentences(mail.text, mail.quotes, number), mail),
            has_diff=_has_diff(mail.text),
            is_reply=is_reply,
            is_machine=bool(_MACHINE.search(f"{mail.address.partition('@')[0]} {mail.name}")),
            is_patch=not is_reply and bool(_PATCH_TAG.search(mail.subject)),
        )

    def _drop_borrowed(self) -> None:
        """Leave out sentences that an earlier mail of somebody else has: quoted, though no mark says so."""
        first_by: dict[str, str] = {}
        for mail in self.mails:
            others = [one.words for one in self.ancestors(mail) if one.person != mail.person]
            borrowed = [_is_borrowed(one, mail.person, first_by, others) for one in mail.sentences]
            kept = [
                one
                for number, one in enumerate(mail.sentences)
                if not borrowed[number]
                or (not _stands_among(borrowed, number) and _is_own_trailer(one, mail.mail))
            ]
            if len(kept) < len(mail.sentences):
                for index, sentence in enumerate(kept):
                    sentence.index = index
                mail.sentences = kept
            for sentence in kept:
                if len(sentence.text) > _MIN_KEY:
                    first_by.setdefault(sentence.key, mail.person)

    def ancestors(self, mail: LinkedMail) -> Iterator[LinkedMail]:
        """The mails it answers, nearest first, up to a bound."""
        parent = mail.parent
        for _ in range(_MAX_ANCESTORS):
            if parent is None:
                return
            yield self.mails[parent]
            parent = self.mails[parent].parent

    @cached_property
    def answered_by_others(self) -> dict[int, set[str]]:
        """Who else answers each mail that is answered at all."""
        found: dict[int, set[str]] = {}
        for mail in self.mails:
            if mail.parent is not None and mail.person != self.mails[mail.parent].person:
                found.setdefault(mail.parent, set()).add(mail.person)
        return found

    def sentences(self) -> Iterator[OwnSentence]:
        for mail in self.mails:
            yield from mail.sentences

    def mail_of(self, sentence: OwnSentence) -> LinkedMail:
        return self.mails[sentence.mail]

    def answered(self, sentence: OwnSentence) -> int | None:
        """The mail that a sentence answers: the one whose words stand quoted right above, else the parent."""
        place = (sentence.mail, sentence.block)
        if place not in self._answered:
            self._answered[place] = self._find_answered(self.mail_of(sentence), sentence.block)
        return self._answered[place]

    def _find_answered(self, mail: LinkedMail, block: int) -> int | None:
        if block < 0:
            return mail.parent
        for probe in _probes(mail.mail.quotes[block].text):
            for ancestor in self.ancestors(mail):
                if probe in ancestor.words:
                    return ancestor.number
        # Nothing shows where the lines come from: with one block it is most likely the mail replied to.
        return mail.parent if len(mail.mail.quotes) <= 1 else None

    def following(self, sentence: OwnSentence) -> OwnSentence | None:
        own = self.mail_of(sentence).sentences
        return own[sentence.index + 1] if sentence.index + 1 < len(own) else None

    def cite(self, sentence: OwnSentence) -> SentenceCitation:
        return SentenceCitation(
            message_id=self.mail_of(sentence).mail.message_id,
            start=sentence.start,
            end=sentence.end,
            quote=sentence.text,
        )


def _is_own_trailer(sentence: OwnSentence, mail: ThreadMail) -> bool:
    """Whether it is the sender's own `Reviewed-by:`: the same line as of the version before is given anew."""
    found = TRAILER.match(sentence.text)
    return found is not None and found[3].lower() == mail.address.lower()


def _stands_among(borrowed: list[bool], number: int) -> bool:
    """Whether a neighbour is borrowed: then the line came with the rest of a quote that no mark shows."""
    return any(borrowed[max(0, number - 1) : number]) or any(borrowed[number + 1 : number + 2])


def _is_borrowed(sentence: OwnSentence, person: str, first_by: dict[str, str], others: list[str]) -> bool:
    """Whether somebody else wrote it first: in a mail before, or in one of `others`, which it answers."""
    if len(sentence.text) <= _MIN_KEY:
        return False
    key = sentence.key
    if len(key) <= _MIN_KEY:
        return False
    return first_by.get(key, person) != person or any(key in words for words in others)


def _probes(quoted: str) -> Iterator[str]:
    """Words to find a quoted block's origin by: its last lines, the lowest first.

    The lowest line may be a signature, or wrapped anew: then the next ones are tried.
    """
    tried = 0
    for line in reversed(quoted[-_MAX_TAIL:].splitlines()):
        words = word_key(line).split()[-_TAIL_WORDS:]
        if len(words) >= _MIN_PROBE:
            yield " ".join(words)
            tried += 1
            if tried == _MAX_PROBES:
                return
    if not tried and (words := word_key(quoted[-_MAX_TAIL:]).split()[-_TAIL_WORDS:]):
        yield " ".join(words)


def _has_diff(text: str) -> bool:
    lines = text[:MAX_CHARS]
    return lines.startswith(_DIFF_OPENINGS) or any(mark in lines for mark in _DIFF_MARKS)


def _is_name(sentence: OwnSentence, names: set[str]) -> bool:
    if len(sentence.text) > _LONGEST_NAME:
        return False
    key = word_key(_MARKUP.sub("", sentence.text)) if "<" in sentence.text else sentence.key
    return bool(key) and names.issuperset(key.split(" "))


def _without_names(sentences: list[OwnSentence], mail: ThreadMail) -> list[OwnSentence]:
    """A line that holds nothing but the sender's name signs the mail: nobody says anything in it."""
    names = set(word_key(f"{mail.name} {mail.address.partition('@')[0]}").split())
    kept = [one for one in sentences if not _is_name(one, names)]
    for index, sentence in enumerate(kept):
        sentence.index = index
    return kept
