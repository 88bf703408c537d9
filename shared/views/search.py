"""Search by words and by meaning, for the API, the pages and the command line."""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, field_validator

from shared.azure.classify import SDK_ERRORS
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.search.fields import VECTOR_FIELD, FacetValue, Filters, read_writer
from shared.azure.search.index import Hit
from shared.core.concurrency import BoundedQueue, QueueFullError
from shared.core.errors import PipelineError
from shared.core.ids import person_id
from shared.embedding.factory import embedder
from shared.models.queries.reports import MOST_READINGS, READINGS_OF_THREADS
from shared.models.threads import Address, Thread
from shared.views.parameters import (
    Day,
    HashId,
    Mention,
    MessageKey,
    QueryParameters,
    SourceName,
    api_of,
    day_after,
    page_of,
    page_of_mail,
    page_of_message,
    start_of,
)
from shared.views.query_language import OF_THREADS, Query, Term, drafts_of, parse_search
from shared.views.ranking import WEIGHTS, Passage, Vectors, Weighed, Weigher, texts_to_embed
from shared.views.read_models import ExactMatch, FacetCount, FoundItem, FoundThread, Highlight

log = logging.getLogger(__name__)
DEEPEST = 1000  # the last result that paging reaches
CANDIDATES = 100  # weighed passages
COUNTED_PASSAGES = 4  # passages of a thread that count
MOST_FACETS = 12
ENCODED_AT_ONCE, ENCODINGS_WAITING = 2, 8
MARKS = ("\ue000", "\ue001")  # around matches, in private-use characters that mail hardly contains
FACETS = ("source,count:20", "writer,count:40", "draft_mentions,count:12", "date,interval:year")
WITHOUT_MEANING = "Semantic search is not available right now. Results are keyword matches only."
NOT_ALL_THREADS = f"Only the latest {MOST_READINGS:,} threads that fit the operators are searched."
Mode = Literal["hybrid", "words", "meaning"]


class SearchAsked(QueryParameters):
    q: str = Field(min_length=1, max_length=400, description="words and operators, such as from:leo is:open")
    mode: Mode = "hybrid"
    sort: Literal["relevance", "date"] = "relevance"
    source: SourceName | None = None
    thread: MessageKey | None = None
    message: MessageKey | None = Field(None, description="a message's key: only passages of that mail")
    archive: HashId | None = None
    sender: str | None = Field(None, min_length=1, max_length=320, description="an address")
    draft: Mention | None = Field(None, description="a draft (one version or all), RFC, BCP or STD")
    since: Day | None = Field(None, alias="from", description="sent on this day or later")
    until: Day | None = Field(None, alias="to", description="sent on this day or earlier")
    limit: int = Field(20, ge=1, le=50)
    skip: int = Field(0, ge=0, le=DEEPEST)

    @field_validator("q")
    @classmethod
    def _readable(cls, value: str) -> str:
        parse_search(value)
        return value

    @cached_property
    def query(self) -> Query:
        return parse_search(self.q)

    def parameters(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)

    def filters(self, condition: str | None) -> Filters:
        """Return all conditions on a passage. Every search gets its filter here."""
        return Filters(
            thread_id=self.thread,
            message_key=self.message,
            archive_id=self.archive,
            source=self.source,
            sender=self.sender.lower() if self.sender else None,
            drafts=tuple(drafts_of(self.draft)) if self.draft else (),
            since=start_of(self.since),
            until=day_after(self.until),
            condition=condition,
        )


@dataclass(frozen=True)
class SearchResult:
    wanted: SearchAsked
    threads: list[FoundThread]
    total: int
    mode: Mode
    notes: list[str]
    facets: dict[str, list[FacetCount]]
    documents: Mapping[str, Thread]
    """The threads that could be read."""
    evidence: Mapping[str, float]
    """By thread, the certainty that the thread is about the query."""

    @property
    def note(self) -> str | None:
        return " ".join(self.notes) or None

    @property
    def items(self) -> list[FoundItem]:
        return [item for thread in self.threads for item in thread.items]

    @property
    def following(self) -> int | None:
        """Return the number of results before the next page, or None on the last page."""
        skip = self.wanted.skip + self.wanted.limit
        return skip if skip < min(self.total, DEEPEST) else None

    def exact(self, *, people: bool) -> list[ExactMatch]:
        return list(_exact(self, people=people)) if self.threads else []


