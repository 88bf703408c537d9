"""Answers to questions: what came of the threads that are about it, and the sentences that say so.

Every sentence is verbatim and leads to its mail. Who stands where is answered by positions that were read out
of threads and hold nine times in ten, never by likeness. Where nothing shows an answer, that is the answer.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from pydantic import Field, field_validator

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.readings import ShownOutcome
from shared.documents.reports import Summary
from shared.documents.threads import Address, Thread
from shared.documents.values import Position, PositionStance, Tier
from shared.retrieval.parameters import QueryParameters, SourceName, page_of_mail
from shared.retrieval.query_language import parse_search
from shared.retrieval.ranking import Passage, Weigher, sentences_of
from shared.retrieval.read_models import FoundThread, Links, ReadModel
from shared.retrieval.search import SearchAsked, SearchResult, find

NOTHING = "Nothing in the mail shows it."
MOST_THREADS, MOST_SENTENCES, MOST_POSITIONS = 3, 3, 12
LATER = 0.1  # what the latest mail of a thread has ahead of its first
LEAST_WORDS = 3
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


class Question(QueryParameters):
    q: str = Field(min_length=1, max_length=400, description="a question, with operators where they help")
    source: SourceName | None = None

    @field_validator("q")
    @classmethod
    def _readable(cls, value: str) -> str:
        parse_search(value)
        return value


class AnswerSentence(ReadModel):
    """A sentence in its author's words. `page` shows it in its mail, marked."""

    text: str
    thread_id: str
    message_id: str
    sender: Address = Field(alias="from")
    date: datetime | None
    stance: str | None = None  # of a position: support, oppose, mixed or objection
    page: str


class AnswerThread(ReadModel):
    thread_id: str
    subject: str
    source: str | None
    outcome: ShownOutcome | None
    sentences: list[AnswerSentence]
    links: Links


class Answer(ReadModel):
    question: str
    text: str  # where nothing shows an answer: that; else empty
    threads: list[AnswerThread]
    left_out: int  # further threads that are about it
    note: str | None

    @property
    def sentences(self) -> list[AnswerSentence]:
        return [sentence for thread in self.threads for sentence in thread.sentences]


async def answer_question(clients: Clients, question: str, source: str | None = None) -> Answer:
    found = await find(clients, SearchAsked(q=question, source=source, limit=10))
    about = _people_asked_for(question, found.documents.values())
    if about is None:
        threads = [
            _answer_thread(thread, sentences)
            for thread in found.threads[:MOST_THREADS]
            if (sentences := _said_in(thread, question))
        ]
    else:
        threads = await _positions(clients, found, about)
    left_out = max(found.total - len(threads), 0) if threads else 0
    return Answer(
        question=question,
        text="" if threads else NOTHING,
        threads=threads,
        left_out=left_out,
        note=found.note,
    )


def _answer_thread(thread: FoundThread, sentences: list[AnswerSentence]) -> AnswerThread:
    return AnswerThread(
        thread_id=thread.thread_id,
        subject=thread.subject,
        source=thread.source,
        outcome=thread.outcome,
        sentences=sentences,
        links=thread.links,
    )


# sentences


def _said_in(thread: FoundThread, question: str) -> list[AnswerSentence]:
    """The sentences of a thread that have most of the question's words, the later ones of equals first."""
    weigher = Weigher(question, None, [Passage(item.text, item.subject, "") for item in thread.items])
    dates = sorted({item.date for item in thread.items if item.date})
    scored: list[tuple[float, AnswerSentence]] = []
    for item in thread.items:
        later = LATER * (dates.index(item.date) + 1) / len(dates) if item.date else 0.0
        for start, end in sentences_of(item.text):
            text = " ".join(item.text[start:end].split())
            words = weigher.words_in(text)
            if words and len(text.split()) >= LEAST_WORDS:
                page = page_of_mail(item.message_id, text)
                sentence = AnswerSentence(
                    text=text, thread_id=thread.thread_id, message_id=item.message_id, sender=item.sender,
                    date=item.date, page=page,
                )  # fmt: skip
                scored.append((words + later, sentence))
    scored.sort(key=lambda pair: -pair[0])
    unique = {sentence.text: sentence for _, sentence in scored}
    return list(unique.values())[:MOST_SENTENCES]


# people


def _people_asked_for(question: str, threads: Iterable[Thread]) -> set[str] | None:
    """The addresses of the people whose positions are asked for; none of them: everybody's."""
    has_stance = any(pattern.search(question) for pattern in STANCES.values())
    if _WHO.search(question) and (has_stance or _STAND.search(question)):
        return set()
    if not has_stance and not _STAND.search(question):
        return None
    asked = f" {' '.join(_NAME_PART.findall(question.casefold()))} "
    named = set()
    for address in [person for thread in threads for person in thread.participants]:
        words = _NAME_PART.findall(address.name.casefold())
        if words and (f" {' '.join(words)} " in asked or _is_called(words, asked)):
            named.add(address.email.lower())
    return named or None


def _is_called(words: Sequence[str], asked: str) -> bool:
    """By the first or the last name alone; a short one may be a word."""
    return any(f" {word} " in asked for word in (words[0], words[-1]) if len(word) > LEAST_WORDS)


async def _positions(clients: Clients, found: SearchResult, people: set[str]) -> list[AnswerThread]:
    """What these people, or all, are said to think in the threads that are about it. A guess is not shown."""
    wanted = [stance for stance, pattern in STANCES.items() if pattern.search(found.wanted.q)]
    threads = found.threads[: MOST_THREADS + 2]
    known = [found.documents[thread.thread_id] for thread in threads if thread.thread_id in found.documents]
    places = [(thread.summary_id, thread.id) for thread in known if thread.summary_id]
    summaries = await clients.store.find_many_in(Summary, places, Session()) if places else {}
    by_thread = {summary.thread_id: summary for summary in summaries.values()}
    answers = []
    for thread in threads:
        summary = by_thread.get(thread.thread_id)
        sentences = list(_said_by(summary, people, wanted)) if summary else []
        answers += [_answer_thread(thread, sentences[:MOST_POSITIONS])] if sentences else []
    return answers


def _said_by(
    summary: Summary, people: set[str], wanted: Sequence[PositionStance]
) -> Iterable[AnswerSentence]:
    """The latest first: a person's last word is the position that stands."""
    reading = summary.reading
    positions = [
        position
        for position in (reading.positions if reading else ())
        if position.tier is Tier.SAID
        and position.stance is not PositionStance.PROPOSER
        and (not people or position.person.lower() in people)
        and (not wanted or position.stance in wanted)
    ]
    latest = sorted(
        positions, key=lambda position: position.at.timestamp() if position.at else 0.0, reverse=True
    )
    for position in latest:
        yield _position_sentence(summary, position)


def _position_sentence(summary: Summary, position: Position) -> AnswerSentence:
    cited = position.citation
    return AnswerSentence(
        text=cited.quote,
        thread_id=summary.thread_id or "",
        message_id=cited.message_id,
        sender=Address(name=position.name, email=position.person),
        date=position.at,
        stance=position.stance.value,
        page=page_of_mail(cited.message_id, cited.quote),
    )
