"""A sentence in the model's own words, held against the sentences that it cites.

Refused is what the cited words deny, and what names a person, number or name that is not there. What they
neither deny nor plainly say stands as the model's reading.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.model_reading.answer import ClaimedSentence
from shared.model_reading.attributed import misattributed, overstated
from shared.model_reading.clauses import Told, clauses, is_agent
from shared.model_reading.entailed import around, denied, unproven
from shared.model_reading.evidence import LocatedQuote, locate
from shared.model_reading.polarity import JUDGMENTS
from shared.model_reading.words import (
    MONTHS,
    TELLING,
    changes_number,
    counted,
    numbers,
    numbers_told,
    stands_in,
    stem,
    stems,
    word_set,
    words,
)
from shared.reading.linked_thread import LinkedMail, LinkedThread, display_name
from shared.reading.mails import fold, word_key

_PLAIN, _LEAST = 0.34, 0.2
"""The share of a sentence's telling words that stand where it points: to state it, and to show it at all."""
_FEW = 3
"""So few words may all be others for the same."""
_NAME = re.compile(r"(?<![\w.])[A-Z][\w'\u00c0-\u024f-]*(?:\.[A-Za-z]\w*)*")
_SIGN = re.compile(r"(?<![\w-])--?[a-z][\w-]*|\b\w+_\w+\b|\b\w+\(\)")
_ROLE = (
    r"\b(?:co-)?(chairs?|chairman|chairwoman|maintainers?|editors?|shepherds?|area directors?|"
    r"release managers?|secretary|rapporteurs?)\b"
)
_SPEAKER = re.compile(
    r"(?:^|[;,] (?:and |but |while )?)([\w.+-]+) (?:says|said|thinks|agrees|agreed|supports|objects|opposes|"
    r"wants|asks|asked|suggests|proposes|finds|prefers|voted|gave|likes|accepts|accepted|rejects|rejected|"
    r"merged|will)\b"
)
_LEAST_NAME = 3
_COMMON = word_set(
    "a after all also although an and another any as at because before both but by chairs each every "
    "everybody everyone for from further he her his however i if in it its later maintainers most nobody no "
    "not of on once one only or other others out participants people reviewers several she since so some "
    "such that the their then there these they this those though to two unless until was we were what when "
    "where whether which while who with without yes yet"
)
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
    refused = held.refused()
    return Judged(found, refused, "" if refused else held.read(), lost)


