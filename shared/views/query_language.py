"""The query language of the search box: words that rank, and operators that filter.

A query consists of clauses that must all hold, such as `from:leo`, `"an exact phrase"`, `-word`, or
alternatives with OR. Plain words only rank, but names of standards and Message-IDs also filter.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from shared.azure.search.fields import any_of, instant, quoted
from shared.mail.archive_addresses import bare_message_id
from shared.mail.mentions import draft_base, find_mentions
from shared.models.sources import NAME_PATTERN
from shared.models.values import Genre, OutcomeKind
from shared.views.parameters import mention_name

MOST_TERMS = 40
STANCES = ("support", "oppose", "mixed")
_TOKEN = re.compile(
    r'(?P<minus>-(?=\w[\w.:@-]|"))?(?:(?P<name>[A-Za-z]+):(?=[^\s:/]))?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))'
)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_WORD = re.compile(r"\w+(?:[.'\u2019_+-]\w+)*")
_ADDRESS = re.compile(r"<?[^\s<>@\"]+@[^\s<>@\"]+>?")


class QueryError(ValueError):
    """An error in a query. Its text has the position and the remedy."""


@dataclass(frozen=True)
class Term:
    """A condition on a passage: an operator with its value, or a text (name "") with its words."""

    name: str
    value: str
    is_phrase: bool = False


@dataclass(frozen=True)
class Clause:
    """Alternatives of which one must hold, or one term that must not hold."""

    terms: tuple[Term, ...]
    is_excluded: bool = False

    @property
    def only_ranks(self) -> bool:
        first = self.terms[0]
        return not (len(self.terms) > 1 or self.is_excluded or first.name or first.is_phrase)


@dataclass(frozen=True)
class Query:
    text: str
    clauses: tuple[Clause, ...] = ()
    ranking: str = ""  # the words to search for. If empty, the latest mails come first
    named: tuple[str, ...] = field(default=())  # standards and Message-IDs that have a page

    def terms(self, *names: str) -> list[Term]:
        found = (term for clause in self.clauses for term in clause.terms)
        return list(dict.fromkeys(term for term in found if term.name in names))

    @property
    def only_list(self) -> str | None:
        alone = (
            clause.terms[0] for clause in self.clauses if len(clause.terms) == 1 and not clause.is_excluded
        )
        return next((term.value for term in alone if term.name == "list"), None)

    @property
    def is_exact(self) -> bool:
        """Return whether the query has exact words or names, so that every match is an answer."""
        return any(
            term.is_phrase or term.name in EXACT
            for clause in self.clauses
            for term in clause.terms
            if not clause.is_excluded
        )

    def to_odata(self, threads: Mapping[Term, Sequence[str]], known_since: str | None = None) -> str | None:
        """Return the OData filter. `threads` has the threads that match terms about readings.

        If not all threads are known, exclusions are limited to the time since `known_since`.
        """
        conditions = []
        excluded = [term for clause in self.clauses if clause.is_excluded for term in clause.terms]
        if known_since and any(term.name in OF_THREADS for term in excluded):
            conditions.append(f"date ge {known_since}")
        for clause in self.clauses:
            either = " or ".join(_condition(term, threads) for term in clause.terms)
            conditions.append(f"not ({either})" if clause.is_excluded else f"({either})")
        return " and ".join(conditions) or None


def parse_search(text: str) -> Query:
    return _Parser(_UNPRINTABLE.sub(" ", text)).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._clauses: list[Clause] = []
        self._words: list[str] = []
        self._or_at: int | None = None  # the position of an OR that waits for its right side

    def parse(self) -> Query:
        at = 0
        while at < len(self._text):
            if self._text[at].isspace():
                at += 1
                continue
            token = _TOKEN.match(self._text, at)
            if token is None:
                place = f"The quotation mark at character {at + 1}"
                raise QueryError(f"{place} is not closed. Close or remove it.")
            self._add_token(token)
            at = token.end()
        if self._or_at is not None:
            raise _no_alternative(self._or_at)
        return _query(self._text, self._clauses, self._words)

    def _add_token(self, token: re.Match[str]) -> None:
        if not _WORD.search(token[0]):
            _refuse_empty(token)
        elif token[0] == "OR":
            if self._or_at is not None or not self._clauses:
                raise _no_alternative(token.start())
            self._or_at = token.start()
        else:
            self._add(_term(token), is_excluded=token["minus"] is not None)

    def _add(self, term: Term, *, is_excluded: bool) -> None:
        if self._or_at is None:
            self._clauses.append(Clause((term,), is_excluded))
        else:
            if is_excluded or self._clauses[-1].is_excluded:
                place = f"The exclusion next to OR at character {self._or_at + 1}"
                raise QueryError(f"{place} would widen the search. Remove one of them.")
            self._clauses[-1] = Clause((*self._clauses[-1].terms, term))
            self._or_at = None
        if term.name in ("", "subject") and not is_excluded and not _ADDRESS.fullmatch(term.value):
            self._words += _WORD.findall(term.value)


def _query(text: str, clauses: list[Clause], words: list[str]) -> Query:
    """Create the query. Single words only rank unless they name a standard, a mail or an address."""
    kept = [clause for clause in clauses if not clause.only_ranks]
    free = [clause.terms[0].value for clause in clauses if clause.only_ranks]
    named = find_mentions(" ".join(free))
    kept += [Clause(tuple(Term("draft", name) for name in named))] if named else []
    ids = [word for word in free if _ADDRESS.fullmatch(word)]
    kept += [Clause((Term("id", bare_message_id(word)),)) for word in ids]
    if sum(len(clause.terms) for clause in kept) > MOST_TERMS:
        raise QueryError(f"The query has more than {MOST_TERMS} operators. Remove some.")
    if not kept and not words:
        raise QueryError(
            "The query has no word to search for. Enter a word or an operator such as from:name."
        )
    query = Query(text, tuple(kept), " ".join(words))
    standards = dict.fromkeys(draft_base(term.value) for term in query.terms("draft", "rfc"))
    mails = dict.fromkeys(term.value for term in query.terms("mid", "id"))
    return Query(text, query.clauses, query.ranking, (*standards, *mails))


def _refuse_empty(token: re.Match[str]) -> None:
    """Refuse an operator without words. Other tokens without words are ignored."""
    if token["phrase"] is not None or token["minus"]:
        raise QueryError(f"{token[0]} at character {token.start() + 1} has no letter or digit. Remove it.")


def _no_alternative(at: int) -> QueryError:
    return QueryError(
        f'OR at character {at + 1} needs a word on both sides. To search for the word, write "OR".'
    )


def _term(token: re.Match[str]) -> Term:
    name, value = (token["name"] or "").lower(), token["phrase"] if token["word"] is None else token["word"]
    if not name:
        return _text(token, value)
    if name not in OPERATORS:
        similar = difflib.get_close_matches(name, OPERATORS, n=1, cutoff=0.75)
        if similar:
            raise QueryError(
                f"{name}: at character {token.start() + 1} is not an operator. Did you mean {similar[0]}:? "
                "To search for the words, put them in quotation marks."
            )
        return _text(token, f"{name}:{value}")
    try:
        return Term(name, OPERATORS[name][0](value.strip()), token["word"] is None)
    except ValueError as error:
        raise QueryError(f"{name}:{value} at character {token.start() + 1}: {error}") from None


def _text(token: re.Match[str], value: str) -> Term:
    name = value.removesuffix(":").lower()
    if value.endswith(":") and name in OPERATORS and token["phrase"] is None:
        raise QueryError(
            f"{value} at character {token.start() + 1} has no value. Write it without a space: "
            f"{OPERATORS[name][1]}"
        )
    return Term("", value, token["phrase"] is not None)


def _any(value: str) -> str:
    if not _WORD.search(value):
        raise ValueError("has no letter or digit")
    return value


def _person(value: str) -> str:
    return _any(value).lower() if "@" in value else _any(value)


def _source(value: str) -> str:
    if not re.fullmatch(NAME_PATTERN, value):
        raise ValueError("is not a list's name. The page Lists has the names")
    return value


def _rfc(value: str) -> str:
    number = value.lower().removeprefix("rfc")
    if not re.fullmatch("[1-9][0-9]{0,5}", number):
        raise ValueError("write the number: rfc:5321")
    return f"RFC{number}"


def _one_of(*values: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value.lower() not in values:
            raise ValueError(f"is none of {', '.join(values)}")
        return value.lower()

    return check


def _period(value: str) -> str:
    year, month, day = (*value.split("-"), "", "")[:3]
    try:
        first = date.fromisoformat(f"{year}-{month or '01'}-{day or '01'}")
        last = first + timedelta(days=1 if day else 32 if month else 367)
    except (ValueError, OverflowError):
        raise ValueError("write a day, a month or a year: 2024-03-31, 2024-03, 2024") from None
    after = last if day else last.replace(day=1, month=last.month if month else 1)
    return f"{first} {after}"


OPERATORS: dict[str, tuple[Callable[[str], str], str]] = {
    "from": (_person, 'from:leo, from:"Leo Lahti" or from:leo@example.org'),
    "to": (_person, 'to:leo, to:"Leo Lahti" or to:leo@example.org'),
    "list": (_source, "list:git"),
    "subject": (_any, "subject:receipt"),
    "draft": (mention_name, "draft:draft-ietf-tls-esni"),
    "rfc": (_rfc, "rfc:5321"),
    "since": (_period, "since:2024-03"),
    "until": (_period, "until:2024"),
    "outcome": (_one_of(*OutcomeKind), "outcome:accepted"),
    "genre": (_one_of(*Genre), "genre:call"),
    "stance": (_one_of(*STANCES), "stance:oppose"),
    "is": (_one_of("open"), "is:open"),
    "has": (_one_of("patch"), "has:patch"),
    "mid": (bare_message_id, "mid:a@example.org"),
}
"""Each operator with the check of its value and an example."""
EXACT = ("subject", "draft", "rfc", "mid", "id")
OF_THREADS = ("outcome", "genre", "stance", "is")


def _condition(term: Term, threads: Mapping[Term, Sequence[str]]) -> str:
    if term.name in OF_THREADS:
        return any_of("thread_id", threads[term]) if threads[term] else "false"
    return _CONDITIONS[term.name](term)


def _matches(term: Term, fields: str) -> str:
    """Return the condition for all words of the value, in this order for a phrase. The value is escaped."""
    words = " ".join(_WORD.findall(term.value))
    text = f'"{words}"' if term.is_phrase or " " in words else words
    return f"search.ismatch({quoted(text)}, '{fields}', 'simple', 'all')"


def _of_person(term: Term, address: str, name: str) -> str:
    return address.format(quoted(term.value)) if "@" in term.value else _matches(term, name)


def drafts_of(name: str) -> list[str]:
    """Return the name, or all versions of a draft without a version."""
    versions = range(100 if name.startswith("draft-") and draft_base(name) == name else 0)
    return [name, *(f"{name}-{number:02d}" for number in versions)]


def _of_draft(term: Term) -> str:
    return f"draft_mentions/any(mention: {any_of('mention', drafts_of(term.value))})"


def _instant_of(day: str) -> str:
    return instant(datetime.combine(date.fromisoformat(day), time(), UTC))


def _of_id(term: Term) -> str:
    """Match a word with an @ as the id of a mail or as an address."""
    address = quoted(term.value.lower())
    return (
        f"message_id eq {quoted(f'<{term.value}>')} or sender eq {address} "
        f"or recipients/any(address: address eq {address})"
    )


_CONDITIONS: dict[str, Callable[[Term], str]] = {
    "": lambda term: _matches(term, "text,subject,sender_name"),
    "subject": lambda term: _matches(term, "subject"),
    "from": lambda term: _of_person(term, "sender eq {}", "sender_name"),
    "to": lambda term: _of_person(term, "recipients/any(one: one eq {})", "recipient_names"),
    "list": lambda term: f"source eq {quoted(term.value)}",
    "draft": _of_draft,
    "rfc": _of_draft,
    "since": lambda term: f"date ge {_instant_of(term.value.split()[0])}",
    "until": lambda term: f"date lt {_instant_of(term.value.split()[1])}",
    "has": lambda term: "has_patch eq true",  # noqa: ARG005 - one signature for every operator
    "mid": lambda term: f"message_id eq {quoted(f'<{term.value}>')}",
    "id": _of_id,
}
