"""Checks a sentence in the model's own words against the sentences that it cites.

A sentence is refused if its quotes deny it, or if it has a person, number or name that the thread does not
have. A sentence that its quotes do not plainly state is marked as the model's reading.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from shared.model_reading.answer import ClaimedSentence
from shared.model_reading.attributed import misattributed, overstated
from shared.model_reading.clauses import SummarySentence, clauses, is_agent
from shared.model_reading.entailed import around, denied, unproven
from shared.model_reading.evidence import LocatedQuote, locate
from shared.model_reading.polarity import JUDGMENTS
from shared.model_reading.words import (
    GENERIC,
    MONTHS,
    changes_number,
    counted,
    has_root_in,
    numbers,
    numbers_stated,
    stem,
    stems,
    word_set,
    words,
)
from shared.reading.linked_thread import LinkedMail, LinkedThread, display_name
from shared.reading.mails import fold, word_key

_PLAIN, _LEAST = 0.34, 0.2
"""The shares of content words near the quotes that a statement and that any sentence needs."""
_FEW = 3
"""A sentence with fewer content words may use other words for the same."""
_NAME = re.compile(r"(?<![\w.])[A-Z][\w'\u00c0-\u024f-]*(?:\.[A-Za-z]\w*)*")
_TERM = re.compile(r"(?<![\w-])--?[a-z][\w-]*|\b\w+_\w+\b|\b\w+\(\)")
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
"""Capitalized words that open a sentence and name nobody."""


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """The evidence of a sentence, and whether it is stated, marked as the model's reading, or refused."""

    evidence: tuple[LocatedQuote, ...] = ()
    refused: str = ""
    marked: str = ""
    """Why the sentence is marked as the model's reading."""
    missing: int = 0
    """The number of its quotes that are not in the thread."""

    @property
    def is_shown(self) -> bool:
        return not self.refused


def judge(thread: LinkedThread, sentence: ClaimedSentence, subject: str) -> SentenceVerdict:
    """Judge whether a sentence may be shown, and whether as more than the model's reading."""
    located = [locate(thread, quote) for quote in sentence.evidence]
    found = tuple(quote for quote in located if quote is not None)
    missing = len(located) - len(found)
    if not sentence.text or not found:
        return SentenceVerdict(refused="none of its quotes is in the thread", missing=missing)
    check = _SentenceCheck(thread, sentence.text, found, subject)
    refusal = check.refusal()
    return SentenceVerdict(found, refusal, "" if refusal else check.mark(), missing)


