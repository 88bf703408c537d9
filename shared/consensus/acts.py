"""Dialogue acts of a segment: a small linear model over hand-written cues.

The weights stand in acts.json. `python -m evaluation.train_acts` makes them; where they come from is written
in the file and in docs/consensus.md.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from shared.consensus.cues import FEATURES, cue_vector

__all__ = ["Act", "ActModel", "ActWeights", "default_model"]


class Act(StrEnum):
    """The labels of LEDA that matter for consensus."""

    AGREEMENT = "Agreement"
    DISAGREEMENT = "Disagreement"
    DECISION = "StateDecision"
    PROPOSAL = "ProposeAction"


@dataclass(frozen=True)
class ActWeights:
    weights: NDArray[np.float64]
    bias: float
    threshold: float
    """On the probability, where F1 was best in cross-validation."""


@dataclass(frozen=True)
class ActModel:
    acts: dict[Act, ActWeights]

    def probabilities(self, text: str) -> dict[Act, float]:
        """How likely each act is, if all were equally frequent; thresholds lie above 0.5, as they are not."""
        features = cue_vector(text)
        return {act: _probability(features, weights) for act, weights in self.acts.items()}

    def acts_of(self, text: str) -> set[Act]:
        """The acts that a segment performs; several are possible."""
        probabilities = self.probabilities(text)
        return {act for act, weights in self.acts.items() if probabilities[act] >= weights.threshold}


def _probability(features: NDArray[np.float64], weights: ActWeights) -> float:
    return float(1 / (1 + np.exp(-(features @ weights.weights + weights.bias))))


@cache
def default_model() -> ActModel:
    """The model that ships with the project."""
    stored = json.loads(files("shared.consensus").joinpath("acts.json").read_text("utf-8"))
    if tuple(stored["features"]) != FEATURES:
        raise ValueError("acts.json was made for other cues: run python -m evaluation.train_acts")
    return ActModel(
        {
            Act(name): ActWeights(np.array(act["weights"]), act["bias"], act["threshold"])
            for name, act in stored["acts"].items()
        }
    )
