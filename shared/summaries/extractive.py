"""The default summarizer: the thread's own sentences, sorted by its reading. Deterministic."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shared.mail.subjects import split_subject
from shared.models.values import PositionStance, SentenceCitation, ThreadReading, Tier
from shared.reading.mails import ENGLISH, UNKNOWN, language_of, own_sentences
from shared.summaries.citations import cite, supported_only
from shared.summaries.models import (
    Claim,
    ContextChunk,
    ContextMessage,
    Section,
    ThreadContext,
    ThreadSummary,
)


def stated_positions(
    reading: ThreadReading, stance: PositionStance, *, is_explicit: bool = True
) -> list[SentenceCitation]:
    """Return the sentences of stated positions: explicit ones, or arguments as a model reads them."""
    return [
        position.citation
        for position in reading.positions
        if position.tier is Tier.SAID and position.stance is stance and position.is_explicit is is_explicit
    ]


_MAX_TITLE_CHARS = 200


def summary_title(context: ThreadContext) -> str:
    subject = " ".join(context.subject.split())[: 4 * _MAX_TITLE_CHARS]
    return split_subject(subject).title[:_MAX_TITLE_CHARS].strip() or "(no subject)"


_QUOTED_ONCE = frozenset(
    {Section.POSSIBLE_DECISIONS, Section.CONCERNS, Section.OPEN_ISSUES, Section.KEY_POINTS}
)
_FOREIGN_POINTS = 12
"""The most mails in other languages than English of which a sentence is quoted."""


@dataclass(frozen=True)
class ExtractiveSummarizer:
    name: str = "extractive-v2"

    def summary(self, context: ThreadContext) -> ThreadSummary:
        claims, rejected = supported_only(_claims(context))
        return ThreadSummary(summary_title(context), claims, self.name, context.reading, rejected)


def _claims(context: ThreadContext) -> Iterator[Claim]:
    """Yield each sentence in the first section that fits. A decision can also be a position."""
    citing, used, quoted = _Citing(context), set[tuple[str, int]](), set[tuple[str, str]]()
    yield from citing.narrative(context.reading)
    for section, sentences in _sections(context):
        fresh = [sentence for sentence in sentences if _place(sentence) not in used]
        for sentence in sentences if section is Section.DECISIONS else fresh:
            used.add(_place(sentence))
            claim = citing.claim(sentence, section)
            if claim is None or (section in _QUOTED_ONCE and (claim.speaker, claim.text) in quoted):
                continue
            quoted.add((claim.speaker, claim.text))
            yield claim


def _place(sentence: SentenceCitation) -> tuple[str, int]:
    return sentence.message_id, sentence.start


def _sections(context: ThreadContext) -> Iterator[tuple[Section, list[SentenceCitation]]]:
    reading = context.reading
    yield Section.AGREED, stated_positions(reading, PositionStance.SUPPORT)
    yield Section.DISSENT, stated_positions(reading, PositionStance.OPPOSE)
    yield Section.READ_SUPPORT, stated_positions(reading, PositionStance.SUPPORT, is_explicit=False)
    yield Section.READ_DISSENT, stated_positions(reading, PositionStance.OPPOSE, is_explicit=False)
    yield Section.DECISIONS, _decisions(reading, Tier.SAID)
    yield Section.POSSIBLE_DECISIONS, _decisions(reading, Tier.REMARK)
    words = reading.proposition.words if reading.proposition else None
    yield Section.PROPOSALS, [words] if words else []
    yield Section.CONCERNS, [objection.citation for objection in reading.objections]
    yield Section.OPEN_ISSUES, list(reading.open_issues)
    withdrawn = [objection.withdrawal for objection in reading.objections if objection.withdrawal is not None]
    counts = [tally.citation for tally in reading.tallies]
    latest = [remark.citation for remark in reading.latest]
    yield (
        Section.KEY_POINTS,
        [*withdrawn, *counts, *latest, *reading.key_points, *_foreign_openings(context.messages)],
    )


def _decisions(reading: ThreadReading, tier: Tier) -> list[SentenceCitation]:
    return [decision.citation for decision in reading.decisions if decision.tier is tier]


def _foreign_openings(messages: Iterable[ContextMessage]) -> list[SentenceCitation]:
    """Return the first sentence of each mail in another language than English, to quote it unread."""
    found: list[SentenceCitation] = []
    for message in messages:
        if len(found) < _FOREIGN_POINTS and language_of(message.text) not in {ENGLISH, UNKNOWN}:
            found.extend(
                SentenceCitation(message.message_id, sentence.start, sentence.end, sentence.text)
                for sentence in own_sentences(message.text, (), 0)[:1]
            )
    return found


class _Citing:
    def __init__(self, context: ThreadContext) -> None:
        self._messages = {message.message_id: message for message in context.messages}
        self._chunks: dict[str, list[ContextChunk]] = {}
        for chunk in context.chunks:
            self._chunks.setdefault(chunk.message_key, []).append(chunk)

    def narrative(self, reading: ThreadReading) -> Iterator[Claim]:
        """Yield the sentences of a model, each with all its citations."""
        for sentence in reading.model.narrative if reading.model else ():
            section = Section.NARRATIVE if sentence.is_borne else Section.READ_NARRATIVE
            cited = [self.claim(evidence, section) for evidence in sentence.evidence]
            citations = [citation for claim in cited if claim for citation in claim.citations]
            if len(citations) == len(cited):
                yield Claim(sentence.text, section, tuple(citations))

    def claim(self, sentence: SentenceCitation, section: Section) -> Claim | None:
        """Return the sentence as a claim of its sender, or None if no chunk contains it."""
        message = self._messages.get(sentence.message_id)
        if message is None:
            return None
        citation = cite(sentence, message, self._chunks.get(message.key, ()))
        return Claim(citation.quote, section, (citation,), message.speaker) if citation else None
