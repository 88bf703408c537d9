"""Marks in the messages of a thread: sentences of the summary and of the reading."""

from collections.abc import Iterator, Mapping, Sequence

from shared.models.readings import StoredReading
from shared.models.reports import Summary
from shared.models.threads import Chunk, Message
from shared.models.values import SentenceCitation
from web.pages.message_body import TextMark, marks_of_citation, marks_of_span
from web.pages.summary_view import sentence_address

Marks = dict[str, list[TextMark]]


def marks_in(messages: Sequence[Message], summary: Summary | None, chunks: Mapping[str, Chunk]) -> Marks:
    if summary is None:
        return {}
    by_key = {message.id: message for message in messages}
    found: Marks = {}
    for number, citation in enumerate(summary.citations, 1):
        chunk = chunks.get(citation.chunk_id)
        message = by_key.get(chunk.message_key) if chunk else None
        if chunk is not None and message is not None:
            found.setdefault(message.id, []).extend(marks_of_citation(citation, chunk, message, f"c{number}"))
    if summary.reading is not None:
        for message, quote in uncited_quotes(messages, summary, summary.reading):
            marks = marks_of_span(message, quote.start, quote.end, anchor_of(message, quote))
            found.setdefault(message.id, []).extend(marks)
    return found


def anchor_of(message: Message, quote: SentenceCitation) -> str:
    return f"q{quote.start}-{message.id}"


def uncited_quotes(
    messages: Sequence[Message], summary: Summary, reading: StoredReading
) -> Iterator[tuple[Message, SentenceCitation]]:
    """Yield sentences of the reading that no claim cites and that are still in their mails."""
    cited = sentence_address(summary, ["cited"] * len(summary.citations))
    by_id = {message.message_id: message for message in messages}
    seen = set[tuple[str, int]]()
    for quote in _quotes(reading):
        message, place = by_id.get(quote.message_id), (quote.message_id, quote.start)
        if message is None or place in seen or cited(quote):
            continue
        seen.add(place)
        if " ".join(message.body_normalized[quote.start : quote.end].split()) == quote.quote:
            yield message, quote


def _quotes(reading: StoredReading) -> Iterator[SentenceCitation]:
    yield from reading.outcome.evidence
    if reading.proposition and reading.proposition.words:
        yield reading.proposition.words
    if reading.open_call:
        if reading.open_call.question:
            yield reading.open_call.question
        yield from reading.open_call.outstanding
    for position in reading.positions:
        yield position.citation
        if position.earlier:
            yield position.earlier.citation
    for objection in reading.objections:
        yield objection.citation
