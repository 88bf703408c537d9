"""Maximal marginal relevance: the next pick is relevant, and unlike what was picked before."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may be picked: items, and the sum of their costs."""

    budget: float
    limit: int | None = None


def pick_diverse(
    relevance: NDArray[np.float64],
    vectors: NDArray[np.float32],
    costs: Sequence[float],
    bounds: Bounds,
    *,
    diversity: float = 0.3,
    already: Sequence[int] = (),
) -> list[int]:
    """Indices in the order of picking; `already` are given, and unpaid. What does not fit is passed over."""
    picked: list[int] = []
    left = bounds.budget
    likeness = np.zeros(len(relevance))
    for index in already:
        likeness = np.maximum(likeness, vectors @ vectors[index])
    open_items = np.ones(len(relevance), dtype=bool)
    open_items[list(already)] = False
    price = np.asarray(costs, dtype=float)
    while bounds.limit is None or len(picked) < bounds.limit:
        open_items &= price <= left
        if not open_items.any():
            break
        gain = np.where(open_items, (1 - diversity) * relevance - diversity * likeness, -np.inf)
        index = int(gain.argmax())
        picked.append(index)
        left -= price[index]
        open_items[index] = False
        likeness = np.maximum(likeness, vectors @ vectors[index])
    return picked
