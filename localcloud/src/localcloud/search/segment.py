"""Segments: immutable groups of documents in searchable form. A separate mask marks deleted documents."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localcloud.search.analysis import ANALYZERS
from localcloud.search.columns import Frame, Mask, Rows
from localcloud.search.postings import Postings
from localcloud.search.schema import Schema


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a field, for the rows that have one."""

    rows: NDArray[np.int32]
    matrix: NDArray[np.float32]
    squares: NDArray[np.float32]  # the squared lengths

    @classmethod
    def of(cls, rows: NDArray[Any], matrix: NDArray[np.float32]) -> "Vectors":
        return cls(rows.astype(np.int32), matrix, np.einsum("ij,ij->i", matrix, matrix))

    @classmethod
    def build(cls, dimensions: int, vectors: list[NDArray[np.float32] | None]) -> "Vectors":
        rows = [row for row, vector in enumerate(vectors) if vector is not None]
        matrix = np.array([vectors[row] for row in rows], dtype=np.float32).reshape(-1, dimensions)
        return cls.of(np.array(rows, dtype=np.int32), matrix)

    @classmethod
    def merge(cls, parts: "list[tuple[Vectors | None, int, Rows]]") -> "Vectors":
        """Merge (vectors, previous number of rows, kept rows) of each part, with new row numbers."""
        rows, matrices, squares, first = [], [], [], 0
        for part, count, kept in parts:
            if part is not None:
                renumbered = np.full(count, -1, dtype=np.int32)
                renumbered[kept] = np.arange(first, first + len(kept), dtype=np.int32)
                new_rows = renumbered[part.rows]
                alive = new_rows >= 0
                rows.append(new_rows[alive])
                matrices.append(part.matrix if alive.all() else part.matrix[alive])
                squares.append(part.squares[alive])
            first += len(kept)
        return cls(np.concatenate(rows), np.concatenate(matrices), np.concatenate(squares))


@dataclass(frozen=True, slots=True)
class Segment:
    rowids: NDArray[np.int64]
    keys: list[str]  # sorted
    key_rows: NDArray[np.int32]
    frame: Frame
    postings: dict[str, Postings]
    vectors: dict[str, Vectors]

    @classmethod
    def build(cls, schema: Schema, rowids: list[int], documents: list[dict[str, Any]]) -> "Segment":
        keys = [document[schema.key.name] for document in documents]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        postings = {}
        for field in schema.text_fields:
            texts = [texts_of(document, field.name) for document in documents]
            postings[field.name] = Postings.build(ANALYZERS[field.analyzer], texts)
        return cls(
            np.array(rowids, dtype=np.int64),
            [keys[row] for row in order],
            np.array(order, dtype=np.int32),
            Frame.build(schema.fields, documents),
            postings,
            {
                field.name: Vectors.build(field.dimensions, [item.get(field.name) for item in documents])
                for field in schema.vector_fields
            },
        )

    @property
    def rows(self) -> int:
        return len(self.rowids)

    def find(self, key: str) -> int | None:
        at = bisect_left(self.keys, key)
        return int(self.key_rows[at]) if at < len(self.keys) and self.keys[at] == key else None

    @classmethod
    def merge(cls, parts: "list[tuple[Segment, Mask]]") -> "Segment":
        """Merge the live rows of several segments, in their order."""
        kept = [(segment, np.flatnonzero(live)) for segment, live in parts]
        keys, key_rows = _merged_keys(kept)
        names = dict.fromkeys(name for segment, _ in kept for name in segment.postings)
        fields = dict.fromkeys(name for segment, _ in kept for name in segment.vectors)
        return cls(
            np.concatenate([segment.rowids[rows] for segment, rows in kept]),
            keys,
            key_rows,
            Frame.concatenate([segment.frame.take(rows) for segment, rows in kept]),
            {
                name: Postings.merge(
                    [
                        (segment.postings.get(name) or Postings.nothing(segment.rows), rows)
                        for segment, rows in kept
                    ]
                )
                for name in names
            },
            {
                name: Vectors.merge(
                    [(segment.vectors.get(name), segment.rows, rows) for segment, rows in kept]
                )
                for name in fields
            },
        )


def _merged_keys(parts: list[tuple[Segment, Rows]]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the sorted keys of the kept rows, with their new rows. Sorting presorted runs is fast."""
    keys: list[str] = []
    rows, first = [], 0
    for segment, kept in parts:
        renumbered = np.full(segment.rows, -1, dtype=np.int32)
        renumbered[kept] = np.arange(first, first + len(kept), dtype=np.int32)
        new_rows = renumbered[segment.key_rows]
        alive = new_rows >= 0
        keys += segment.keys if alive.all() else list(compress(segment.keys, alive))
        rows.append(new_rows[alive])
        first += len(kept)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [keys[at] for at in order], np.concatenate(rows)[order]


def texts_of(document: dict[str, Any], name: str) -> list[str]:
    """Return the texts of a field: no text, one, or several for a collection."""
    value = document.get(name)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
