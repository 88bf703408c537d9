"""`$filter` as a tree: each node returns the mask of a frame's matching rows.

As in the real service, a comparison with null is false, `ne` is the complement of `eq` and so matches nulls,
`not` is the complement, `any` of an empty collection is false, and `all` of an empty collection is true.
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
        if column is None:  # the rows are older than the field
            return np.full(rows, self.value is None and operation == "eq")
        if self.value is None:
            return ~column.valid if operation == "eq" else np.zeros(rows, dtype=np.bool_)
        if column.texts is not None:
            return _compare_texts(column, operation, self.value)
        compared: Mask = getattr(operator, operation)(column.data, self.value) & column.valid
        return compared


def _compare_texts(column: Column, operation: str, value: str) -> Mask:
    """Compare texts by their codes, because the texts are sorted."""
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
    """search.in: membership in a set of texts."""

    name: str
    values: frozenset[str]

    def mask(self, frame: Frame) -> Mask:
        column = frame.columns.get(self.name)
        if column is None or column.texts is None:
            return np.zeros(frame.rows, dtype=np.bool_)
        wanted = np.zeros(len(column.texts) + 1, dtype=np.bool_)  # the last slot is for nulls
        for value in self.values:
            at = bisect_left(column.texts, value)
            if at < len(column.texts) and column.texts[at] == value:
                wanted[at] = True
        kept: Mask = wanted[column.data]
        return kept


@dataclass(frozen=True, slots=True)
class Textual:
    """search.ismatch: a full-text query as a condition. `with_matches` replaces it with the matching rows."""

    text: str
    fields: tuple[str, ...]
    match_all: bool

    def mask(self, frame: Frame) -> Mask:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The rows of one part that match a condition."""

    kept: Mask

    def mask(self, frame: Frame) -> Mask:  # noqa: ARG002 - all nodes have the same signature
        return self.kept


def with_matches(condition: Filter, rows_of: Callable[[Textual], Mask]) -> Filter:
    """Return the condition for one part, with its full-text queries replaced by their results."""
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
    """`and` or `or` of at least two operands."""

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
    """any or all over the elements of a collection. any without a body matches a collection with elements."""

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
