"""A sentence in the model's own words, held against the sentences that it cites.

Refused is what the cited words deny, or what says more of people and results than they do. What they neither
deny nor plainly say stands as the model's reading.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.domain.chat_reading.answer import ClaimedSentence
from shared.domain.chat_reading.denials import denied, unproven
from shared.domain.chat_reading.evidence import LocatedQuote, locate
from shared.domain.chat_reading.sides import STANCE_STEMS
from shared.domain.chat_reading.told import Told, clauses, is_agent, roles_in
from shared.domain.chat_reading.wording import (
    MONTHS,
    TELLING,
    counted,
    numbers,
    numbers_told,
    stem,
    stems,
    words,
)
from shared.domain.consensus.linked_thread import LinkedMail, LinkedThread, display_name
from shared.domain.consensus.mails import fold, word_key

_PLAIN, _LEAST = 0.6, 0.3
"""The share of a sentence's own words that stand where it points: to state it, and to show it at all."""
_NAME = re.compile(r"(?<![\w.])[A-Z][\w'\u00c0-\u024f-]*(?:\.[A-Za-z]\w*)*")
_SIGN = re.compile(r"(?<![\w-])--?[a-z][\w-]*|\b\w+_\w+\b|\b\w+\(\)")
_SPEAKER = re.compile(
    r"(?:^|[;,] (?:and |but |while )?)([\w.+-]+) (?:says|said|thinks|agrees|agreed|supports|"
    r"objects|opposes|wants|asks|asked|"
    r"suggests|proposes|finds|prefers|voted|gave|likes|accepts|accepted|rejects|rejected|merged|will)\b"
)
_JUDGMENTS_WORDS = (
    "ugly beautiful bad good great wrong right elegant simple complex clean broken useless useful "
    "confusing clear reasonable sensible silly nice terrible excellent fine safe dangerous premature "
    "needed needless fair"
)
_JUDGMENTS = frozenset(stem(word) for word in _JUDGMENTS_WORDS.split())
_LEAST_NAME = 3
_ROOT = 4
"""Words of one root have one letter more than this in common."""
_COMMON_WORDS = (
    "a after all also although an and another any as at because before both but by chairs each every "
    "everybody everyone for from further he her his however i if in it its later maintainers most "
    "nobody no not of on once one only or other others out participants people reviewers several she "
    "since so some such that the their then there these they this those though to two unless until "
    "was we were what when where whether which while who with without yes yet"
)
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that open a sentence in capitals and name nobody."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a sentence rests on and how it may stand: stated, as the model's reading, or not at all."""

    evidence: tuple[LocatedQuote, ...] = ()
    refused: str = ""
    read: str = ""
    """Why it stands as the model's reading."""
    lost: int = 0
    """Quotes under it that are not in the thread."""

    @property
    def stands(self) -> bool:
        return not self.refused


def judge(thread: LinkedThread, sentence: ClaimedSentence, subject: str) -> Judged:
    """Whether a sentence may be shown, and whether as more than the model's reading."""
    located = [locate(thread, quote) for quote in sentence.evidence]
    found = tuple(one for one in located if one is not None)
    lost = len(located) - len(found)
    if not sentence.text or not found:
        return Judged(refused="no quote under it is in the thread", lost=lost)
    held = _Held(thread, sentence.text, found, subject)
    return Judged(found, held.refused, "" if held.refused else held.read, lost)