class _SentenceCheck:
    """A sentence of the summary, compared with the sentences that it cites."""

    def __init__(self, thread: LinkedThread, text: str, found: Sequence[LocatedQuote], subject: str) -> None:
        self._thread, self._text, self._found, self._subject = thread, text, found, subject
        self._cited = " ".join(quote.text for quote in found)
        self._people: dict[str, set[str]] = {}
        for mail in thread.mails:
            self._people.setdefault(display_name(mail.mail.name, mail.mail.address), set()).add(mail.person)
        self._named = _named_in(text, self._people)
        self._nameless = _without_names(text, self._people)
        # A person acts if their name opens a clause with a verb.
        self._agents = {name: people for name, people in self._named.items() if is_agent(name, text)}
        self._sentence = SummarySentence(text, tuple(found), self._agents)

    def refusal(self) -> str:
        """Return the first cause for refusal that applies, or an empty string."""
        causes: tuple[tuple[str, Callable[[], object]], ...] = (
            ("a number or date in it is not in the thread", lambda: self._unknown_numbers(self._everything)),
            ("a name in it is not in the thread", self._unknown_names),
            ("a speaker in it is not in the thread", self._unknown_speaker),
            ("it judges otherwise than the cited words", self._judges_the_quoted),
            (f"nothing cited is by {self._uncited_person} or names them", lambda: self._uncited_person),
            ("it gives a role that the source does not name", self._names_holder),
            ("it changes a number", self._changes_number),
            ("it names an option that the cited mails do not", self._names_an_option),
        )
        applied = next((cause for cause, applies in causes if applies()), "") or denied(self._sentence)
        if not applied and self._coverage < _LEAST and len(self._content_words) >= _FEW:
            return "its words are not in what it cites"
        return applied

    def mark(self) -> str:
        """Return why the sentence is only the model's reading, or an empty string if it may be stated."""
        causes: tuple[tuple[str, Callable[[], object]], ...] = (
            ("a number or date in it is not in what it cites", lambda: self._unknown_numbers(self._shown)),
            ("a name in it is not in what it cites", lambda: self._terms_not_in(self._near)),
            ("it gives a role that the source does not name", self._untrue_role),
            ("a person named in it is not in what it cites", self._unshown_people),
        )
        applied = next((cause for cause, applies in causes if applies()), "") or unproven(self._sentence)
        applied = applied or misattributed(self._thread, self._sentence) or overstated(self._sentence)
        if not applied and self._coverage < _PLAIN:
            return "only some of its words are in what it cites"
        return applied

    @cached_property
    def _everything(self) -> str:
        parts = [self._subject]
        for mail in self._thread.mails:
            parts += [mail.mail.text, _header(mail), *(block.text for block in mail.mail.quotes)]
        return " ".join(parts)

    @cached_property
    def _shown(self) -> str:
        """The subject, and the cited sentences with their neighbors and headers."""
        parts = [self._subject]
        for quote in self._found:
            own, first, last = quote.mail.sentences, quote.sentences[0].index, quote.sentences[-1].index
            parts += [
                quote.text,
                _header(quote.mail),
                *(sentence.text for sentence in own[max(0, first - 1) : last + 2]),
            ]
        return " ".join(parts)

    @cached_property
    def _near(self) -> str:
        """The view of a reader at the citation: nearby words, writers, dates and what is answered."""
        # Words below a quote answer the quote, not the thread's subject.
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
        known = " ".join(" ".join([mail.text, *(block.text for block in mail.quotes)]) for mail in mails)
        return any(sign.startswith("-") for sign in self._terms_not_in(known))

    def _terms_not_in(self, text: str) -> set[str]:
        """Return the options, files and functions in the sentence that the text does not have."""
        known = fold(f"{text} {self._subject}")
        return {sign for sign in _TERM.findall(fold(self._text)) if sign.strip("-.,") not in known}

    def _changes_number(self) -> bool:
        """Return whether the sentence gives another number for something that the quotes count."""
        quoted_counts = counted(self._cited)
        return changes_number(self._nameless, self._cited) or any(
            thing in quoted_counts and given - quoted_counts[thing]
            for thing, given in counted(self._text).items()
        )

    def _unknown_numbers(self, text: str) -> set[str]:
        return numbers_stated(self._nameless) - set(numbers(text))

    def _unknown_names(self) -> set[str]:
        known = stems(self._everything) | set(map(stem, word_key(self._everything).split()))
        unknown = set()
        for match in _NAME.finditer(self._text):
            before = self._text[: match.start()].rstrip()
            opens = not before or before.endswith((".", "!", "?", ":", ";"))
            for word in word_key(match[0]).split():
                is_common = word in _COMMON or len(word) < _LEAST_NAME or (opens and stem(word) in GENERIC)
                is_plain = opens and match[0][1:] == match[0][1:].lower()
                if not is_common and not is_plain and stem(word) not in known:
                    unknown.add(word)
        return unknown

    def _unknown_speaker(self) -> bool:
        """Return whether a speaker is nowhere in the thread, whatever the case."""
        known = set(words(self._everything))
        return any(
            not set(words(match[1])) & known and stem(match[1]) not in GENERIC and match[1] not in _COMMON
            for match in _SPEAKER.finditer(fold(self._text))
        )

    def _judges_the_quoted(self) -> bool:
        """Return whether the sentence takes a judgment from the quote above the cited words."""
        blocks = [
            quote.mail.mail.quotes[block] for quote in self._found if (block := quote.sentences[0].block) >= 0
        ]
        above = set(words(" ".join(block.text for block in blocks))) - set(words(self._cited))
        return bool(JUDGMENTS & set(words(self._text)) & above)

    @cached_property
    def _uncited_person(self) -> str:
        """The person who acts in a clause although no quote is by them or names them."""
        leading = []
        for clause in clauses(self._text):
            acting = [name for name in self._agents if name in clause and is_agent(name, clause)]
            if acting:
                leading.append(min(acting, key=clause.index))
        # A sentence that names only one person is about that person.
        leaders = leading or (list(self._named) if len(self._named) == 1 and not self._agents else [])
        return next((name for name in leaders if not self._is_shown(name, self._cited)), "")

    def _unshown_people(self) -> bool:
        """Return whether the sentence names a person who is not at the citation."""
        return any(not self._is_shown(name, self._near) for name in self._named)

    def _is_shown(self, name: str, text: str) -> bool:
        if self._named[name] & {quote.mail.person for quote in self._found}:
            return True
        own = [part for part in word_key(name).split() if len(part) >= _LEAST_NAME]
        # A first name that other people share identifies no person.
        others = [other for other, persons in self._people.items() if not persons & self._named[name]]
        shared = {part for other in others for part in word_key(other).split()}
        parts = [part for part in own if part not in shared] or [word_key(name)]
        return any(f" {part} " in f" {word_key(text)} " for part in parts)

    def _untrue_role(self) -> bool:
        named = set(re.findall(_ROLE, fold(self._text)))
        # If the sentence names no person, any mention of the role in the thread is enough.
        known = stems(f"{self._cited} {self._subject}" if self._named else self._everything)
        people = {quote.mail.person for quote in self._found}.union(*self._named.values())
        roles = [
            self._thread.people.role(mail.number) for mail in self._thread.mails if mail.person in people
        ]
        held = " ".join(role.role for role in roles if role is not None)
        return any(stem(role.split()[-1]) not in known and role.rstrip("s") not in held for role in named)

    def _names_holder(self) -> bool:
        """Return whether an untrue role is next to a name: "as chair", "the maintainer, Ann"."""
        names = "|".join(re.escape(fold(name)) for name in self._named) or "-"
        pattern = rf"\bas (?:\w+ )?{_ROLE}|(?:{names}),? (?:\w+ ){{0,3}}{_ROLE}|{_ROLE},? (?:{names})"
        return bool(re.search(pattern, fold(self._text))) and self._untrue_role()

    @cached_property
    def _content_words(self) -> set[str]:
        """The stems of the sentence's content words."""
        names = {part for name in self._named for part in word_key(name).split()}
        roots = {stem(word) for word in words(self._nameless) if word not in names and not word.isdigit()}
        return {word for word in roots if len(word) > 1} - GENERIC

    @cached_property
    def _coverage(self) -> float:
        """The share of the sentence's content words that are near its quotes."""
        nearby = stems(self._near)
        return (
            sum(has_root_in(word, nearby) for word in self._content_words) / len(self._content_words)
            if self._content_words
            else 1.0
        )


def _named_in(text: str, people: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the people that a text names, by the name in the text. A longer name hides a shorter one."""
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
        is_name = len(key) >= _LEAST_NAME and key not in _COMMON and stem(key) not in GENERIC
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
