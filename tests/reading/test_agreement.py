"""The type of consensus never contradicts the presence of consensus."""

import pytest

from shared.models.values import ConsensusType, PositionStance
from shared.reading.positions import consensus_type

SUPPORT, OPPOSE, MIXED = PositionStance.SUPPORT, PositionStance.OPPOSE, PositionStance.MIXED


@pytest.mark.parametrize("stances", [[], [SUPPORT], [SUPPORT, OPPOSE], [OPPOSE]])
def test_where_there_is_consensus_the_type_is_agreement(stances: list[PositionStance]) -> None:
    assert consensus_type(stances, has_consensus=True) is ConsensusType.AGREEMENT


@pytest.mark.parametrize(
    ("stances", "expected"),
    [
        ([], None),
        ([SUPPORT], None),
        ([PositionStance.PROPOSER, SUPPORT], None),
        ([OPPOSE], ConsensusType.DISSENT),
        ([SUPPORT, OPPOSE], ConsensusType.MIXED),
        ([MIXED], ConsensusType.MIXED),
    ],
)
def test_without_consensus_the_type_is_never_agreement(
    stances: list[PositionStance], expected: ConsensusType | None
) -> None:
    assert consensus_type(stances, has_consensus=False) is expected
