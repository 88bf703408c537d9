"""Applies people's corrections to a reading. The same corrections always give the same reading.

A correction outweighs the reading. Counts that rest on a corrected position are counted again. Statements
that rest on a hidden sentence are removed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from shared.models.values import (
    ConsensusBasis,
    CorrectionKind,
    Genre,
    Headline,
    OutcomeKind,
    Position,
    PositionStance,
    ReadGenre,
    SentenceCitation,
    ThreadOutcome,
    ThreadReading,
    Tier,
)
from shared.reading.headlines import plain_sentence
from shared.reading.positions import consensus_type

RULE = "corrected"
_SURE = 1.0
_AGREED = frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED})
_SETTLED = _AGREED | {OutcomeKind.REJECTED}
_NOT_AGREED = frozenset({OutcomeKind.REJECTED, OutcomeKind.CONTESTED})
_AGAINST = frozenset({PositionStance.OPPOSE, PositionStance.MIXED})
_ENOUGH_VOICES = 2
_Bearing = TypeVar("_Bearing")


@dataclass(frozen=True, slots=True)
class ReadingCorrection:
    """One correction. `citation` is the sentence that shows it, or that it hides."""

    kind: CorrectionKind
    message_id: str
    person: str = ""
    name: str = ""
    stance: PositionStance | None = None
    """None if the person takes no position."""
    outcome: OutcomeKind | None = None
    sentence: str = ""
    genre: Genre | None = None
    citation: SentenceCitation | None = None


def corrected_reading(
    reading: ThreadReading, corrections: Sequence[ReadingCorrection], *, subject: str
) -> ThreadReading:
    """Return the reading with the corrections applied. The last correction of a thing wins."""
    if not corrections:
        return reading
    hidden = [
        correction.citation
        for correction in corrections
        if correction.kind is CorrectionKind.HIDDEN and correction.citation
    ]
    corrected = reading
    for correction in corrections:
        if correction.kind is CorrectionKind.POSITION:
            corrected = _with_position(corrected, correction)
    corrected = _without_sentences(corrected, hidden)  # also drops positions that rest on a hidden sentence
    corrected = _without_narrative(corrected, corrections)
    if _stances(corrected) != _stances(reading):
        corrected = _recounted(corrected, subject)
    for correction in corrections:
        if correction.kind is CorrectionKind.GENRE and correction.genre is not None:
            corrected = replace(corrected, genre=ReadGenre(correction.genre, _SURE, Tier.SAID))
        if correction.kind is CorrectionKind.OUTCOME and correction.outcome is not None:
            corrected = _with_outcome(corrected, correction, subject)
    return corrected


def is_hidden(message_id: str, quote: str, hidden: Iterable[SentenceCitation]) -> bool:
    """Return whether the quote contains a hidden sentence or is part of one."""
    folded = " ".join(quote.split())
    return any(
        citation.message_id == message_id
        and folded
        and (folded in citation.quote or citation.quote in folded)
        for citation in hidden
    )


def _without_sentences(reading: ThreadReading, hidden: Sequence[SentenceCitation]) -> ThreadReading:
    if not hidden:
        return reading

    def is_shown(citation: SentenceCitation) -> bool:
        return not is_hidden(citation.message_id, citation.quote, hidden)

    proposition, call = reading.proposition, reading.open_call
    if proposition is not None and proposition.words is not None and not is_shown(proposition.words):
        proposition = replace(proposition, words=None)
    if call is not None:
        question = call.question if call.question and is_shown(call.question) else None
        call = replace(call, question=question, outstanding=tuple(filter(is_shown, call.outstanding)))
    return replace(
        reading,
        proposition=proposition,
        outcome=_without_evidence(reading.outcome, is_shown),
        positions=tuple(
            position
            if position.earlier is None or is_shown(position.earlier.citation)
            else replace(position, earlier=None)
            for position in _resting_on(reading.positions, lambda position: is_shown(position.citation))
        ),
        objections=tuple(
            objection
            if objection.withdrawal is None or is_shown(objection.withdrawal)
            else replace(objection, withdrawal=None)
            for objection in _resting_on(reading.objections, lambda objection: is_shown(objection.citation))
        ),
        tallies=_resting_on(reading.tallies, lambda tally: is_shown(tally.citation)),
        decisions=_resting_on(reading.decisions, lambda decision: is_shown(decision.citation)),
        open_issues=tuple(filter(is_shown, reading.open_issues)),
        key_points=tuple(filter(is_shown, reading.key_points)),
        latest=tuple(remark for remark in reading.latest if is_shown(remark.citation)),
        headline=_without_lines(reading, hidden, is_shown),
        open_call=call,
    )


def _resting_on(claims: tuple[_Bearing, ...], is_shown: Callable[[_Bearing], bool]) -> tuple[_Bearing, ...]:
    return tuple(claim for claim in claims if is_shown(claim))


def _without_evidence(outcome: ThreadOutcome, is_shown: Callable[[SentenceCitation], bool]) -> ThreadOutcome:
    """Return the outcome without hidden evidence. An outcome without evidence left is not stated."""
    left = tuple(filter(is_shown, outcome.evidence))
    if outcome.evidence and not left:
        return _nothing_said()
    return replace(outcome, evidence=left)


def _without_lines(
    reading: ThreadReading, hidden: Sequence[SentenceCitation], is_shown: Callable[[SentenceCitation], bool]
) -> Headline:
    came_out = _without_evidence(reading.outcome, is_shown).sentence
    asked, left = (
        "" if any(_begins(line, citation.quote) for citation in hidden) else line
        for line in (reading.headline.asked, reading.headline.left)
    )
    return Headline(asked=asked, came_out=came_out, left=left)


def _begins(line: str, quote: str) -> bool:
    """Return whether a headline's line, which may be clipped, begins the quote."""
    start = line.removesuffix("\u2026").strip()
    return bool(start) and quote.startswith(start)