class _Held:
    """One sentence beside what it cites."""

    def __init__(self, thread: LinkedThread, text: str, found: Sequence[LocatedQuote], subject: str) -> None:
        self.thread, self.text, self.found, self.subject = thread, text, found, subject
        self.cited = " ".join(quote.text for quote in found)

    @cached_property
    def refused(self) -> str:
        """Of the causes the first that applies; empty where none does."""
        causes: tuple[tuple[str, Callable[[], object]], ...] = (
            ("a number or date in it is not in the thread", lambda: self._unknown_numbers(self._everything)),
            ("a name in it is not in the thread", lambda: self._unknown_names),
            ("whom it lets speak is not in the thread", lambda: self._strange_speaker),
            ("its judgment is not that of the cited words", lambda: self._judges_the_quoted),
            (f"nothing cited is by {self._unheard} or names them", lambda: self._unheard),
            ("it gives a role that the source does not name", lambda: self._untrue_role),
            ("it changes a number", lambda: self._other_counts),
            ("it names an option that the cited mails do not", lambda: self._names_an_option),
        )
        found = next((why for why, applies in causes if applies()), "") or denied(self._told)
        if found or self._coverage >= _LEAST:
            return found
        return "its words are not those of what it cites"

    @cached_property
    def read(self) -> str:
        """Why it stands as the model's reading; empty where it may be stated."""
        shown = f"{self._headers} {self.subject} {self._cited_mails}"
        causes: tuple[tuple[str, Callable[[], object]], ...] = (
            ("a number or date in it is not in what it cites", lambda: self._unknown_numbers(shown)),
            ("a name in it is not in what it cites", lambda: self._signs_not_in(self._near)),
            ("somebody named in it is not in what it cites", lambda: self._unshown_people),
        )
        found = next((why for why, applies in causes if applies()), "") or unproven(self._told)
        if found or self._coverage >= _PLAIN:
            return found
        return "its words are only in part those of what it cites"

    @cached_property
    def _told(self) -> Told:
        return Told(self.text, tuple(self.found), self.thread, self._agents)

    @cached_property
    def _names_an_option(self) -> bool:
        return any(sign.startswith("-") for sign in self._signs_not_in(self._cited_mails))

    @cached_property
    def _everything(self) -> str:
        parts = [self.subject]
        for mail in self.thread.mails:
            parts += [mail.mail.text, _header(mail), *(block.text for block in mail.mail.quotes)]
        return " ".join(parts)

    @cached_property
    def _headers(self) -> str:
        return " ".join(_header(quote.mail) for quote in self.found)

    @cached_property
    def _cited_mails(self) -> str:
        """All that stands in the mails that are cited, quotes included."""
        return " ".join(
            " ".join([quote.mail.mail.text, *(block.text for block in quote.mail.mail.quotes)])
            for quote in self.found
        )

    @cached_property
    def _other_counts(self) -> bool:
        """What is counted in the cited words, by another number."""
        said = counted(self.cited)
        return any(things in said and given - said[things] for things, given in counted(self.text).items())

    def _signs_not_in(self, shown: str) -> set[str]:
        """Options, files and functions that stand nowhere there."""
        there = fold(f"{shown} {self.subject}")
        return {sign for sign in _SIGN.findall(fold(self.text)) if sign.strip("-.,") not in there}

    @cached_property
    def _near(self) -> str:
        """What a reader has before them at the citation: the words around, who wrote them, when, to what."""
        # Words below a quote are of the quote, not of the thread's subject.
        parts = [self.cited]
        is_below = all(quote.sentences[0].block >= 0 for quote in self.found)
        if not is_below:
            parts.append(self.subject)
        for quote in self.found:
            mail = quote.mail
            parts += [_header(mail, subject=not is_below), *_neighbors(quote)]
            block = quote.sentences[0].block
            if block >= 0:
                parts.append(mail.mail.quotes[block].text[-600:])
            answered = self.thread.answered(quote.sentences[0])
            if answered is not None:
                parts.append(_header(self.thread.mails[answered], subject=not is_below))
        return " ".join(parts)

    def _unknown_numbers(self, shown: str) -> set[str]:
        return numbers_told(_without_names(self.text, self._people)) - set(numbers(shown))

    @cached_property
    def _people(self) -> dict[str, set[str]]:
        """Everybody who writes in the thread, by name; two may have one name."""
        found: dict[str, set[str]] = {}
        for mail in self.thread.mails:
            found.setdefault(display_name(mail.mail.name, mail.mail.address), set()).add(mail.person)
        return found

    @cached_property
    def _named(self) -> dict[str, set[str]]:
        """Those whom the sentence names, by their whole name or a part that is nobody else's."""
        return named_in(self.text, self._people)

    @cached_property
    def _agents(self) -> dict[str, set[str]]:
        """Those who do something in the sentence: their name opens a clause with a verb."""
        return {name: people for name, people in self._named.items() if is_agent(name, self.text)}

    @cached_property
    def _unknown_names(self) -> set[str]:
        there = stems(self._everything) | set(map(stem, word_key(self._everything).split()))
        unknown = set()
        for match in _NAME.finditer(self.text):
            opens = match.start() == 0 or self.text[: match.start()].rstrip().endswith(
                (".", "!", "?", ":", ";")
            )
            for word in word_key(match[0]).split():
                if word in _COMMON or len(word) < _LEAST_NAME or (opens and stem(word) in TELLING):
                    continue
                if (stem(word) not in there and not opens) or (
                    opens and stem(word) not in there and match[0][1:] != match[0][1:].lower()
                ):
                    unknown.add(word)
        return unknown

    @cached_property
    def _strange_speaker(self) -> bool:
        """Somebody says something who is nowhere in the thread, in whatever letters."""
        there = set(words(self._everything))
        return any(
            not set(words(match[1])) & there and stem(match[1]) not in TELLING and match[1] not in _COMMON
            for match in _SPEAKER.finditer(fold(self.text))
        )

    @cached_property
    def _judges_the_quoted(self) -> bool:
        """A judgment that stands in the quote above the cited words, and not in these."""
        said = stems(self.cited)
        above = stems(
            " ".join(
                quote.mail.mail.quotes[quote.sentences[0].block].text
                for quote in self.found
                if quote.sentences[0].block >= 0
            )
        )
        told = stems(self.text) & _JUDGMENTS
        return any(word in above and word not in said for word in told)

    @cached_property
    def _unheard(self) -> str:
        """Who opens a clause and acts in it, though nothing cited is theirs or names them."""
        return next((name for name in self._leaders if not self._is_shown(name, self.cited)), "")

    @cached_property
    def _unshown_people(self) -> bool:
        """Somebody of the thread who is named on the way, and does not stand where the sentence points."""
        return any(not self._is_shown(name, self._near) for name in self._named)

    def _is_shown(self, name: str, shown: str) -> bool:
        if self._named[name] & {quote.mail.person for quote in self.found}:
            return True
        there = f" {word_key(shown)} "
        own = [part for part in word_key(name).split() if len(part) >= _LEAST_NAME]
        # A first name that others have as well names nobody.
        others = [other for other, persons in self._people.items() if not persons & self._named[name]]
        shared = {part for other in others for part in word_key(other).split()}
        parts = [part for part in own if part not in shared] or [word_key(name)]
        return any(f" {part} " in there for part in parts)

    @cached_property
    def _leaders(self) -> list[str]:
        """The first who acts, of each clause; a sentence that names one person only is about that person."""
        first = []
        for clause in clauses(self.text):
            acting = [name for name in self._agents if name in clause and is_agent(name, clause)]
            if acting:
                first.append(min(acting, key=clause.index))
        return first or (list(self._named) if len(self._named) == 1 and not self._agents else [])

    @cached_property
    def _untrue_role(self) -> bool:
        told = roles_in(self.text)
        if not told:
            return False
        # Of no person by name it is enough that the thread speaks of such people.
        shown = stems(f"{self.cited} {self.subject}" if self._named else self._everything)
        holders = {
            role.role
            for mail in self.thread.mails
            if (role := self.thread.people.role(mail.number)) is not None
            and mail.person
            in ({quote.mail.person for quote in self.found} | set().union(*self._named.values()))
        }
        return any(
            stem(role.split()[-1]) not in shown and not any(role.rstrip("s") in held for held in holders)
            for role in told
        )

    @cached_property
    def _coverage(self) -> float:
        """The share of the sentence's telling words that stand where it points."""
        names = {part for name in self._named for part in word_key(name).split()}
        told = {
            stem(word) for word in words(_without_names(self.text, self._people)) if word not in names
        } - TELLING
        told = {word for word in told if not word.isdigit()} - STANCE_STEMS
        if not told:
            return 1.0
        there = stems(self._near)
        return sum(_stands_in(word, there) for word in told) / len(told)


