"""Facets: the number of matching documents with each value, or in each interval."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localcloud.search.columns import Column, Frame, Mask, Rows
from localcloud.search.errors import SearchError, bad_request
from localcloud.search.schema import Schema
from localcloud.search.values import instant_text
from localcloud.search.view import View

MAX_DIGITS = 10
DAY = 86_400_000
_FIXED = {"minute": 60_000, "hour": 3_600_000, "day": DAY}
_CALENDAR = {"month": ("M", 1), "quarter": ("M", 3), "year": ("Y", 1)}
_DATE_INTERVALS = frozenset({*_FIXED, *_CALENDAR, "week"})
_MONDAY = 3 * DAY  # 1970 began on a Thursday


@dataclass(frozen=True, slots=True)
class Facet:
    name: str
    type: str
    count: int = 10
    interval: str | None = None


def parse_facet(text: str, schema: Schema) -> Facet:
    name, *parameters = (part.strip() for part in text.split(","))
    field = schema.by_name.get(name)
    if field is None:
        raise bad_request(f"Could not find a property named '{name:.200}' on type 'search.document'.")
    if not field.facetable:
        raise bad_request(f"The field '{name}' is not facetable.")
    given: dict[str, Any] = {}
    for parameter in parameters:
        option, _, value = parameter.partition(":")
        if option in given:
            raise _malformed(text)
        given[option] = _parameter(option, value.strip(), field.type, text)
    return Facet(name, field.type, **given)


def _parameter(name: str, value: str, kind: str, text: str) -> Any:
    if name == "count" and value.isascii() and value.isdigit() and len(value) < MAX_DIGITS:
        return int(value)
    if name == "interval" and kind == "Edm.DateTimeOffset" and value in _DATE_INTERVALS:
        return value
    raise _malformed(text)


def _malformed(text: str) -> SearchError:
    return bad_request(
        f"Invalid facet expression '{text:.200}': a facetable field, then any of count:N, "
        "and of a date interval:minute|hour|day|week|month|quarter|year. The local AI Search does not "
        "support sort, values, and the intervals of numbers."
    )


def count_facet(facet: Facet, view: View, masks: list[Mask]) -> list[dict[str, Any]]:
    """Count the rows in the masks, one mask for each part of the view."""
    counts: Counter[Any] = Counter()
    for part, mask in zip(view.parts, masks, strict=True):
        found = _column(part.segment.frame, facet.name)
        if found is None:
            continue
        rows, column = found
        kept = column.valid & mask[rows]
        counts.update(_counted(facet, rows[kept], column, column.data[kept]))
    return _buckets(facet, counts)


def _column(frame: Frame, name: str) -> tuple[Rows, Column] | None:
    """Return a field's column, and the row of each value. A row of a collection can have several values."""
    if name in frame.columns:
        return np.arange(frame.rows), frame.columns[name]
    nested = frame.nested.get(name)
    return None if nested is None else (nested.parents(), nested.elements)


def _counted(facet: Facet, rows: Rows, column: Column, data: NDArray[Any]) -> dict[Any, int]:
    """Return the number of documents for each value. A document with a repeated value counts once."""
    keys = _bucket(facet.interval, data)
    values, codes = np.unique(keys, return_inverse=True)
    pairs = (
        np.unique(np.stack([codes.astype(np.int64), rows]), axis=1) if len(rows) else np.empty((2, 0), int)
    )
    counts = np.bincount(pairs[0].astype(np.int64), minlength=len(values))
    texts = column.texts
    return {
        (texts[value] if texts is not None else value.item()): int(count)
        for value, count in zip(values, counts, strict=True)
    }


def _bucket(interval: str | None, data: NDArray[Any]) -> NDArray[Any]:
    if interval is None:
        return data
    if interval in _FIXED:
        return data // _FIXED[interval] * _FIXED[interval]
    if interval == "week":
        return (data + _MONDAY) // (7 * DAY) * (7 * DAY) - _MONDAY
    unit, months = _CALENDAR[interval]
    periods = data.astype("datetime64[ms]").astype(f"datetime64[{unit}]").astype(np.int64) // months * months
    return periods.astype(f"datetime64[{unit}]").astype("datetime64[ms]").astype(np.int64)


def _buckets(facet: Facet, counts: Counter[Any]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items())
    if facet.interval is None:
        ordered.sort(key=lambda item: -item[1])
    shown = ordered[: facet.count] if facet.count else ordered
    return [{"count": count, "value": _shown(facet, value)} for value, count in shown]


def _shown(facet: Facet, value: Any) -> Any:
    if facet.type == "Edm.DateTimeOffset":
        return instant_text(int(value))
    if facet.type == "Edm.Boolean":
        return bool(value)
    return value
