"""Corrections on top of a reading: their changes and the consequences."""

from dataclasses import replace

from shared.models.values import (
    ConsensusBasis,
    ConsensusType,
    CorrectionKind,
    Genre,
    OutcomeKind,
    PositionStance,
    SentenceCitation,
    ThreadReading,
    Tier,
)
from shared.reading.corrections import ReadingCorrection, corrected_reading, is_hidden
from tests.support.thread_mails import mail, read

SUBJECT = "Adopt the draft"


def reading() -> ThreadReading:
    return read(
        mail(
            0,
            "ann@x.example",
            "I propose that we adopt draft-example-one as a group document.",
            subject=SUBJECT,
        ),
        mail(1, "bob@x.example", "I support adoption of this draft."),
        mail(2, "cy@x.example", "I support adoption of this draft, too."),
    )


def position(person: str, stance: PositionStance | None, source: ThreadReading) -> ReadingCorrection:
    (one,) = [found for found in source.positions if found.person == person]
    return ReadingCorrection(
        CorrectionKind.POSITION, one.citation.message_id, person, stance=stance, citation=one.citation
    )


def corrected(source: ThreadReading, *corrections: ReadingCorrection) -> ThreadReading:
    made = corrected_reading(source, corrections, subject=SUBJECT)
    # A second application changes nothing.
    assert corrected_reading(made, corrections, subject=SUBJECT) == made
    return made


def people(source: ThreadReading) -> list[str]:
    return [one.person for one in source.positions]


def test_without_corrections_a_reading_is_what_was_read() -> None:
    assert corrected(reading()) == reading()


def test_a_corrected_position_is_counted_anew() -> None:
    before = reading()
    bob, cy = people(before)
    assert (before.has_consensus, before.consensus_type) == (True, ConsensusType.AGREEMENT)
    made = corrected(before, position(bob, PositionStance.OPPOSE, before))
    assert (made.has_consensus, made.consensus_type) == (False, ConsensusType.MIXED)
    (changed,) = [one for one in made.positions if one.person == bob]
    assert (changed.stance, changed.tier, changed.rule) == (PositionStance.OPPOSE, Tier.SAID, "corrected")
    alone = corrected(before, position(bob, None, before))
    assert (people(alone), alone.has_consensus) == ([cy], False)


def test_a_counted_outcome_falls_with_the_positions_it_was_counted_from() -> None:
    before = reading()
    counted = replace(
        before,
        outcome=replace(
            before.outcome,
            kind=OutcomeKind.ACCEPTED,
            tier=Tier.SAID,
            basis=ConsensusBasis.COUNTED,
            sentence="Accepted: Adopt the draft, 2 for, 0 against.",
        ),
    )
    bob, cy = people(counted)
    made = corrected(counted, position(bob, PositionStance.OPPOSE, counted))
    assert (made.outcome.kind, "2 for" in made.outcome.sentence) == (OutcomeKind.CONTESTED, False)
    none = corrected(counted, position(bob, None, counted), position(cy, None, counted))
    assert (none.outcome.tier, none.outcome.sentence) == (Tier.REMARK, "No decision found.")
    assert none.headline.came_out == "No decision found."


def test_a_ruling_stands_over_corrected_positions() -> None:
    before = reading()
    ruled = replace(
        before,
        outcome=replace(
            before.outcome, kind=OutcomeKind.ACCEPTED, tier=Tier.SAID, basis=ConsensusBasis.RULED
        ),
    )
    made = corrected(ruled, position(people(ruled)[0], PositionStance.OPPOSE, ruled))
    assert (made.has_consensus, made.outcome.kind) == (True, OutcomeKind.ACCEPTED)


def test_the_outcome_is_what_a_person_says() -> None:
    before = reading()
    said = ReadingCorrection(CorrectionKind.OUTCOME, "<0>", outcome=OutcomeKind.REJECTED)
    made = corrected(before, said)
    assert (made.outcome.kind, made.outcome.tier, made.has_consensus) == (
        OutcomeKind.REJECTED,
        Tier.SAID,
        False,
    )
    assert made.outcome.sentence == made.headline.came_out == "Rejected or withdrawn: Adopt the draft."
    nothing = corrected(before, replace(said, outcome=OutcomeKind.UNRESOLVED))
    assert (nothing.outcome.tier, nothing.outcome.sentence) == (Tier.REMARK, "No decision found.")
    assert (made.consensus_type, nothing.consensus_type) == (None, None)
    genre = corrected(before, ReadingCorrection(CorrectionKind.GENRE, "<0>", genre=Genre.REPORT))
    assert (genre.genre.kind, genre.genre.tier) == (Genre.REPORT, Tier.SAID)


def test_nothing_rests_on_a_hidden_sentence() -> None:
    before = reading()
    sentence = before.positions[0].citation
    made = corrected(before, ReadingCorrection(CorrectionKind.HIDDEN, sentence.message_id, citation=sentence))
    assert sentence.quote not in str(made)
    assert len(made.positions) == 1
    ended = replace(before, outcome=replace(before.outcome, tier=Tier.SAID, evidence=(sentence,)))
    unsaid = corrected(
        ended, ReadingCorrection(CorrectionKind.HIDDEN, sentence.message_id, citation=sentence)
    )
    assert (unsaid.outcome.tier, unsaid.outcome.evidence) == (Tier.REMARK, ())


def test_an_earlier_stance_goes_with_its_hidden_sentence() -> None:
    before = read(
        mail(0, "ann@x.example", "I propose that we adopt draft-example-one.", subject=SUBJECT),
        mail(1, "bob@x.example", "I object to adoption of this draft."),
        mail(2, "bob@x.example", "I support adoption of this draft now."),
    )
    earlier = before.positions[0].earlier
    assert earlier is not None
    hidden = ReadingCorrection(CorrectionKind.HIDDEN, earlier.citation.message_id, citation=earlier.citation)
    made = corrected(before, hidden)
    assert earlier.citation.quote not in str(made)
    assert [(one.stance, one.earlier) for one in made.positions] == [(PositionStance.SUPPORT, None)]


def test_a_part_of_a_hidden_sentence_is_hidden_and_the_same_words_of_another_are_not() -> None:
    hidden = [SentenceCitation("<1>", 0, 30, "I support adoption of this draft.")]
    assert is_hidden("<1>", "support\nadoption", hidden)
    assert is_hidden("<1>", "Well. I support adoption of this draft. Yes.", hidden)
    assert not is_hidden("<2>", "I support adoption of this draft.", hidden)
    assert not is_hidden("<1>", "", hidden)