def named_in(text: str, people: dict[str, set[str]]) -> dict[str, set[str]]:
    """The people that a text names, by the name as it stands there; a longer name hides a shorter."""
    rest = text
    parts: dict[str, set[str]] = {}
    for name, persons in people.items():
        for part in word_key(name).split():
            parts.setdefault(part, set()).update(persons)
    found: dict[str, set[str]] = {}
    for name in sorted(people, key=len, reverse=True):
        pattern = rf"(?<![\w.+-]){re.escape(name)}(?![\w+-])(?!\.\w)"
        if len(name) >= _LEAST_NAME and (match := re.search(pattern, rest, re.IGNORECASE)):
            found[match[0]] = people[name]
            rest = re.sub(pattern, " ", rest, flags=re.IGNORECASE)
    for match in _NAME.finditer(rest):
        key = word_key(match[0].removesuffix("'s"))
        is_name = len(key) >= _LEAST_NAME and key not in _COMMON and stem(key) not in TELLING
        if is_name and len(parts.get(key, ())) == 1:
            found[match[0].removesuffix("'s")] = parts[key]
    return found


def _without_names(text: str, people: Iterable[str]) -> str:
    for name in sorted(people, key=len, reverse=True):
        text = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
    return text


def _stands_in(word: str, there: set[str]) -> bool:
    if word in there:
        return True
    return len(word) > _ROOT and any(one.startswith(word[: _ROOT + 1]) for one in there if len(one) > _ROOT)


def _neighbors(quote: LocatedQuote) -> list[str]:
    own = quote.mail.sentences
    first, last = quote.sentences[0].index, quote.sentences[-1].index
    return [one.text for one in own[max(0, first - 1) : first] + own[last + 1 : last + 2]]


def _header(mail: LinkedMail, *, subject: bool = True) -> str:
    name = display_name(mail.mail.name, mail.mail.address)
    day = mail.mail.date
    date = f"{day.date().isoformat()} {day.day} {MONTHS[day.month - 1]} {day.year}" if day else ""
    return f"{name} {mail.mail.name} {mail.mail.subject if subject else ''} {date}"