async def find(clients: Clients, wanted: SearchAsked) -> SearchResult:
    """Search with at most three calls to services. If the model fails, search by words and add a note."""
    query, notes = wanted.query, list[str]()
    (threads, known_since), vectors = await asyncio.gather(
        _threads_of(clients, wanted, notes), _vectors(clients, wanted)
    )
    vector = vectors[""] if vectors else None
    mode: Mode = wanted.mode if vector or not query.ranking else "words"
    if mode != wanted.mode:
        notes.append(WITHOUT_MEANING)
    hits = await clients.index.search(
        (query.ranking or "*") if mode != "meaning" or not vector else None,
        vector,
        filters=wanted.filters(query.to_odata(threads, known_since)),
        top=CANDIDATES if query.ranking else wanted.limit,
        skip=0 if query.ranking else wanted.skip,
        highlight=bool(query.ranking) and mode != "meaning",
        marks=MARKS,
        facets=() if query.ranking else FACETS,
        total=not query.ranking,
        latest_first=not query.ranking,
    )
    ranked = _ranked(hits, wanted, vectors)
    keys = list(ranked)[wanted.skip : wanted.skip + wanted.limit] if query.ranking else list(ranked)
    outcomes = await _outcomes(clients, keys)
    found = [_found_thread(key, ranked[key][1], outcomes.get(key)) for key in keys]
    facets = _counted(passages for _, passages in ranked.values()) if query.ranking else hits.facets
    total = len(ranked) if query.ranking else hits.total or 0
    evidence = {key: ranked[key][0].evidence for key in keys}
    return SearchResult(wanted, found, total, mode, notes, _shown_facets(facets), outcomes, evidence)


async def _vectors(clients: Clients, wanted: SearchAsked) -> Vectors | None:
    if wanted.mode == "words" or not wanted.query.ranking:
        return None
    try:
        return await vectors_for_reader(clients, wanted.query.ranking)
    except (PipelineError, OSError, QueueFullError):
        log.warning("no vector for a search, which goes on by words", exc_info=True)
        return None


async def vectors_for_reader(clients: Clients, query: str) -> Vectors:
    """Return the vectors of the query. Raise QueueFullError if too many searches wait for the encoder."""
    model = await embedder(clients)  # the first start has its own time limit
    queue = await clients.resources.get("readers' encoder queue", _encoder_queue)
    texts = texts_to_embed(query)
    async with queue, clients.calls("encoder").measured("encode", writes=True):
        encoded = await model.encode(list(texts.values()))
    return {term: [float(number) for number in vector] for term, vector in zip(texts, encoded, strict=True)}


async def _encoder_queue() -> BoundedQueue:
    return BoundedQueue(ENCODED_AT_ONCE, ENCODINGS_WAITING)


async def _threads_of(
    clients: Clients, wanted: SearchAsked, notes: list[str]
) -> tuple[Mapping[Term, Sequence[str]], str | None]:
    """Return the threads for each operator about readings, and the date since which threads are known."""
    terms = wanted.query.terms(*OF_THREADS)
    if not terms:
        return {}, None
    values = {name: [term.value for term in terms if term.name == name] for name in OF_THREADS}
    rows = clients.store.query(
        READINGS_OF_THREADS,
        Session(),
        source=wanted.source or wanted.query.only_list,
        outcomes=values["outcome"],
        genres=values["genre"],
        stances=values["stance"],
        open=bool(values["is"]),
    )
    found = [row async for row in rows]
    known_since = found[-1].get("last_message_date") if len(found) == MOST_READINGS else None
    if len(found) == MOST_READINGS:
        notes.append(NOT_ALL_THREADS)
    return {term: [row["thread_id"] for row in found if _matches(term, row)] for term in terms}, known_since


