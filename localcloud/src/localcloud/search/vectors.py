"""Exact nearest neighbors: one matrix product for each segment, over the rows that match a filter.

The first pass uses single precision. Its results and some spare rows are scored again in double precision, so
that order and scores are exact.
"""

import numpy as np
from numpy.typing import NDArray

from localcloud.search.columns import Mask, Rows
from localcloud.search.fields import Field
from localcloud.search.segment import Vectors
from localcloud.search.view import View

RANK_CONSTANT = 60
# Below this share of rows, it is faster to copy them than to compute all.
GATHER_BELOW = 0.25
_SPARE = 16


def nearest(
    view: View, field: Field, query: NDArray[np.float64], k: int, masks: list[Mask]
) -> tuple[Rows, NDArray[np.float64]]:
    """Return the k best rows that the masks allow, best first, with scores. There is a mask for each part."""
    rows, similarities = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for part, mask in zip(view.parts, masks, strict=True):
        vectors = part.segment.vectors.get(field.name)
        if vectors is None or not len(vectors.rows):
            continue
        places = _candidates(vectors, query.astype(np.float32), k + _SPARE, mask)
        rows.append(vectors.rows[places].astype(np.int64) + part.base)
        similarities.append(_exact(vectors.matrix[places].astype(np.float64), query))
    found, similarity = np.concatenate(rows), np.concatenate(similarities)
    best = np.lexsort((found, -similarity))[:k]
    return found[best], 1 / (2 - np.minimum(similarity[best], 1))  # 1 / (1 + distance)


def _candidates(vectors: Vectors, query: NDArray[np.float32], count: int, mask: Mask) -> NDArray[np.int64]:
    """Return positions in the matrix of at least the `count` best allowed rows."""
    allowed = mask[vectors.rows]
    kept = int(np.count_nonzero(allowed))
    if kept <= GATHER_BELOW * len(allowed):
        places = np.flatnonzero(allowed)
        similarity = _similarity(vectors.matrix[places], vectors.squares[places], query)
    else:
        similarity = _similarity(vectors.matrix, vectors.squares, query)
        places = np.arange(len(allowed))
        if kept < len(allowed):
            similarity[~allowed] = -np.inf
            count = min(count, kept)
    if len(places) <= count:
        return places
    best: NDArray[np.int64] = places[np.argpartition(similarity, len(places) - count)[len(places) - count :]]
    return best


def _similarity(
    matrix: NDArray[np.float32], squares: NDArray[np.float32], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return values that increase with the cosine, on an arbitrary scale."""
    products: NDArray[np.float32] = matrix @ query
    products /= np.sqrt(np.maximum(squares, np.finfo(np.float32).tiny))
    return products


def _exact(matrix: NDArray[np.float64], query: NDArray[np.float64]) -> NDArray[np.float64]:
    products: NDArray[np.float64] = matrix @ query
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
    cosines: NDArray[np.float64] = np.zeros_like(products)
    np.divide(products, lengths, out=cosines, where=lengths > 0)
    return cosines


def reciprocal_rank_fusion(arms: list[tuple[Rows, float]]) -> tuple[Rows, NDArray[np.float64]]:
    """Return all rows, scored by the sum of weight / (60 + rank). Arms are ranked rows with a weight."""
    every = np.unique(np.concatenate([rows for rows, _ in arms]))
    scores = np.zeros(len(every))
    for rows, weight in arms:
        scores[np.searchsorted(every, rows)] += weight / (RANK_CONSTANT + np.arange(1, len(rows) + 1))
    order = np.lexsort((every, -scores))
    return every[order], scores[order]
