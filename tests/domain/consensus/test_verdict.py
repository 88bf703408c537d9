"""What the voices and the chairs' calls amount to, by tables."""

import pytest

from shared.domain.consensus.models import CallKind, ConsensusCall, ConsensusType, Evidence, StanceCounts
from shared.domain.consensus.verdict import Verdict, judge

AGREEMENT, DISSENT, MIXED = ConsensusType.AGREEMENT, ConsensusType.DISSENT, ConsensusType.MIXED
FOR, AGAINST, NONE = CallKind.DECLARED, CallKind.DECLARED_AGAINST, CallKind.NO_CONSENSUS


def call(kind: CallKind, *, chair: bool = True, sender: str = "chair@example.org") -> ConsensusCall:
    evidence = Evidence("k", 0, 1, "x")
    return ConsensusCall(kind=kind, sender_email=sender, evidence=evidence, by_chair=chair)


def voices(support: int, objection: int) -> StanceCounts:
    return StanceCounts(support=support, objection=objection)


@pytest.mark.parametrize(
    ("support", "objection", "consensus", "kind"),
    [
        (0, 0, False, None),
        (1, 0, False, AGREEMENT),  # one voice is no consensus
        (2, 0, True, AGREEMENT),
        (3, 0, True, AGREEMENT),
        (0, 1, False, DISSENT),
        (0, 3, False, DISSENT),
        (2, 1, False, MIXED),
        (3, 1, False, MIXED),  # three for each one against are too few
        (4, 1, True, MIXED),
        (7, 2, False, MIXED),
        (8, 2, True, MIXED),
        (11, 3, False, MIXED),
        (12, 3, True, MIXED),
    ],
)
def test_without_a_ruling_the_voices_decide(
    support: int, objection: int, consensus: bool, kind: ConsensusType | None
) -> None:
    verdict = judge(voices(support, objection), [])
    assert (verdict.has_consensus, verdict.consensus_type) == (consensus, kind)
    reason = "no chair has ruled" if consensus else "too few voices, or too divided"
    assert verdict.reason == f"{reason}; {support} in support, {objection} objecting"


@pytest.mark.parametrize(
    ("kind", "support", "objection", "verdict"),
    [
        (FOR, 1, 0, Verdict(True, AGREEMENT, "consensus was declared; 1 in support, 0 objecting")),
        (FOR, 0, 0, Verdict(True, AGREEMENT, "consensus was declared; 0 in support, 0 objecting")),
        (FOR, 1, 5, Verdict(True, MIXED, "consensus was declared; 1 in support, 5 objecting")),
        (AGAINST, 5, 1, Verdict(True, DISSENT, "consensus against was declared; 5 in support, 1 objecting")),
        (NONE, 9, 0, Verdict(False, AGREEMENT, "no consensus was declared; 9 in support, 0 objecting")),
        (NONE, 0, 2, Verdict(False, DISSENT, "no consensus was declared; 0 in support, 2 objecting")),
        (NONE, 0, 0, Verdict(False, MIXED, "no consensus was declared; 0 in support, 0 objecting")),
    ],
)
def test_a_chairs_ruling_stands_against_the_voices(
    kind: CallKind, support: int, objection: int, verdict: Verdict
) -> None:
    assert judge(voices(support, objection), [call(kind)]) == verdict


@pytest.mark.parametrize("kind", [CallKind.OPENED, CallKind.CLOSED])
def test_to_open_or_close_a_call_is_no_ruling(kind: CallKind) -> None:
    assert judge(voices(0, 3), [call(kind)]).reason.startswith("too few voices")
    assert judge(voices(0, 3), [call(FOR), call(kind)]).has_consensus


def test_the_last_ruling_counts() -> None:
    assert not judge(voices(3, 0), [call(FOR), call(NONE)]).has_consensus
    assert judge(voices(3, 0), [call(NONE), call(FOR)]).has_consensus


def test_a_chairs_ruling_counts_more_than_a_later_one_of_somebody_else() -> None:
    assert judge(voices(1, 1), [call(FOR), call(NONE, chair=False)]).has_consensus


@pytest.mark.parametrize(
    ("kind", "support", "objection", "credible"),
    [
        (FOR, 1, 0, True),
        (FOR, 1, 1, True),
        (FOR, 1, 2, False),  # the voices contradict it
        (AGAINST, 1, 2, True),
        (AGAINST, 1, 1, False),
        (AGAINST, 2, 1, False),
        (NONE, 5, 1, True),
        (NONE, 1, 0, True),
        (NONE, 0, 0, True),
        (NONE, 2, 0, False),
    ],
)
def test_anybody_elses_ruling_counts_where_the_voices_do_not_contradict_it(
    kind: CallKind, support: int, objection: int, credible: bool
) -> None:
    verdict = judge(voices(support, objection), [call(kind, chair=False)])
    assert ("declared" in verdict.reason) is credible


def test_the_last_credible_ruling_counts() -> None:
    said = [call(NONE, chair=False), call(FOR, chair=False), call(AGAINST, chair=False)]
    assert judge(voices(1, 1), said).reason.startswith("consensus was declared")


@pytest.mark.parametrize("sender", ["bob@example.org", " Bob@Example.ORG "])
def test_an_objector_does_not_rule_in_their_own_favour(sender: str) -> None:
    said = [call(NONE, chair=False, sender=sender)]
    assert "declared" not in judge(voices(4, 1), said, frozenset({"bob@example.org"})).reason
    assert "declared" in judge(voices(4, 1), said, frozenset({"eve@example.org"})).reason
