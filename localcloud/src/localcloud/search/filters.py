"""`$filter` as a tree: every node answers a frame with the mask of the rows it keeps.

As in the real service, a comparison with a null is false, `ne` is the opposite of `eq` and so keeps nulls,
`not` is the complement, `any` of an empty collection is false and `all` is true.
"""

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from localcloud.search.columns import Column, Frame, Mask


class Filter(Protocol):
    def mask(self, frame: Frame) -> Mask: ...


@dataclass(frozen=True, slots=True)
class Boolean:
    value: bool

    def mask(self, frame: Frame) -> Mask:
        return np.full(frame.rows, self.value)


@dataclass(frozen=True, slots=True)
class Compare:
    name: str
    operation: str
    value: Any

    def mask(self, frame: Frame) -> Mask:
        column = frame.columns.get(self.name)
        if self.operation == "ne":
            return ~self._compared(column, frame.rows, "eq")
        return self._compared(column, frame.rows, self.operation)

    def _compared(self, column: Column | None, rows: int, operation: str) -> Mask:
        if column is None:  # the field is younger than these rows
            return np.full(rows, self.value is None and operation == "eq")
        if self.value is None:
            return ~column.valid if operation == "eq" else np.zeros(rows, dtype=np.bool_)
        if column.texts is not None:
            return _compare_texts(column, operation, self.value)
        compared: Mask = getattr(operator, operation)(column.data, self.value) & column.valid
        return compared


def _compare_texts(column: Column, operation: str, value: str) -> Mask:
    """The texts are sorted: a comparison of texts is one of codes."""
    texts = column.texts or []
    low, high = bisect_left(texts, value), bisect_right(texts, value)
    codes = column.data
    bounds = {
        "eq": lambda: (codes >= low) & (codes < high),
        "lt": lambda: (codes >= 0) & (codes < low),
        "le": lambda: (codes >= 0) & (codes < high),
        "gt": lambda: codes >= high,
        "ge": lambda: codes >= low,
    }
    kept: Mask = bounds[operation]() & column.valid
    return kept


@dataclass(frozen=True, slots=True)
class In:
    """search.in: one of many texts."""

    name: str
    values: frozenset[str]

    def mask(self, frame: Frame) -> Mask:
        column = frame.columns.get(self.name)
        if column is None or column.texts is None:
            return np.zeros(frame.rows, dtype=np.bool_)
        wanted = np.zeros(len(column.texts) + 1, dtype=np.bool_)  # the last is for nulls
        for value in self.values:
            at = bisect_left(column.texts, value)
            if at < len(column.texts) and column.texts[at] == value:
                wanted[at] = True
        kept: Mask = wanted[column.data]
        return kept


@dataclass(frozen=True, slots=True)
class Textual:
    """search.ismatch: a full-text query as a condition. `with_matches` replaces it by the rows that match."""

    text: str
    fields: tuple[str, ...]
    match_all: bool

    def mask(self, frame: Frame) -> Mask:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The rows of one part that a condition keeps."""

    kept: Mask

    def mask(self, frame: Frame) -> Mask:  # noqa: ARG002 - one signature for every node
        return self.kept


def with_matches(condition: Filter, rows_of: Callable[[Textual], Mask]) -> Filter:
    """The same condition for one part, its full-text queries answered."""
    if isinstance(condition, Textual):
        return Known(rows_of(condition))
    if isinstance(condition, Not):
        return Not(with_matches(condition.operand, rows_of))
    if isinstance(condition, Junction):
        operands = tuple(with_matches(operand, rows_of) for operand in condition.operands)
        return replace(condition, operands=operands)
    return condition


@dataclass(frozen=True, slots=True)
class Not:
    operand: Filter

    def mask(self, frame: Frame) -> Mask:
        return ~self.operand.mask(frame)


@dataclass(frozen=True, slots=True)
class Junction:
    """`and` or `or` of two or more."""

    operation: str
    operands: tuple[Filter, ...]

    def mask(self, frame: Frame) -> Mask:
        combine = np.logical_and if self.operation == "and" else np.logical_or
        result = self.operands[0].mask(frame)
        for operand in self.operands[1:]:
            result = combine(result, operand.mask(frame))
        return result


@dataclass(frozen=True, slots=True)
class Lambda:
    """any or all over the elements of a collection; any without a body asks whether there are elements."""

    name: str
    operation: str
    body: Filter | None

    def mask(self, frame: Frame) -> Mask:
        nested = frame.nested.get(self.name)
        if nested is None:
            return np.full(frame.rows, self.operation == "all")
        if self.body is None:
            return nested.counts > 0
        kept = self.body.mask(Frame(len(nested.elements.data), {"": nested.elements}, {}))
        sought = kept if self.operation == "any" else ~kept
        found = np.zeros(frame.rows, dtype=np.bool_)
        found[nested.parents()[sought]] = True
        return found if self.operation == "any" else ~found
