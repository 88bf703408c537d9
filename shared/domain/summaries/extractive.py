"""The default summarizer: the thread's own sentences, chosen and put in order. Offline and deterministic."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shared.domain.consensus.models import CallKind, Evidence, Participant, Stance, Statement
from shared.domain.consensus.sentences import Sentence, own_sentences
from shared.domain.summaries.citations import cite, supported_only
from shared.domain.summaries.mmr import Bounds, pick_diverse
from shared.domain.summaries.models import (
    Claim,
    ContextChunk,
    ContextMessage,
    Section,
    ThreadContext,
    ThreadSummary,
)
from shared.domain.summaries.noise import is_noise, looks_like_code
from shared.domain.summaries.ranking import Candidate, rank
from shared.domain.summaries.titles import summary_title


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many claims a section may have. Dissent has the most room: nobody's objection is to be lost."""

    agreed: int = 12
    dissent: int = 50
    decisions: int = 8
    proposals: int = 6
    open_issues: int = 8
    key_points: int = 12
    key_point_share: float = 0.3
    """Of the thread's words, at most."""
    candidates: int = 4000
    """Sentences that are looked at; of a longer thread, the first of each message."""


_DIVERSITY = 0.1
_MIN_WORDS = 4
_DENIALS = (CallKind.NO_CONSENSUS, CallKind.DECLARED_AGAINST)


@dataclass(frozen=True)
class ExtractiveSummarizer:
    lengths: Lengths = Lengths()
    name: str = "extractive-v1"

    def summary(self, context: ThreadContext) -> ThreadSummary:
        stated = consensus_claims(context, self.lengths)
        points = _key_points(
            context, self.lengths, {citation.quote for claim in stated for citation in claim.citations}
        )
        claims, rejected = supported_only([*stated, *points])
        return ThreadSummary(summary_title(context), claims, self.name, context.consensus, rejected)


class _Citing:
    """Claims in the thread's own words."""

    def __init__(self, context: ThreadContext) -> None:
        self._messages = {message.key: message for message in context.messages}
        self._chunks: dict[str, list[ContextChunk]] = {}
        for chunk in context.chunks:
            self._chunks.setdefault(chunk.message_key, []).append(chunk)

    def claim(self, evidence: Evidence, section: Section, relevance: float = 1.0) -> Claim | None:
        """The sentence as a claim of its sender; None where no chunk holds it."""
        message = self._messages.get(evidence.message_key)
        if message is None:
            return None
        citation = cite(evidence, message, self._chunks.get(message.key, ()), relevance)
        return Claim(citation.quote, section, (citation,), message.speaker) if citation else None


def consensus_claims(context: ThreadContext, lengths: Lengths) -> list[Claim]:
    """Who agreed, who did not, and what was proposed, decided and left open."""
    found, citing = context.consensus, _Citing(context)
    agreed = [call.evidence for call in found.calls if call.kind is CallKind.DECLARED][-2:]
    denied = [call.evidence for call in found.calls if call.kind in _DENIALS][-2:]
    sections: list[tuple[Section, Iterable[Evidence], int]] = [
        (Section.AGREED, [*agreed, *_with_stance(found.participants, Stance.SUPPORT)], lengths.agreed),
        (Section.DISSENT, [*denied, *_with_stance(found.participants, Stance.OBJECTION)], lengths.dissent),
        (Section.DECISIONS, _not_in(found.decisions, [*agreed, *denied]), lengths.decisions),
        (Section.PROPOSALS, _evidence(found.proposals), lengths.proposals),
        (Section.OPEN_ISSUES, _evidence(found.open_issues), lengths.open_issues),
    ]
    claims = []
    for section, evidence, limit in sections:
        citable = (claim for one in evidence if (claim := citing.claim(one, section)))
        claims += [claim for _, claim in zip(range(limit), citable, strict=False)]
    return claims


def _with_stance(participants: Sequence[Participant], stance: Stance) -> Iterator[Evidence]:
    return (person.evidence for person in participants if person.stance is stance and person.evidence)


def _evidence(statements: Sequence[Statement]) -> list[Evidence]:
    return [statement.evidence for statement in statements]


def _not_in(statements: Sequence[Statement], shown: list[Evidence]) -> list[Evidence]:
    return [evidence for evidence in _evidence(statements) if evidence not in shown]


def _key_points(context: ThreadContext, lengths: Lengths, shown: set[str]) -> list[Claim]:
    """The sentences that tell most of the thread, unlike each other, in the order of the thread."""
    places = _candidates(context.messages, lengths.candidates, shown)
    if not places:
        return []
    ranked = rank([candidate for _, _, candidate in places], context.subject, context.embed)
    spread = float(np.ptp(ranked.scores)) or 1.0
    relevance = (ranked.scores - ranked.scores.min()) / spread
    words = [len(candidate.text.split()) for _, _, candidate in places]
    bounds = Bounds(max(lengths.key_point_share * sum(words), 60), lengths.key_points)
    picked = pick_diverse(relevance, ranked.vectors, words, bounds, diversity=_DIVERSITY)
    citing, claims = _Citing(context), []
    for index in sorted(picked):
        message, sentence, _ = places[index]
        evidence = Evidence(message.key, sentence.start, sentence.end, sentence.text)
        if claim := citing.claim(evidence, Section.KEY_POINTS, float(relevance[index])):
            claims.append(claim)
    return claims


def _candidates(
    messages: Sequence[ContextMessage], limit: int, shown: set[str]
) -> list[tuple[ContextMessage, Sentence, Candidate]]:
    """The sentences to choose from, in the thread's order; every message has its share of the limit."""
    per_message = max(1, limit // max(1, len(messages)))
    found = []
    for number, message in enumerate(messages[:limit]):
        sentences = own_sentences(message.text)
        for position, sentence in enumerate(sentences[:per_message]):
            if sentence.text not in shown and _is_prose(sentence.text):
                candidate = Candidate(sentence.text, number, position, len(sentences))
                found.append((message, sentence, candidate))
    return found


def _is_prose(text: str) -> bool:
    return len(text.split()) >= _MIN_WORDS and not is_noise(text) and not looks_like_code(text)
