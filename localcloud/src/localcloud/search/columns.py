"""Columns: the values that filters, sorting and facets read, as a numpy array for each field.

A frame is a table of documents. A collection is one column with the elements of all documents in order:
`offsets[row]:offsets[row + 1]` are the elements of one document. Frames are immutable: a write creates a
small frame, and a merge combines several frames.
"""

from dataclasses import dataclass
from itertools import accumulate, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localcloud.search.fields import Field
from localcloud.search.values import double, instant

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
_DTYPES = {"Edm.Double": np.float64, "Edm.Boolean": np.int8}


@dataclass(frozen=True, slots=True)
class Column:
    """Numbers, or codes that index the sorted `texts`. A null is code -1, or not `valid`."""

    data: NDArray[Any]
    valid: Mask
    texts: list[str] | None = None

    @classmethod
    def build(cls, kind: str, values: list[Any]) -> "Column":
        valid = np.fromiter((value is not None for value in values), dtype=np.bool_, count=len(values))
        if kind == "Edm.String":
            texts = sorted({value for value in values if value is not None})
            codes = {text: code for code, text in enumerate(texts)}
            coded = np.fromiter((codes.get(value, -1) for value in values), np.int32, len(values))
            return cls(coded, valid, texts)
        if kind == "Edm.DateTimeOffset":
            values = [None if value is None else instant(value) for value in values]
        elif kind == "Edm.Double":
            values = [None if value is None else double(value) for value in values]
        plain = (0 if value is None else value for value in values)
        return cls(np.fromiter(plain, _DTYPES.get(kind, np.int64), len(values)), valid)

    @classmethod
    def nulls(cls, like: "Column", rows: int) -> "Column":
        data = np.full(rows, -1 if like.texts is not None else 0, dtype=like.data.dtype)
        return cls(data, np.zeros(rows, dtype=np.bool_), [] if like.texts is not None else None)

    def take(self, rows: Rows) -> "Column":
        return Column(self.data[rows], self.valid[rows], self.texts)

    @classmethod
    def concatenate(cls, columns: "list[Column]") -> "Column":
        valid = np.concatenate([column.valid for column in columns])
        if columns[0].texts is None:
            return cls(np.concatenate([column.data for column in columns]), valid)
        kept = [_used_texts(column) for column in columns]
        texts = sorted(set().union(*kept))
        codes = {text: code for code, text in enumerate(texts)}
        recoded = []
        for column in columns:
            # The table has an additional last slot, which a null's -1 selects.
            old = column.texts or []
            table = np.full(len(old) + 1, -1, dtype=np.int32)
            table[:-1] = np.fromiter((codes.get(text, -1) for text in old), np.int32, len(old))
            recoded.append(table[column.data])
        return cls(np.concatenate(recoded), valid, texts)


def _used_texts(column: Column) -> list[str]:
    """Return the texts that rows still use. Some rows may have been deleted."""
    texts = column.texts or []
    used = np.zeros(len(texts) + 1, dtype=np.bool_)
    used[column.data] = True
    return texts if used[:-1].all() else list(compress(texts, used))


@dataclass(frozen=True, slots=True)
class Nested:
    """The elements of a collection field."""

    offsets: NDArray[np.int64]
    elements: Column

    @property
    def counts(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def parents(self) -> Rows:
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    def take(self, rows: Rows) -> "Nested":
        counts = self.counts[rows]
        offsets = _offsets(counts)
        starts = np.repeat(self.offsets[:-1][rows] - offsets[:-1], counts)
        return Nested(offsets, self.elements.take(np.arange(int(offsets[-1])) + starts))

    @classmethod
    def empty(cls, rows: int, like: "Nested") -> "Nested":
        return cls(np.zeros(rows + 1, dtype=np.int64), Column.nulls(like.elements, 0))

    @classmethod
    def concatenate(cls, parts: "list[Nested]") -> "Nested":
        offsets = _offsets(np.concatenate([part.counts for part in parts]))
        return cls(offsets, Column.concatenate([part.elements for part in parts]))


def _offsets(counts: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


@dataclass(frozen=True, slots=True)
class Frame:
    rows: int
    columns: dict[str, Column]
    nested: dict[str, Nested]

    @classmethod
    def build(cls, fields: tuple[Field, ...], documents: list[dict[str, Any]]) -> "Frame":
        frame = cls(len(documents), {}, {})
        for field in fields:
            if field.in_columns:
                values = [document.get(field.name) for document in documents]
                if field.collection:
                    frame.nested[field.name] = _nested(field, values)
                else:
                    frame.columns[field.name] = Column.build(field.type, values)
        return frame

    def take(self, rows: Rows) -> "Frame":
        """Return the frame of some rows, in ascending order."""
        if len(rows) == self.rows:
            return self
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Frame(len(rows), columns, {name: part.take(rows) for name, part in self.nested.items()})

    @classmethod
    def concatenate(cls, frames: "list[Frame]") -> "Frame":
        """Return a frame of all rows in order. A field added later is null in the older rows."""
        columns, nested = {}, {}
        for name, like in {k: v for frame in frames for k, v in frame.columns.items()}.items():
            columns[name] = Column.concatenate(
                [frame.columns.get(name) or Column.nulls(like, frame.rows) for frame in frames]
            )
        for name, part in {k: v for frame in frames for k, v in frame.nested.items()}.items():
            nested[name] = Nested.concatenate(
                [frame.nested.get(name) or Nested.empty(frame.rows, part) for frame in frames]
            )
        return cls(sum(frame.rows for frame in frames), columns, nested)


def _nested(field: Field, values: list[list[Any] | None]) -> "Nested":
    offsets = np.array(list(accumulate((len(value or ()) for value in values), initial=0)), dtype=np.int64)
    elements = [element for value in values for element in value or ()]
    return Nested(offsets, Column.build(field.type, elements))