class _Held:
    """One sentence beside what it cites."""

    def __init__(self, thread: LinkedThread, text: str, found: Sequence[LocatedQuote], subject: str) -> None:
        self._thread, self._text, self._found, self._subject = thread, text, found, subject
        self._cited = " ".join(quote.text for quote in found)
        self._people: dict[str, set[str]] = {}
        for mail in thread.mails:
            self._people.setdefault(display_name(mail.mail.name, mail.mail.address), set()).add(mail.person)
        self._named = _named_in(text, self._people)
        self._nameless = _without_names(text, self._people)
        # Those who do something: their name opens a clause with a verb.
        self._agents = {name: people for name, people in self._named.items() if is_agent(name, text)}
        self._told = Told(text, tuple(found), self._agents)

    def refused(self) -> str:
        """Of the causes the first that applies; empty where none does."""
        causes: tuple[tuple[str, Callable[[], object]], ...] = (
            ("a number or date in it is not in the thread", lambda: self._unknown_numbers(self._everything)),
            ("a name in it is not in the thread", self._unknown_names),
            ("whom it lets speak is not in the thread", self._strange_speaker),
            ("its judgment is not that of the cited words", self._judges_the_quoted),
            (f"nothing cited is by {self._unheard} or names them", lambda: self._unheard),
            ("it gives a role that the source does not name", self._names_holder),
            ("it changes a number", self._changes_number),
            ("it names an option that the cited mails do not", self._names_an_option),
        )
        found = next((why for why, applies in causes if applies()), "") or denied(self._told)
        if not found and self._coverage < _LEAST and len(self._telling) >= _FEW:
            return "its words are not those of what it cites"
        return found

    def read(self) -> str:
        """Why it stands as the model's reading; empty where it may be stated."""
        causes: tuple[tuple[str, Callable[[], object]], ...] = (
            ("a number or date in it is not in what it cites", lambda: self._unknown_numbers(self._shown)),
            ("a name in it is not in what it cites", lambda: self._signs_not_in(self._near)),
            ("it gives a role that the source does not name", self._untrue_role),
            ("a person named in it is not in what it cites", self._unshown_people),
        )
        found = next((why for why, applies in causes if applies()), "") or unproven(self._told)
        found = found or misattributed(self._thread, self._told) or overstated(self._told)
        if not found and self._coverage < _PLAIN:
            return "its words are only in part those of what it cites"
        return found

    @cached_property
    def _everything(self) -> str:
        parts = [self._subject]
        for mail in self._thread.mails:
            parts += [mail.mail.text, _header(mail), *(block.text for block in mail.mail.quotes)]
        return " ".join(parts)

    @cached_property
    def _shown(self) -> str:
        """The cited sentences with their neighbors, and what stands above the mails."""
        parts = [self._subject]
        for quote in self._found:
            own, first, last = quote.mail.sentences, quote.sentences[0].index, quote.sentences[-1].index
            parts += [
                quote.text,
                _header(quote.mail),
                *(one.text for one in own[max(0, first - 1) : last + 2]),
            ]
        return " ".join(parts)

    @cached_property
    def _near(self) -> str:
        """What a reader has before them at the citation: the words around, who wrote them, when, to what."""
        # Words below a quote are of the quote, not of the thread's subject.
        is_below = all(quote.sentences[0].block >= 0 for quote in self._found)
        parts = [self._cited] if is_below else [self._cited, self._subject]
        for quote in self._found:
            parts += [_header(quote.mail, subject=not is_below), around(quote)]
            answered = self._thread.answered(quote.sentences[0])
            if answered is not None:
                parts.append(_header(self._thread.mails[answered], subject=not is_below))
        return " ".join(parts)

    def _names_an_option(self) -> bool:
        mails = [quote.mail.mail for quote in self._found]
        there = " ".join(" ".join([mail.text, *(block.text for block in mail.quotes)]) for mail in mails)
        return any(sign.startswith("-") for sign in self._signs_not_in(there))

    def _signs_not_in(self, shown: str) -> set[str]:
        """Options, files and functions that stand nowhere there."""
        there = fold(f"{shown} {self._subject}")
        return {sign for sign in _SIGN.findall(fold(self._text)) if sign.strip("-.,") not in there}

    def _changes_number(self) -> bool:
        """What is counted in the cited words, by another number."""
        said = counted(self._cited)
        return changes_number(self._nameless, self._cited) or any(
            things in said and given - said[things] for things, given in counted(self._text).items()
        )

    def _unknown_numbers(self, shown: str) -> set[str]:
        return numbers_told(self._nameless) - set(numbers(shown))

    def _unknown_names(self) -> set[str]:
        there = stems(self._everything) | set(map(stem, word_key(self._everything).split()))
        unknown = set()
        for match in _NAME.finditer(self._text):
            before = self._text[: match.start()].rstrip()
            opens = not before or before.endswith((".", "!", "?", ":", ";"))
            for word in word_key(match[0]).split():
                is_common = word in _COMMON or len(word) < _LEAST_NAME or (opens and stem(word) in TELLING)
                is_plain = opens and match[0][1:] == match[0][1:].lower()
                if not is_common and not is_plain and stem(word) not in there:
                    unknown.add(word)
        return unknown

    def _strange_speaker(self) -> bool:
        """Whether a speaker is nowhere in the thread, in whatever letters."""
        there = set(words(self._everything))
        return any(
            not set(words(match[1])) & there and stem(match[1]) not in TELLING and match[1] not in _COMMON
            for match in _SPEAKER.finditer(fold(self._text))
        )

    def _judges_the_quoted(self) -> bool:
        """A judgment that stands in the quote above the cited words, and not in these."""
        blocks = [
            quote.mail.mail.quotes[block] for quote in self._found if (block := quote.sentences[0].block) >= 0
        ]
        above = set(words(" ".join(block.text for block in blocks))) - set(words(self._cited))
        return bool(JUDGMENTS & set(words(self._text)) & above)

    @cached_property
    def _unheard(self) -> str:
        """The person who acts in a clause, though nothing cited is theirs or names them."""
        first = []
        for clause in clauses(self._text):
            acting = [name for name in self._agents if name in clause and is_agent(name, clause)]
            if acting:
                first.append(min(acting, key=clause.index))
        # A sentence that names one person only is about that person.
        leaders = first or (list(self._named) if len(self._named) == 1 and not self._agents else [])
        return next((name for name in leaders if not self._is_shown(name, self._cited)), "")

    def _unshown_people(self) -> bool:
        """Whether a person is named who is not where the sentence points."""
        return any(not self._is_shown(name, self._near) for name in self._named)

    def _is_shown(self, name: str, shown: str) -> bool:
        if self._named[name] & {quote.mail.person for quote in self._found}:
            return True
        own = [part for part in word_key(name).split() if len(part) >= _LEAST_NAME]
        # A first name that others have as well names nobody.
        others = [other for other, persons in self._people.items() if not persons & self._named[name]]
        shared = {part for other in others for part in word_key(other).split()}
        parts = [part for part in own if part not in shared] or [word_key(name)]
        return any(f" {part} " in f" {word_key(shown)} " for part in parts)

    def _untrue_role(self) -> bool:
        told = set(re.findall(_ROLE, fold(self._text)))
        # Of no person by name it is enough that the thread speaks of such people.
        shown = stems(f"{self._cited} {self._subject}" if self._named else self._everything)
        people = {quote.mail.person for quote in self._found}.union(*self._named.values())
        roles = [
            self._thread.people.role(mail.number) for mail in self._thread.mails if mail.person in people
        ]
        held = " ".join(role.role for role in roles if role is not None)
        return any(stem(role.split()[-1]) not in shown and role.rstrip("s") not in held for role in told)

    def _names_holder(self) -> bool:
        """An untrue role beside a name: "as chair", "the maintainer, Ann"."""
        names = "|".join(re.escape(fold(name)) for name in self._named) or "-"
        beside = rf"\bas (?:\w+ )?{_ROLE}|(?:{names}),? (?:\w+ ){{0,3}}{_ROLE}|{_ROLE},? (?:{names})"
        return bool(re.search(beside, fold(self._text))) and self._untrue_role()

    @cached_property
    def _telling(self) -> set[str]:
        """The stems of its words that tell something."""
        names = {part for name in self._named for part in word_key(name).split()}
        told = {stem(word) for word in words(self._nameless) if word not in names and not word.isdigit()}
        return {word for word in told if len(word) > 1} - TELLING

    @cached_property
    def _coverage(self) -> float:
        """The share of the sentence's telling words that stand where it points."""
        there = stems(self._near)
        return (
            sum(stands_in(word, there) for word in self._telling) / len(self._telling)
            if self._telling
            else 1.0
        )


def _named_in(text: str, people: dict[str, set[str]]) -> dict[str, set[str]]:
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


def _header(mail: LinkedMail, *, subject: bool = True) -> str:
    name = display_name(mail.mail.name, mail.mail.address)
    day = mail.mail.date
    date = f"{day.date().isoformat()} {day.day} {MONTHS[day.month - 1]} {day.year}" if day else ""
    return f"{name} {mail.mail.name} {mail.mail.subject if subject else ''} {date}"
