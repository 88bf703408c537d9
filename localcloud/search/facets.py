"""Facets: how many of the matching documents have each value, or lie in each range."""

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localcloud.search.columns import Column, Frame, Mask, Rows
from localcloud.search.errors import SearchError, bad_request
from localcloud.search.schema import Schema
from localcloud.search.values import instant, instant_text
from localcloud.search.view import View

MAX_DIGITS = 10
DAY = 86_400_000
_FIXED = {"minute": 60_000, "hour": 3_600_000, "day": DAY}
_CALENDAR = {"month": ("M", 1), "quarter": ("M", 3), "year": ("Y", 1)}
_DATE_INTERVALS = frozenset({*_FIXED, *_CALENDAR, "week"})
_SORTS = frozenset({"count", "-count", "value", "-value"})
_NUMBERS = frozenset({"Edm.Int32", "Edm.Int64", "Edm.Double"})
_MONDAY = 3 * DAY  # 1970 began on a Thursday


@dataclass(frozen=True, slots=True)
class Facet:
    path: str
    type: str
    count: int = 10
    sort: str = "count"
    interval: str | float | None = None
    values: tuple[float, ...] = ()


def parse_facet(text: str, schema: Schema) -> Facet:
    path, *parameters = (part.strip() for part in text.split(","))
    field = schema.by_path.get(path)
    if field is None:
        raise bad_request(f"Could not find a property named '{path:.200}' on type 'search.document'.")
    if not field.facetable:
        raise bad_request(f"The field '{path}' is not facetable.")
    given: dict[str, Any] = {}
    for parameter in parameters:
        name, _, value = parameter.partition(":")
        if name in given:
            raise _malformed(text)
        given[name] = _parameter(name, value.strip(), field.type, text)
    if "interval" in given and "values" in given:
        raise bad_request(f"Facet '{text:.200}': 'interval' and 'values' exclude each other.")
    if "sort" in given and ("interval" in given or "values" in given):
        raise bad_request(f"Facet '{text:.200}': 'sort' cannot be used with 'interval' or 'values'.")
    return Facet(path, field.type, **given)


def _parameter(name: str, value: str, kind: str, text: str) -> Any:
    ranged = kind in _NUMBERS or kind == "Edm.DateTimeOffset"
    if name == "count" and value.isascii() and value.isdigit() and len(value) < MAX_DIGITS:
        return int(value)
    if name == "sort" and value in _SORTS:
        return value
    if name == "values" and ranged:
        bounds = tuple(_bound(item, kind) for item in value.split("|"))
        if all(math.isfinite(bound) for bound in bounds) and all(a < b for a, b in pairwise(bounds)):
            return bounds
    if name == "interval" and ranged:
        if kind == "Edm.DateTimeOffset" and value in _DATE_INTERVALS:
            return value
        if kind in _NUMBERS and (step := _bound(value, kind)) > 0:
            return step
    raise _malformed(text)


def _bound(text: str, kind: str) -> float:
    if kind == "Edm.DateTimeOffset":
        moment = instant(text)
        return math.nan if moment is None else moment
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _malformed(text: str) -> SearchError:
    return bad_request(
        f"Invalid facet expression '{text:.200}': a facetable field, then any of count:N, "
        "sort:count|-count|value|-value, values:a|b (ascending) or interval:N for numbers and dates."
    )


def count_facet(facet: Facet, view: View, masks: list[Mask]) -> list[dict[str, Any]]:
    """Over the rows in the masks, one a part of the view."""
    counts: Counter[Any] = Counter()
    for part, mask in zip(view.parts, masks, strict=True):
        found = _leaf(part.segment.frame, facet.path)
        if found is None:
            continue
        rows, column = found
        kept = column.valid & mask[rows]
        counts.update(_counted(facet, rows[kept], column, column.data[kept]))
    if facet.values:
        return _ranges(facet, counts)
    return _buckets(facet, counts)


def _leaf(frame: Frame, path: str) -> tuple[Rows, Column] | None:
    """The column at a path, with the document of each of its values: it may lie in collections."""
    if path in frame.columns:
        return np.arange(frame.rows), frame.columns[path]
    for name, nested in frame.nested.items():
        if path == name or path.startswith(f"{name}/"):
            inner = _leaf(nested.frame, path[len(name) + 1 :])
            return inner and (nested.parents()[inner[0]], inner[1])
    return None


def _counted(facet: Facet, rows: Rows, column: Column, data: NDArray[Any]) -> dict[Any, int]:
    """Documents a value: one that has a value twice counts once."""
    keys = _bucket(facet, data)
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


def _bucket(facet: Facet, data: NDArray[Any]) -> NDArray[Any]:
    if facet.values:
        return np.searchsorted(np.array(facet.values), data, side="right")
    if facet.interval is None:
        return data
    if not isinstance(facet.interval, str):
        return np.floor(data / facet.interval) * facet.interval
    if facet.interval in _FIXED:
        return data // _FIXED[facet.interval] * _FIXED[facet.interval]
    if facet.interval == "week":
        return (data + _MONDAY) // (7 * DAY) * (7 * DAY) - _MONDAY
    unit, months = _CALENDAR[facet.interval]
    periods = data.astype("datetime64[ms]").astype(f"datetime64[{unit}]").astype(np.int64) // months * months
    return periods.astype(f"datetime64[{unit}]").astype("datetime64[ms]").astype(np.int64)


def _buckets(facet: Facet, counts: Counter[Any]) -> list[dict[str, Any]]:
    if facet.interval is not None:
        ordered = sorted(counts.items())
    else:
        ordered = sorted(counts.items(), key=lambda item: item[0], reverse=facet.sort == "-value")
        if facet.sort.endswith("count"):
            ordered.sort(key=lambda item: item[1], reverse=facet.sort == "count")
    shown = ordered[: facet.count] if facet.count else ordered
    return [{"count": count, "value": _shown(facet, value)} for value, count in shown]


def _ranges(facet: Facet, counts: Counter[Any]) -> list[dict[str, Any]]:
    bounds = [_shown(facet, value) for value in facet.values]
    result = []
    for number in range(len(bounds) + 1):
        bucket: dict[str, Any] = {"count": counts[number]}
        if number:
            bucket["from"] = bounds[number - 1]
        if number < len(bounds):
            bucket["to"] = bounds[number]
        result.append(bucket)
    return result


def _shown(facet: Facet, value: Any) -> Any:
    if facet.type == "Edm.DateTimeOffset":
        return instant_text(int(value))
    if facet.type == "Edm.Boolean":
        return bool(value)
    if facet.type in ("Edm.Int32", "Edm.Int64") and float(value).is_integer():
        return int(value)
    return value
