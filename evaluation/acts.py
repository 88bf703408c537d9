"""Dialogue acts of a segment: a small linear model over hand-written cues, trained when it is needed.

Nothing that is trained on LEDA is stored: the corpus stands in a GPL-3.0 repository, and the app needs no
part of it.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from evaluation.cues import cue_vector
from evaluation.logistic import Fitted


class Act(StrEnum):
    """The labels of LEDA that matter for consensus."""

    AGREEMENT = "Agreement"
    DISAGREEMENT = "Disagreement"
    DECISION = "StateDecision"
    PROPOSAL = "ProposeAction"


@dataclass(frozen=True)
class FittedAct:
    fitted: Fitted
    threshold: float
    """On the probability, where F1 was best in cross-validation."""


@dataclass(frozen=True)
class ActModel:
    acts: dict[Act, FittedAct]

    def acts_of(self, text: str) -> set[Act]:
        """The acts that a segment performs; several are possible."""
        features = cue_vector(text)[np.newaxis]
        return {act for act, one in self.acts.items() if _probability(one, features) >= one.threshold}


def _probability(act: FittedAct, features: NDArray[np.float64]) -> float:
    return float(act.fitted.probabilities(features)[0])