def _without_narrative(reading: ThreadReading, corrections: Sequence[ReadingCorrection]) -> ThreadReading:
    """Leave out the model's sentences that may repeat a corrected statement."""
    if reading.model is None:
        return reading
    of_whole = any(correction.kind is CorrectionKind.OUTCOME for correction in corrections)
    messages = {
        correction.message_id for correction in corrections if correction.kind is not CorrectionKind.GENRE
    }
    narrative = tuple(
        sentence
        for sentence in reading.model.narrative
        if not of_whole and not any(evidence.message_id in messages for evidence in sentence.evidence)
    )
    return replace(reading, model=replace(reading.model, narrative=narrative))


def _with_position(reading: ThreadReading, correction: ReadingCorrection) -> ThreadReading:
    before = next((position for position in reading.positions if position.person == correction.person), None)
    others = tuple(position for position in reading.positions if position.person != correction.person)
    citation = correction.citation or (before.citation if before else None)
    if correction.stance is None or citation is None:
        return replace(reading, positions=others if correction.stance is None else reading.positions)
    corrected = Position(
        person=correction.person,
        name=correction.name or (before.name if before else correction.person),
        stance=correction.stance,
        tier=Tier.SAID,
        confidence=_SURE,
        citation=citation,
        answers=before.answers if before else None,
        binding=before.binding if before else None,
        rule=RULE,
    )
    return replace(reading, positions=(*others, corrected))


def _stances(reading: ThreadReading) -> dict[str, PositionStance]:
    return {position.person: position.stance for position in reading.positions if position.tier is Tier.SAID}


def _recounted(reading: ThreadReading, subject: str) -> ThreadReading:
    """Return the reading with everything that follows from the corrected positions."""
    stances = [stance for stance in _stances(reading).values() if stance is not PositionStance.PROPOSER]
    supporting = stances.count(PositionStance.SUPPORT)
    against = any(stance in _AGAINST for stance in stances)
    outcome = reading.outcome
    if outcome.tier is Tier.SAID and outcome.basis is ConsensusBasis.COUNTED:
        outcome = _counted_outcome(outcome, supporting, subject, against=against)
    declared = outcome.tier is Tier.SAID and outcome.basis in {ConsensusBasis.RULED, ConsensusBasis.CALLED}
    said = outcome.kind if outcome.tier is Tier.SAID else None
    agreed = not against and said not in _NOT_AGREED and (supporting >= _ENOUGH_VOICES or said in _AGREED)
    has_consensus = reading.has_consensus if declared else agreed
    return replace(
        reading,
        outcome=outcome,
        headline=replace(reading.headline, came_out=outcome.sentence),
        consensus_type=consensus_type(stances, has_consensus=has_consensus),
        has_consensus=has_consensus,
        basis=outcome.basis,
    )


def _counted_outcome(
    outcome: ThreadOutcome, supporting: int, subject: str, *, against: bool
) -> ThreadOutcome:
    """Return the counted outcome without its tally, or no outcome if the count no longer shows it."""
    if against and supporting:
        kind = OutcomeKind.CONTESTED
    elif supporting >= _ENOUGH_VOICES and outcome.kind in _AGREED:
        kind = outcome.kind
    else:
        return _nothing_said()
    return replace(outcome, kind=kind, sentence=plain_sentence(kind, subject), votes=None)


def _nothing_said() -> ThreadOutcome:
    return ThreadOutcome(
        kind=OutcomeKind.UNRESOLVED,
        tier=Tier.REMARK,
        confidence=0.0,
        sentence=plain_sentence(None, ""),
        basis=ConsensusBasis.UNKNOWN,
        rule=RULE,
    )


def _with_outcome(reading: ThreadReading, correction: ReadingCorrection, subject: str) -> ThreadReading:
    assert correction.outcome is not None  # noqa: S101 - the caller checked
    kind = correction.outcome
    if kind is OutcomeKind.UNRESOLVED and not correction.sentence:
        outcome = _nothing_said()
    else:
        outcome = ThreadOutcome(
            kind=kind,
            tier=Tier.SAID,
            confidence=_SURE,
            sentence=correction.sentence or plain_sentence(kind, subject),
            basis=ConsensusBasis.UNKNOWN,
            evidence=(correction.citation,) if correction.citation else (),
            rule=RULE,
        )
    has_consensus = kind in _AGREED
    return replace(
        reading,
        outcome=outcome,
        headline=replace(reading.headline, came_out=outcome.sentence),
        has_consensus=has_consensus,
        consensus_type=consensus_type(_stances(reading).values(), has_consensus=has_consensus),
        basis=outcome.basis,
        open_call=None if kind in _SETTLED else reading.open_call,
    )
