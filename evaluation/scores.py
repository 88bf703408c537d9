"""F1, precision and recall."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Score:
    f1: float
    precision: float
    recall: float
    found: int
    expected: int

    def __str__(self) -> str:
        figures = f"F1 {self.f1:.3f}  precision {self.precision:.3f}  recall {self.recall:.3f}"
        return f"{figures}  (of {self.expected})"


def score(expected: NDArray[np.bool_], found: NDArray[np.bool_]) -> Score:
    right, n_found, n_expected = int((expected & found).sum()), int(found.sum()), int(expected.sum())
    f1 = 2 * right / (n_found + n_expected) if n_found + n_expected else 0.0
    return Score(
        f1,
        right / n_found if n_found else 0.0,
        right / n_expected if n_expected else 0.0,
        n_found,
        n_expected,
    )


def set_f1(found: AbstractSet[str], expected: AbstractSet[str]) -> float:
    return 2 * len(found & expected) / (len(found) + len(expected)) if found or expected else 0.0
