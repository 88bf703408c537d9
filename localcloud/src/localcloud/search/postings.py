"""Postings of a searchable field: all occurrences of each term, sorted by term, row and position.

The terms are sorted, so the occurrences of all terms with a prefix are one slice.
"""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localcloud.search.analysis import Analyzer
from localcloud.search.columns import Mask, Rows

# The gap between two values of a collection, so that no phrase matches across them.
VALUE_GAP = 100
_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Postings:
    terms: list[str]
    offsets: NDArray[np.int64]  # term -> its slice of rows and positions
    rows: NDArray[np.int32]
    positions: NDArray[np.int32]
    lengths: NDArray[np.int32]  # row -> number of terms

    @classmethod
    def build(cls, analyzer: Analyzer, texts: list[list[str]]) -> "Postings":
        """Build from the values of each row: no value, one, or several for a collection."""
        ids: defaultdict[str, int] = defaultdict()
        ids.default_factory = ids.__len__
        found: list[int] = []
        counts: list[int] = []  # the number of terms of each value
        rows: list[int] = []  # the row of each value
        gaps: list[int] = []  # the offset of each value's positions
        for row, values in enumerate(texts):
            start = 0
            for text in values:
                terms = analyzer.terms(text)
                found.extend(map(ids.__getitem__, terms))
                counts.append(len(terms))
                rows.append(row)
                gaps.append(start)
                start += len(terms) + VALUE_GAP
        return cls._sorted(ids, found, counts, rows, gaps, len(texts))

    @classmethod
    def _sorted(
        cls,
        ids: dict[str, int],
        found: list[int],
        counts: list[int],
        rows: list[int],
        gaps: list[int],
        documents: int,
    ) -> "Postings":
        terms = sorted(ids)
        order = np.empty(len(terms), dtype=np.int32)
        order[[ids[term] for term in terms]] = np.arange(len(terms), dtype=np.int32)
        occurrences = order[np.array(found, dtype=np.int32)] if found else np.empty(0, dtype=np.int32)
        lengths = np.array(counts, dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        positions = np.arange(len(found)) - np.repeat(starts - np.array(gaps, dtype=np.int64), lengths)
        of_row = np.repeat(np.array(rows, dtype=np.int32), lengths)
        if terms and terms[0] == "":  # stop words, which have a position but are not terms
            kept = occurrences != 0
            occurrences, of_row, positions = occurrences[kept] - 1, of_row[kept], positions[kept]
            terms = terms[1:]
        return cls._from_occurrences(terms, occurrences, of_row, positions.astype(np.int32), documents)

    @classmethod
    def _from_occurrences(
        cls,
        terms: list[str],
        occurrences: NDArray[np.int32],
        rows: NDArray[np.int32],
        positions: NDArray[np.int32],
        documents: int,
    ) -> "Postings":
        by_term = np.argsort(occurrences, kind="stable")
        offsets = np.zeros(len(terms) + 1, dtype=np.int64)
        np.cumsum(np.bincount(occurrences, minlength=len(terms)), out=offsets[1:])
        lengths = np.bincount(rows, minlength=documents).astype(np.int32)
        return cls(terms, offsets, rows[by_term], positions[by_term], lengths)

    @classmethod
    def nothing(cls, documents: int) -> "Postings":
        empty = np.empty(0, dtype=np.int32)
        return cls._from_occurrences([], empty, empty, empty, documents)

    @classmethod
    def merge(cls, parts: "list[tuple[Postings, Rows]]") -> "Postings":
        """Merge postings. Each part keeps some of its rows, which are renumbered consecutively."""
        terms = sorted(set().union(*(part.terms for part, _ in parts)))
        ids = {term: number for number, term in enumerate(terms)}
        kept_parts, lengths, first = [], [], 0
        for part, kept in parts:
            counts, rows, positions = part.kept(kept, first)
            numbers = np.fromiter((ids[term] for term in part.terms), np.int64, len(part.terms))
            kept_parts.append((numbers, counts, rows, positions))
            lengths.append(part.lengths[kept])
            first += len(kept)
        offsets, rows, positions = _interleaved(kept_parts, len(terms))
        return cls(terms, offsets, rows, positions, np.concatenate(lengths))

    def kept(self, kept: Rows, first: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Return the occurrences of each term, with rows and positions, for kept rows from `first`."""
        counts = np.diff(self.offsets)
        if len(kept) == len(self.lengths):
            return counts, self.rows + np.int32(first), self.positions
        renumbered = np.full(len(self.lengths), -1, dtype=np.int32)
        renumbered[kept] = np.arange(first, first + len(kept), dtype=np.int32)
        rows = renumbered[self.rows]
        alive = rows >= 0
        of_term = np.repeat(np.arange(len(self.terms)), counts)
        return np.bincount(of_term[alive], minlength=len(self.terms)), rows[alive], self.positions[alive]

    def occurrences(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the rows and positions of a term."""
        at = bisect_left(self.terms, term)
        if at == len(self.terms) or self.terms[at] != term:
            return self.rows[:0], self.positions[:0]
        span = slice(self.offsets[at], self.offsets[at + 1])
        return self.rows[span], self.positions[span]

    def frequencies(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the rows with a term, and its number of occurrences in each."""
        return run_lengths(self.occurrences(term)[0])

    def rows_with(self, prefix: str) -> NDArray[np.int32]:
        """Return the rows with any term of this prefix. A row can be repeated."""
        first, end = bisect_left(self.terms, prefix), bisect_left(self.terms, prefix + _LAST_CHARACTER)
        return self.rows[self.offsets[first] : self.offsets[end]]

    def phrase(self, terms: list[tuple[int, str]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the rows with the terms at these distances, and the number of occurrences in each."""
        starts: NDArray[np.int64] | None = None
        for offset, term in terms:
            rows, positions = self.occurrences(term)
            # A place encodes row and position in one number. The position can be before the row's first.
            places = (rows.astype(np.int64) << 32) + positions - offset
            starts = places if starts is None else starts[np.isin(starts, places, assume_unique=True)]
        if starts is None:
            return run_lengths(self.rows[:0])
        # Only the first term, with offset 0, sets the starts, so a negative position never matches.
        return run_lengths((starts >> 32).astype(np.int32))

    def totals(self, live: Mask) -> tuple[int, int]:
        """Return the number of live rows with the field, and their number of terms."""
        lengths = self.lengths[live]
        return int(np.count_nonzero(lengths)), int(lengths.sum())


def run_lengths(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    if not len(rows):
        return rows, np.empty(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
    return rows[starts], np.diff(np.append(starts, len(rows)))


def _interleaved(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]], terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Merge parts that are sorted by term. The position of each slice is computed, so nothing is sorted."""
    totals = np.zeros(terms, dtype=np.int64)
    for numbers, counts, _, _ in parts:
        totals[numbers] += counts
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(totals)])
    rows, positions = (np.empty(int(offsets[-1]), dtype=np.int32) for _ in range(2))
    filled = offsets[:-1].copy()
    for numbers, counts, part_rows, part_positions in parts:
        moved = filled[numbers] - (np.cumsum(counts) - counts)
        places = np.arange(len(part_rows)) + np.repeat(moved, counts)
        rows[places] = part_rows
        positions[places] = part_positions
        filled[numbers] += counts
    return offsets, rows, positions
