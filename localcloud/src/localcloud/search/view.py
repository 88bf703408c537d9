"""Views: immutable snapshots of an index, as segments with masks of their live rows.

Each write creates a new view, so readers never block and never see part of a batch. Rows are numbered across
all parts: a part's first row has the number `base`.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localcloud.search.columns import Column, Mask, Rows
from localcloud.search.segment import Segment

SMALL = 1024
MERGE_FACTOR = 8


@dataclass(frozen=True, slots=True)
class Part:
    segment: Segment
    live: Mask
    base: int
    count: int


class View:
    def __init__(self, parts: list[tuple[Segment, Mask]]) -> None:
        self.parts: list[Part] = []
        base = 0
        for segment, live in parts:
            self.parts.append(Part(segment, live, base, int(np.count_nonzero(live))))
            base += segment.rows
        self.rows = base
        self.count = sum(part.count for part in self.parts)
        self._columns: dict[str, Column | None] = {}

    def find(self, key: str) -> int | None:
        """Return the rowid of the document with this key."""
        for part in reversed(self.parts):
            row = part.segment.find(key)
            if row is not None and part.live[row]:
                return int(part.segment.rowids[row])
        return None

    def rowids(self, rows: Rows) -> list[int]:
        result = np.empty(len(rows), dtype=np.int64)
        for part in self.parts:
            here = (rows >= part.base) & (rows < part.base + part.segment.rows)
            result[here] = part.segment.rowids[rows[here] - part.base]
        return [int(rowid) for rowid in result]

    def column(self, path: str) -> Column | None:
        """Return a column over all parts, for sorting. It is built at the first use."""
        if path not in self._columns:
            present = [part.segment.frame.columns.get(path) for part in self.parts]
            like = next((column for column in present if column is not None), None)
            self._columns[path] = like and Column.concatenate(
                [
                    column or Column.nulls(like, part.segment.rows)
                    for column, part in zip(present, self.parts, strict=True)
                ]
            )
        return self._columns[path]

    def after(self, added: Segment | None, removed: NDArray[np.int64]) -> "View":
        """Return the view after a write, with segments merged if there are too many."""
        parts = [(part.segment, _without(part, removed)) for part in self.parts]
        if added is not None:
            parts.append((added, np.ones(added.rows, dtype=np.bool_)))
        return View(_compacted(parts))

    def storage_size(self) -> tuple[int, int]:
        """Return the total size in bytes, and the size of the vectors."""
        vectors = sum(v.matrix.nbytes for part in self.parts for v in part.segment.vectors.values())
        text = sum(
            p.rows.nbytes + p.positions.nbytes for part in self.parts for p in part.segment.postings.values()
        )
        return vectors + text, vectors


def _without(part: Part, removed: NDArray[np.int64]) -> Mask:
    if not len(removed):
        return part.live
    gone = np.isin(part.segment.rowids, removed)
    if not gone.any():
        return part.live
    live: Mask = part.live & ~gone
    return live


def _compacted(parts: list[tuple[Segment, Mask]]) -> list[tuple[Segment, Mask]]:
    """Drop dead segments, rewrite half-dead segments, and merge the newest segments of similar size."""
    result: list[tuple[Segment, Mask]] = []
    for segment, live in parts:
        count = int(np.count_nonzero(live))
        if count:
            result.append((segment, live) if 2 * count > segment.rows else _merged([(segment, live)]))
    while (start := _merge_from([int(np.count_nonzero(live)) for _, live in result])) is not None:
        result[start:] = [_merged(result[start:])]
    return result


def _merged(parts: list[tuple[Segment, Mask]]) -> tuple[Segment, Mask]:
    segment = Segment.merge(parts)
    return segment, np.ones(segment.rows, dtype=np.bool_)


def _tier(size: int) -> int:
    return 0 if size < SMALL else 1 + int(math.log(size / SMALL, MERGE_FACTOR))


def _merge_from(sizes: list[int]) -> int | None:
    """Return the start of the newest segments of a tier, if there are enough to merge."""
    for tier in range(_tier(max(sizes, default=0)) + 1):
        start = len(sizes)
        while start and _tier(sizes[start - 1]) <= tier:
            start -= 1
        if len(sizes) - start >= MERGE_FACTOR:
            return start
    return None
