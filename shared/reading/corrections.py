"""What people correct in a reading, laid over it. Pure: the same corrections give the same reading.

A correction outweighs what was read. What rests on a corrected position by counting is counted again; what
rests on a hidden sentence is not said any more.
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
    """One correction. `citation` is the sentence that shows it, or that is hidden."""

    kind: CorrectionKind
    message_id: str
    person: str = ""
    name: str = ""
    stance: PositionStance | None = None
    """None: the person takes no position."""
    outcome: OutcomeKind | None = None
    sentence: str = ""
    genre: Genre | None = None
    citation: SentenceCitation | None = None


def corrected_reading(
    reading: ThreadReading, corrections: Sequence[ReadingCorrection], *, subject: str
) -> ThreadReading:
    """The reading as people have corrected it; the last correction of a thing wins."""
    if not corrections:
        return reading
    hidden = [one.citation for one in corrections if one.kind is CorrectionKind.HIDDEN and one.citation]
    made = reading
    for one in corrections:
        if one.kind is CorrectionKind.POSITION:
            made = _with_position(made, one)
    made = _without_sentences(made, hidden)  # a position that rests on a hidden sentence, too
    made = _without_narrative(made, corrections)
    if _stances(made) != _stances(reading):
        made = _recounted(made, subject)
    for one in corrections:
        if one.kind is CorrectionKind.GENRE and one.genre is not None:
            made = replace(made, genre=ReadGenre(one.genre, _SURE, Tier.SAID))
        if one.kind is CorrectionKind.OUTCOME and one.outcome is not None:
            made = _with_outcome(made, one, subject)
    return made


# sentences that are hidden


def is_hidden(message_id: str, quote: str, hidden: Iterable[SentenceCitation]) -> bool:
    """Whether the quote is a hidden sentence, a part of one, or holds one."""
    folded = " ".join(quote.split())
    return any(
        one.message_id == message_id and folded and (folded in one.quote or one.quote in folded)
        for one in hidden
    )


def _without_sentences(reading: ThreadReading, hidden: Sequence[SentenceCitation]) -> ThreadReading:
    if not hidden:
        return reading

    def shown(citation: SentenceCitation) -> bool:
        return not is_hidden(citation.message_id, citation.quote, hidden)

    proposition, call = reading.proposition, reading.open_call
    if proposition is not None and proposition.words is not None and not shown(proposition.words):
        proposition = replace(proposition, words=None)
    if call is not None:
        question = call.question if call.question and shown(call.question) else None
        call = replace(call, question=question, outstanding=tuple(filter(shown, call.outstanding)))
    return replace(
        reading,
        proposition=proposition,
        outcome=_without_evidence(reading.outcome, shown),
        positions=tuple(
            one if one.earlier is None or shown(one.earlier.citation) else replace(one, earlier=None)
            for one in _resting_on(reading.positions, lambda one: shown(one.citation))
        ),
        objections=tuple(
            one if one.withdrawal is None or shown(one.withdrawal) else replace(one, withdrawal=None)
            for one in _resting_on(reading.objections, lambda one: shown(one.citation))
        ),
        tallies=_resting_on(reading.tallies, lambda one: shown(one.citation)),
        decisions=_resting_on(reading.decisions, lambda one: shown(one.citation)),
        open_issues=tuple(filter(shown, reading.open_issues)),
        key_points=tuple(filter(shown, reading.key_points)),
        latest=tuple(one for one in reading.latest if shown(one.citation)),
        headline=_without_lines(reading, hidden, shown),
        open_call=call,
    )


def _resting_on(claims: tuple[_Bearing, ...], shown: Callable[[_Bearing], bool]) -> tuple[_Bearing, ...]:
    return tuple(claim for claim in claims if shown(claim))


def _without_evidence(outcome: ThreadOutcome, shown: Callable[[SentenceCitation], bool]) -> ThreadOutcome:
    """An outcome whose evidence is all hidden is not said."""
    left = tuple(filter(shown, outcome.evidence))
    if outcome.evidence and not left:
        return _nothing_said()
    return replace(outcome, evidence=left)


def _without_lines(
    reading: ThreadReading, hidden: Sequence[SentenceCitation], shown: Callable[[SentenceCitation], bool]
) -> Headline:
    came_out = _without_evidence(reading.outcome, shown).sentence
    asked, left = (
        "" if any(_begins(line, one.quote) for one in hidden) else line
        for line in (reading.headline.asked, reading.headline.left)
    )
    return Headline(asked=asked, came_out=came_out, left=left)


def _begins(line: str, quote: str) -> bool:
    """Lines are clipped sentences."""
    start = line.removesuffix("\u2026").strip()
    return bool(start) and quote.startswith(start)


def _without_narrative(reading: ThreadReading, corrections: Sequence[ReadingCorrection]) -> ThreadReading:
    """A model's own words may repeat what was corrected: nobody can check that, so they are left out."""
    if reading.model is None:
        return reading
    of_whole = any(one.kind is CorrectionKind.OUTCOME for one in corrections)
    messages = {one.message_id for one in corrections if one.kind is not CorrectionKind.GENRE}
    narrative = tuple(
        told
        for told in reading.model.narrative
        if not of_whole and not any(evidence.message_id in messages for evidence in told.evidence)
    )
    return replace(reading, model=replace(reading.model, narrative=narrative))


# positions


def _with_position(reading: ThreadReading, one: ReadingCorrection) -> ThreadReading:
    before = next((position for position in reading.positions if position.person == one.person), None)
    others = tuple(position for position in reading.positions if position.person != one.person)
    citation = one.citation or (before.citation if before else None)
    if one.stance is None or citation is None:
        return replace(reading, positions=others if one.stance is None else reading.positions)
    made = Position(
        person=one.person,
        name=one.name or (before.name if before else one.person),
        stance=one.stance,
        tier=Tier.SAID,
        confidence=_SURE,
        citation=citation,
        answers=before.answers if before else None,
        binding=before.binding if before else None,
        rule=RULE,
    )
    return replace(reading, positions=(*others, made))


def _stances(reading: ThreadReading) -> dict[str, PositionStance]:
    return {one.person: one.stance for one in reading.positions if one.tier is Tier.SAID}


def _recounted(reading: ThreadReading, subject: str) -> ThreadReading:
    """What follows from the positions that are said now."""
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
    """A tally that includes what was corrected is not shown any more."""
    if against and supporting:
        kind = OutcomeKind.CONTESTED
    elif supporting >= _ENOUGH_VOICES and outcome.kind in _AGREED:
        kind = outcome.kind
    else:
        return _nothing_said()
    return replace(outcome, kind=kind, sentence=plain_sentence(kind, subject), votes=None)


# outcomes


def _nothing_said() -> ThreadOutcome:
    return ThreadOutcome(
        kind=OutcomeKind.UNRESOLVED,
        tier=Tier.REMARK,
        confidence=0.0,
        sentence=plain_sentence(None, ""),
        basis=ConsensusBasis.UNKNOWN,
        rule=RULE,
    )


def _with_outcome(reading: ThreadReading, one: ReadingCorrection, subject: str) -> ThreadReading:
    assert one.outcome is not None  # noqa: S101 - the caller looked
    kind = one.outcome
    if kind is OutcomeKind.UNRESOLVED and not one.sentence:
        outcome = _nothing_said()
    else:
        outcome = ThreadOutcome(
            kind=kind,
            tier=Tier.SAID,
            confidence=_SURE,
            sentence=one.sentence or plain_sentence(kind, subject),
            basis=ConsensusBasis.UNKNOWN,
            evidence=(one.citation,) if one.citation else (),
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
