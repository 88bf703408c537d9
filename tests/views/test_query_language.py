"""The query language, compared with a naive evaluator on the local AI Search, and on arbitrary text."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.azure.search.fields import Filters, writer_of
from shared.views.query_language import (
    OF_THREADS,
    OPERATORS,
    Clause,
    Query,
    QueryError,
    Term,
    drafts_of,
    parse_search,
)
from tests.support.cloud import AppCloud
from tests.support.services import RunningService
from tests.support.toy_stages import Bench, bench

pytestmark = pytest.mark.asyncio(loop_scope="module")
WORDS = ("receipt", "json", "ticket", "lifetime", "seven", "days", "archive")
PEOPLE = (("Leo Lahti", "leo@example.org"), ("Ann Leo", "ann@example.org"), ("", "bot@example.org"))
THREADS = {
    Term("outcome", "accepted"): ["t0", "t1"],
    Term("genre", "call"): ["t1", "t2"],
    Term("stance", "oppose"): [],
    Term("is", "open"): ["t2"],
}
QUERIES = 250


@dataclass(frozen=True)
class Passage:
    number: int
    text: str
    subject: str
    sender: tuple[str, str]
    to: tuple[str, str]
    date: str
    drafts: tuple[str, ...]

    @property
    def row(self) -> dict[str, Any]:
        return {
            "chunk_id": f"c-{self.number}",
            "message_id": f"<m{self.number}@example.org>",
            "thread_id": f"t{self.number % 4}",
            "source": ("git", "ietf")[self.number % 2],
            "text": self.text,
            "subject": self.subject,
            "sender": self.sender[1],
            "sender_name": self.sender[0],
            "writer": writer_of(*self.sender),
            "recipients": [self.to[1]],
            "recipient_names": [self.to[0]] if self.to[0] else [],
            "has_patch": self.number % 3 == 0,
            "date": self.date,
            "draft_mentions": list(self.drafts),
            "embedding": [1.0, 0.0, 0.0, 0.0],
        }


def made_passages() -> list[Passage]:
    chance = random.Random(7)
    return [
        Passage(
            number,
            " ".join(chance.choices(WORDS, k=chance.randint(1, 6))),
            " ".join(chance.choices(WORDS, k=2)),
            chance.choice(PEOPLE),
            chance.choice(PEOPLE),
            f"202{chance.randint(2, 4)}-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}T12:00:00Z",
            tuple(chance.choice([[], ["RFC5321"], ["draft-a-b-02"], ["RFC5321", "draft-a-b"]])),
        )
        for number in range(60)
    ]


PASSAGES = made_passages()


def has_words(term: Term, *texts: str) -> bool:
    """Return whether every word is in one of the texts. A phrase needs its words in order in one text."""
    wanted = re.findall(r"\w+", term.value.lower())
    found = [re.findall(r"\w+", text.lower()) for text in texts]
    if term.is_phrase:
        return any(words[at : at + len(wanted)] == wanted for words in found for at in range(len(words)))
    return all(any(word in words for words in found) for word in wanted)


def is_person(term: Term, person: tuple[str, str]) -> bool:
    return person[1] == term.value if "@" in term.value else has_words(term, person[0])


NAIVE: Mapping[str, Callable[[Term, Passage], bool]] = {
    "": lambda term, passage: has_words(term, passage.text, passage.subject, passage.sender[0]),
    "subject": lambda term, passage: has_words(term, passage.subject),
    "from": lambda term, passage: is_person(term, passage.sender),
    "to": lambda term, passage: is_person(term, passage.to),
    "list": lambda term, passage: passage.row["source"] == term.value,
    "draft": lambda term, passage: bool({*drafts_of(term.value)} & {*passage.drafts}),
    "rfc": lambda term, passage: term.value in passage.drafts,
    "since": lambda term, passage: passage.date[:10] >= term.value.split()[0],
    "until": lambda term, passage: passage.date[:10] < term.value.split()[1],
    "has": lambda _, passage: bool(passage.row["has_patch"]),
    "mid": lambda term, passage: passage.row["message_id"] == f"<{term.value}>",
    "id": lambda term, passage: (
        term.value in (passage.row["message_id"].strip("<>"), passage.sender[1], passage.to[1])
    ),
    **{name: lambda term, passage: passage.row["thread_id"] in THREADS[term] for name in OF_THREADS},
}


def holds(clause: Clause, passage: Passage) -> bool:
    return any(NAIVE[term.name](term, passage) for term in clause.terms) != clause.is_excluded


def kept(query: Query) -> set[str]:
    return {
        passage.row["chunk_id"]
        for passage in PASSAGES
        if all(holds(clause, passage) for clause in query.clauses)
    }


def made_query(chance: random.Random) -> str:
    words = [*WORDS, '"receipt json"', '"seven days"', "subject:ticket", 'subject:"days archive"', "from:leo"]
    words += [
        'from:"leo lahti"',
        "from:ann@example.org",
        "to:Leo",
        "to:bot@example.org",
        "list:git",
        "rfc:5321",
    ]
    words += ["draft:draft-a-b", "draft:draft-a-b-02", "since:2023", "since:2023-05-14", "until:2023-04"]
    words += ["outcome:accepted", "genre:call", "stance:oppose", "is:open", "has:patch", "mid:m3@example.org"]
    words += ["<m5@example.org>", "RFC 5321", "ann@example.org"]
    parts: list[str] = []
    for _ in range(chance.randint(1, 4)):
        part = chance.choice(words)
        kind = chance.random()
        if kind < 0.25:
            parts.append(f"-{part}" if part[0] not in "<R" else part)
        elif kind < 0.45:
            parts.append(f"{part} OR {chance.choice(words[:12])}")
        else:
            parts.append(part)
    return " ".join(parts)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[Bench]:
    async with bench(cloud.settings(bus_service)) as ready:
        await ready.clients.index.upsert([passage.row for passage in PASSAGES])
        yield ready


async def found(place: Bench, query: Query) -> set[str]:
    threads: Mapping[Term, Sequence[str]] = THREADS
    filters = Filters(condition=query.to_odata(threads))
    return {hit.chunk_id for hit in await place.clients.index.search("*", filters=filters, top=1000)}


async def test_operators_keep_what_a_naive_evaluator_keeps(place: Bench) -> None:
    chance = random.Random(11)
    written = [made_query(chance) for _ in range(QUERIES)]
    queries = [parse_search(text) for text in written]
    results = await asyncio.gather(*(found(place, query) for query in queries))
    for text, query, result in zip(written, queries, results, strict=True):
        assert result == kept(query), text
    sizes = [len(result) for result in results]
    # A useful query keeps some passages and not others.
    assert sum(0 < size < len(PASSAGES) for size in sizes) > QUERIES / 2
    seen = {term.name for query in queries for clause in query.clauses for term in clause.terms}
    assert seen == {"", "id", *OPERATORS}


async def test_an_exclusion_never_widens(place: Bench) -> None:
    chance = random.Random(5)
    narrowed = 0
    for _ in range(40):
        text = made_query(chance)
        before = await found(place, parse_search(text))
        after = await found(place, parse_search(f"{text} -{chance.choice(WORDS)}"))
        assert after <= before, text
        narrowed += after < before
    assert narrowed


async def test_any_text_is_a_query_or_a_clear_refusal(place: Bench) -> None:
    pieces = st.sampled_from(
        [
            "from:",
            "-",
            '"',
            " OR ",
            "since:",
            "mid:",
            "'",
            "a",
            "RFC 1",
            "<a@b>",
            "\\",
            "|",
            "(",
            "*",
            "\x00",
            "é",
        ]
    )
    texts: list[str] = []

    @settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.lists(pieces | st.text(max_size=4), max_size=12).map("".join))
    def collect(text: str) -> None:
        texts.append(text)

    collect()
    accepted = refused = 0
    for text in dict.fromkeys(texts):
        try:
            query = parse_search(text)
        except QueryError:
            refused += 1
            continue
        await place.clients.index.search(
            query.ranking or "*", filters=Filters(condition=query.to_odata(THREADS)), top=1
        )
        accepted += 1
    assert min(accepted, refused) > 20


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("form:leo", "form: at character 1 is not an operator. Did you mean from:?"),
        ("x from: leo", "from: at character 3 has no value. Write it without a space"),
        ("x OR", "OR at character 3 needs a word on both sides"),
        ("OR x", "OR at character 1 needs"),
        ('a "b c', "quotation mark at character 3 is not closed"),
        ("a OR -bc", "exclusion next to OR at character 3 would widen"),
        ("outcome:good", "outcome:good at character 1: is none of accepted, revised"),
        ("since:2024-13", "write a day, a month or a year"),
        ("rfc:x", "write the number: rfc:5321"),
        ("list:a/b", "is not a list's name"),
        ('-"?"', "has no letter or digit"),
        ("->", "no word to search for"),
        ("has:patch " * 41, "more than 40 operators"),
    ],
)
async def test_an_error_names_the_place_and_the_remedy(text: str, says: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse_search(text)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("text", "ranking", "named"),
    [
        ("receipt -json", "receipt", ()),
        ("from:leo", "", ()),
        ("does RFC 5321 limit lines", "does RFC 5321 limit lines", ("RFC5321",)),
        ("<a@b.example>", "", ("a@b.example",)),
        ("draft-ietf-tls-esni-04 keys", "draft-ietf-tls-esni-04 keys", ("draft-ietf-tls-esni",)),
        ('--amend std::vector Re: "a phrase"', "amend std vector Re a phrase", ()),
        ("http://example.org/x", "http example.org x", ()),
    ],
)
async def test_words_rank_and_names_have_a_page(text: str, ranking: str, named: tuple[str, ...]) -> None:
    query = parse_search(text)
    assert (query.ranking, query.named) == (ranking, named)


async def test_an_exclusion_by_readings_finds_nothing_of_threads_that_were_not_looked_up() -> None:
    since = "2024-03-01T00:00:00Z"
    excluded, wanted = parse_search("receipt -outcome:accepted"), parse_search("receipt outcome:accepted")
    assert excluded.to_odata(THREADS, since) == f"date ge {since} and {excluded.to_odata(THREADS)}"
    assert wanted.to_odata(THREADS, since) == wanted.to_odata(THREADS)
