"""Facets: how many of the found chunks have each value, so that a reader can narrow a search down."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The fields that the index counts; a date is counted by interval.
FACETS = ("source", "sender", "draft_mentions", "date")
INTERVALS = ("day", "week", "month", "quarter", "year")


@dataclass(frozen=True)
class Facet:
    """What to count: the most frequent `count` values of a field, or a date by interval."""

    field: str
    count: int = 10
    interval: str = "month"  # of a date only

    def __post_init__(self) -> None:
        if self.field not in FACETS:
            raise ValueError(f"facet {self.field!r} is not one of: {', '.join(FACETS)}")
        if self.interval not in INTERVALS:
            raise ValueError(f"interval {self.interval!r} is not one of: {', '.join(INTERVALS)}")
        if self.count < 1:
            raise ValueError("a facet has at least one value")

    def option(self) -> str:
        if self.field == "date":
            return f"date,interval:{self.interval}"
        return f"{self.field},count:{self.count}"


@dataclass(frozen=True)
class FacetValue:
    value: str  # of a date: the instant at which its interval begins
    count: int


def facet_options(facets: Iterable[Facet | str]) -> list[str]:
    return [(Facet(facet) if isinstance(facet, str) else facet).option() for facet in facets]


def read_facets(answer: Mapping[str, Sequence[Mapping[str, Any]]] | None) -> dict[str, list[FacetValue]]:
    return {
        field: [FacetValue(str(counted["value"]), int(counted["count"])) for counted in values]
        for field, values in (answer or {}).items()
    }
