"""Answers to questions: the outcomes of matching threads, and sentences that show the answer.

Each sentence is verbatim and has a link to its mail. Positions of people come only from readings, never from
similarity. A chat model may add sentences (`written.py`).
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field, field_validator

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.queries.threads import MESSAGES_WITH_ID
from shared.models.reports import Summary
from shared.models.threads import Address, Message, Thread
from shared.models.values import PositionStance, Tier
from shared.views.parameters import QueryParameters, SourceName
from shared.views.query_language import QueryError, parse_search
from shared.views.ranking import Passage, Weigher, has_content, is_prose, sentences_of
from shared.views.read_models import Answer, AnswerThread, FoundThread, Quote
from shared.views.search import SearchAsked, find
from shared.views.threads import resolved_thread, summary_of
from shared.views.written import Written, model_of, write_answer

NOTHING = "Nothing in the mail shows it."
NO_POSITION = "No clear position on this was found in the mail."
MOST_THREADS, MOST_SENTENCES, MOST_POSITIONS = 3, 3, 12
LATER = 0.2  # bonus of the latest mail of a thread compared with its first
ASKS = 0.4  # penalty for a sentence that is a question
LESS = 0.35  # allowed distance to the evidence of the best thread
SHORTEST_NAME = 4
_NAME_PART = re.compile(r"[^\W_]+")
STANCES = {
    PositionStance.SUPPORT: re.compile(
        r"\b(?:support|favou?r|agree|approv|endors|back(?:s|ed)\b)", re.IGNORECASE
    ),
    PositionStance.OPPOSE: re.compile(
        r"\b(?:oppos|object|disagree|against|reject|veto|dislik|nack)", re.IGNORECASE
    ),
}
_STAND = re.compile(
    r"\b(?:thinks?|thought|stands?|stood|says?|said|wants?|wanted|feels?|felt|positions?|views?|opinions?|"
    r"prefers?|mind|vote[ds]?)\b",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"^\s*(?:who|whom|whose|which (?:people|persons?|members?|participants?))\b|"
    r"\b(?:everyone|everybody|anyone|anybody|someone|somebody)\b",
    re.IGNORECASE,
)
_OUTCOME = re.compile(
    r"\b(?:decid\w+|decisions?|outcomes?|results?|rejected|accepted|approved|withdrawn|concluded|resolved|"
    r"chairs?|chairman|maintainers?|editors?|why)\b",
    re.IGNORECASE,
)
"""Words for what came of a thread. Its mails need not have them, so they are not searched for."""


class Question(QueryParameters):
    q: str = Field(min_length=1, max_length=400, description="a question, with operators where they help")
    source: SourceName | None = None
    written: bool = Field(
        default=True, description="whether a chat model, if there is one, adds sentences of its own"
    )

    @field_validator("q")
    @classmethod
    def _readable(cls, value: str) -> str:
        parse_search(value)
        return value


async def answer_question(
    clients: Clients, question: str, source: str | None = None, *, written: bool = False
) -> Answer:
    found = await find(clients, SearchAsked(q=_topic_of(question), source=source, limit=10))
    people = _people_asked_for(question, found.documents.values())
    if people is not None and (topic := _without_names(question, people.values())):
        # A search by a person's name finds all threads that the person wrote in.
        found = await find(clients, SearchAsked(q=topic, source=source, limit=10))
    summaries = await _summaries(clients, found.documents.values())
    decisive = await _decisive(clients, summaries.values()) if people is None else {}
    threads: list[AnswerThread] = []
    least = max(found.evidence.values(), default=0.0) - LESS
    near = [thread for thread in found.threads if found.evidence[thread.thread_id] >= least]
    for thread in near[: MOST_THREADS if people is None else MOST_THREADS + 2]:
        summary = summaries.get(thread.thread_id)
        if people is None:
            first = [decisive[thread.thread_id]] if thread.thread_id in decisive else []
            others = _best_sentences(thread, question, outdated_quotes(summary))
            sentences = [
                *first,
                *(quote for quote in others if quote.text not in {other.text for other in first}),
            ]
        else:
            sentences = _positions(summary, set(people), _stances_in(question))
        if sentences:
            fields = thread.model_dump(include={"thread_id", "subject", "source", "outcome", "links"})
            threads.append(AnswerThread(**fields, sentences=sentences))
    model = model_of(clients.settings) if people is None and threads else None
    if written and model:
        known = found.documents
        threads = await asyncio.gather(
            *(
                _with_written(clients, question, answer, known.get(answer.thread_id), summaries)
                for answer in threads
            )
        )
    return Answer(
        question=question,
        text="" if threads else NO_POSITION if people is not None and found.threads else NOTHING,
        threads=threads,
        left_out=max(found.total - len(threads), 0),
        model=model,
        note=found.note,
    )


async def write_for_thread(clients: Clients, question: str, thread_id: str) -> Written:
    thread = await resolved_thread(clients, thread_id)
    return await write_answer(clients, question, thread, outdated_quotes(await summary_of(clients, thread)))


async def _with_written(
    clients: Clients,
    question: str,
    answer: AnswerThread,
    thread: Thread | None,
    summaries: Mapping[str, Summary],
) -> AnswerThread:
    if thread is None:
        return answer
    written = await write_answer(clients, question, thread, outdated_quotes(summaries.get(thread.id)))
    return answer.model_copy(update={"written": written.sentences, "note": written.note})


async def _summaries(clients: Clients, threads: Iterable[Thread]) -> dict[str, Summary]:
    places = [(thread.summary_id, thread.id) for thread in threads if thread.summary_id]
    found = await clients.store.find_many_in(Summary, places, Session()) if places else {}
    return {summary.thread_id: summary for summary in found.values() if summary.thread_id}


async def _decisive(clients: Clients, summaries: Iterable[Summary]) -> dict[str, Quote]:
    """Return by thread the sentence that states the outcome, in one call."""
    evidence = {
        summary.thread_id or "": summary.reading.outcome.evidence[0]
        for summary in summaries
        if summary.reading and summary.reading.outcome.tier is Tier.SAID and summary.reading.outcome.evidence
    }
    ids = sorted({cited.message_id for cited in evidence.values()})
    found = (
        await clients.store.query_documents(Message, MESSAGES_WITH_ID, Session(), message_ids=ids)
        if ids
        else []
    )
    mails = {mail.message_id: mail for mail in found}
    return {
        thread: Quote.of(
            cited.quote, cited.message_id, mails[cited.message_id].from_, mails[cited.message_id].date
        )
        for thread, cited in evidence.items()
        if cited.message_id in mails
    }


def outdated_quotes(summary: Summary | None) -> set[tuple[str, str]]:
    """Return the sentences of stances that people changed later, each with its Message-ID."""
    positions = summary.reading.positions if summary and summary.reading else []
    earlier = [position.earlier.citation for position in positions if position.earlier]
    return {(citation.message_id, citation.quote) for citation in earlier}


def _best_sentences(thread: FoundThread, question: str, outdated: set[tuple[str, str]]) -> list[Quote]:
    """Return the best sentence of each mail by the words of the question. Later mails are preferred."""
    weigher = Weigher(question, None, [Passage(item.text, item.subject, "") for item in thread.items])
    dates = sorted({item.date for item in thread.items if item.date})
    scored: list[tuple[float, Quote]] = []
    for item in thread.items:
        later = LATER * (dates.index(item.date) + 1) / len(dates) if item.date else 0.0
        for start, end in sentences_of(item.text):
            text = " ".join(item.text[start:end].split())
            words = weigher.words_in(text)
            if words and is_prose(text) and (item.message_id, text) not in outdated:
                score = words + later - ASKS * text.endswith("?")
                scored.append((score, Quote.of(text, item.message_id, item.sender, item.date)))
    kept: dict[str, Quote] = {}
    for _, quote in sorted(scored, key=lambda pair: -pair[0]):
        if quote.text not in {other.text for other in kept.values()}:
            kept.setdefault(quote.message_id, quote)
    return list(kept.values())[:MOST_SENTENCES]


def _people_asked_for(question: str, threads: Iterable[Thread]) -> dict[str, str] | None:
    """Return the requested people, as names by address. An empty result means all people."""
    asks_stance = bool(_stances_in(question)) or _STAND.search(question) is not None
    if not asks_stance:
        return None
    if _WHO.search(question):
        return {}
    asked = f" {' '.join(_NAME_PART.findall(question.casefold()))} "
    capitalized = {word.casefold() for word in _NAME_PART.findall(question)[1:] if word.istitle()}
    named = {}
    for address in [person for thread in threads for person in thread.participants]:
        words = _NAME_PART.findall(address.name.casefold())
        # A short first or last name may be an ordinary word, unless it has a capital.
        ends = (*words[:1], *words[-1:])
        forms = [" ".join(words), *(end for end in ends if len(end) >= SHORTEST_NAME or end in capitalized)]
        if name := next((form for form in forms if form and f" {form} " in asked), None):
            named[address.email.lower()] = name
    return named or None


def _topic_of(question: str) -> str:
    """Return the question without words for an outcome, unless nothing else or an operator is in it."""
    topic = _OUTCOME.sub(" ", question)
    return question if ":" in question or '"' in question or not has_content(topic) else topic


def _without_names(question: str, names: Iterable[str]) -> str | None:
    """Return the question without the names, or None if no search word remains."""
    parts = {part for name in names for part in name.split()}
    words = [word for word in question.split() if not parts.intersection(_NAME_PART.findall(word.casefold()))]
    topic = " ".join(words)
    bare = _STAND.sub(" ", topic)
    for pattern in STANCES.values():
        bare = pattern.sub(" ", bare)
    if len(words) == len(question.split()) or not has_content(bare):
        return None
    try:
        return topic if parse_search(topic).ranking else None
    except QueryError:
        return None


def _stances_in(question: str) -> list[PositionStance]:
    return [stance for stance, pattern in STANCES.items() if pattern.search(question)]


def _positions(summary: Summary | None, people: set[str], wanted: Sequence[PositionStance]) -> list[Quote]:
    """Return the explicit stances of these people, or of everyone, the latest first.

    A person who had a wanted stance and changed it is included with both stances.
    """
    reading = summary.reading if summary else None
    positions = [
        position
        for position in (reading.positions if reading else ())
        if position.tier is Tier.SAID
        and position.stance is not PositionStance.PROPOSER
        and (not people or position.person.lower() in people)
    ]
    positions.sort(key=lambda position: position.at.timestamp() if position.at else 0.0, reverse=True)
    quotes: list[Quote] = []
    for position in positions:
        sender = Address(name=position.name, email=position.person)
        earlier = position.earlier
        if earlier and (not wanted or earlier.stance in wanted):
            cited = earlier.citation
            quotes.append(Quote.of(cited.quote, cited.message_id, sender, earlier.at, earlier.stance.value))
        elif wanted and position.stance not in wanted:
            continue
        cited = position.citation
        quotes.append(Quote.of(cited.quote, cited.message_id, sender, position.at, position.stance.value))
    return quotes[:MOST_POSITIONS]