def _matches(term: Term, row: Mapping[str, Any]) -> bool:
    match term.name:
        case "outcome":
            return (row.get("outcome") or "unresolved") == term.value
        case "genre":
            return bool(row.get("genre") == term.value)
        case "stance":
            return bool((row.get("counts") or {}).get(term.value))
    return bool(row["is_open"])


Ranked = dict[str, tuple[Weighed, list[tuple[Hit, str]]]]
"""By thread, the best first: its weight, and its passages with their best sentences."""


def _ranked(hits: Sequence[Hit], wanted: SearchAsked, vectors: Vectors | None) -> Ranked:
    passages = [_passage(hit) for hit in hits]
    weigher = Weigher(wanted.query.ranking, vectors, passages)
    weighed = [weigher.weigh(number) for number in range(len(hits))]
    order = list(range(len(hits)))
    if wanted.query.ranking:
        order.sort(key=lambda number: -weighed[number].score)
    by_thread: dict[str, list[int]] = {}
    for number in order:
        by_thread.setdefault(hits[number].payload["thread_id"], []).append(number)
    best = {key: _of_thread([weighed[number] for number in numbers]) for key, numbers in by_thread.items()}
    keys = list(by_thread)
    # A search by meaning only has no limit of relevance.
    if wanted.query.ranking and wanted.mode != "meaning":
        keys = _above_floor(
            best, wanted.query, WEIGHTS.floor if weigher.has_vectors else WEIGHTS.floor_by_words
        )
    if wanted.query.ranking:
        keys.sort(key=lambda key: -best[key].score)
    if wanted.sort == "date" and wanted.query.ranking:
        latest = {key: max(str(hits[number].payload["date"]) for number in by_thread[key]) for key in keys}
        keys.sort(key=latest.__getitem__, reverse=True)

    def with_sentence(number: int) -> tuple[Hit, str]:
        text = passages[number].text
        return hits[number], text[slice(*weigher.best_sentence(text))]

    return {key: (best[key], [with_sentence(number) for number in by_thread[key]]) for key in keys}


def _above_floor(best: Mapping[str, Weighed], query: Query, floor: float) -> list[str]:
    """Return the threads that are about the query, or none if the best thread is not."""
    if query.is_exact:
        return list(best)
    if max((weighed.evidence for weighed in best.values()), default=0.0) < floor:
        return []
    return [key for key, weighed in best.items() if weighed.evidence >= floor - WEIGHTS.tail]


def _of_thread(passages: Sequence[Weighed]) -> Weighed:
    """Return the weight of the best passage, increased for further passages."""
    shares = [WEIGHTS.next_passage**place for place in range(COUNTED_PASSAGES)]
    score = math.fsum(share * passage.score for share, passage in zip(shares, passages, strict=False))
    return Weighed(score, max(passage.evidence for passage in passages))


def _passage(hit: Hit) -> Passage:
    text, subject, sender = (hit.payload.get(name) or "" for name in ("text", "subject", "sender_name"))
    return Passage(text, subject, sender, hit.payload.get(VECTOR_FIELD))


async def _outcomes(clients: Clients, keys: Sequence[str]) -> dict[str, Thread]:
    try:
        return await clients.store.find_many(Thread, keys, Session()) if keys else {}
    except SDK_ERRORS:  # results without outcomes are better than none
        log.warning("the outcomes of the threads of a search could not be read", exc_info=True)
        return {}


def _found_thread(key: str, passages: Sequence[tuple[Hit, str]], thread: Thread | None) -> FoundThread:
    items = [_item(hit, sentence) for hit, sentence in passages]
    return FoundThread(
        thread_id=key,
        subject=(thread.subject if thread else "") or items[0].subject,
        source=items[0].source,
        outcome=thread.outcome if thread and thread.summary_id else None,
        items=items,
        links={"self": api_of("threads", key), "page": page_of("threads", key)},
    )


def _counted(threads: Iterable[Sequence[tuple[Hit, str]]]) -> dict[str, list[FacetValue]]:
    """Count the threads for each value. The service would also count threads below the limit."""
    counts: dict[str, Counter[str]] = {name.partition(",")[0]: Counter() for name in FACETS}
    for passages in threads:
        known = [hit.payload for hit, _ in passages]
        years = {f"{str(payload['date'])[:4]}-01-01T00:00:00Z" for payload in known if payload.get("date")}
        counts["date"].update(years)
        counts["draft_mentions"].update({name for row in known for name in row.get("draft_mentions") or ()})
        for field_name in ("source", "writer"):
            counts[field_name].update({payload.get(field_name) or "" for payload in known})
    return {
        name: [FacetValue(value, number) for value, number in counted.most_common() if value]
        for name, counted in counts.items()
    }


def _shown_facets(found: Mapping[str, Sequence[FacetValue]]) -> dict[str, list[FacetCount]]:
    """Return the facets. A sender counts once, by address, with the most frequent name."""
    counts = {
        name: [FacetCount(value=facet.value, count=facet.count) for facet in values if facet.count][:20]
        for name, values in found.items()
        if name != "writer"
    }
    senders: dict[str, FacetCount] = {}
    for facet in found.get("writer", ()):
        name, address = read_writer(facet.value)
        if address and facet.count:
            counted = senders.setdefault(address, FacetCount(value=address, count=0, label=name))
            senders[address] = counted.model_copy(update={"count": counted.count + facet.count})
    counts["sender"] = sorted(senders.values(), key=lambda sender: -sender.count)[:MOST_FACETS]
    counts["draft_mentions"] = counts.get("draft_mentions", [])[:MOST_FACETS]
    counts["date"] = sorted(counts.get("date", []), key=lambda year: year.value)
    return counts


def _exact(found: SearchResult, *, people: bool) -> Iterable[ExactMatch]:
    query, items = found.wanted.query, found.items
    ids = {item.message_id.strip("<>") for item in items}
    for name in query.named:
        if name in ids:
            yield ExactMatch(kind="mail", name=name, page=page_of_mail(name))
        elif "@" not in name:
            yield ExactMatch(kind="standard", name=name, page=page_of("drafts", name))
    asked = {term.value.casefold() for term in query.terms("from")} | {query.text.strip().casefold()}
    senders = {item.sender.email.lower(): item.sender.name for item in items if item.sender.email}
    for address, name in senders.items():
        if people and (name.casefold() in asked or address in asked):
            yield ExactMatch(kind="person", name=name or address, page=page_of("people", person_id(address)))


def _item(hit: Hit, sentence: str) -> FoundItem:
    payload, date = hit.payload, hit.payload.get("date")
    return FoundItem(
        score=hit.score,
        chunk_id=hit.chunk_id,
        message_key=payload["message_key"],
        message_id=payload.get("message_id") or "",
        thread_id=payload["thread_id"],
        source=payload.get("source"),
        subject=payload.get("subject") or "",
        sender=Address(name=payload.get("sender_name") or "", email=payload.get("sender") or ""),
        date=datetime.fromisoformat(date) if isinstance(date, str) else date,
        text=payload.get("text") or "",
        sentence=sentence,
        highlights=[_stretches(passage) for passage in hit.highlights],
        draft_mentions=payload.get("draft_mentions") or [],
        links={
            "chunk": api_of("chunks", hit.chunk_id),
            "message": api_of("messages", payload["message_key"]),
            "thread": api_of("threads", payload["thread_id"]),
            "page": page_of_message(payload["thread_id"], payload["message_key"]),
        },
    )


def _stretches(marked: str) -> list[Highlight]:
    """Return the parts of a highlighted passage as plain text. The caller adds the markup."""
    found: list[Highlight] = []
    for position, part in enumerate(marked.split(MARKS[0])):
        inside, mark, outside = part.partition(MARKS[1])
        if not mark:
            inside, outside = ("", part) if position == 0 else (part, "")
        found += [Highlight(text=inside, match=True)] if inside else []
        found += [Highlight(text=outside, match=False)] if outside else []
    return found
