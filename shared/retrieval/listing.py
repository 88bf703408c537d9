"""Lists out of Cosmos DB: filtered, sorted, and cut into pages by opaque cursors.

A cursor names the last item of a page by its place in the order. It is bound to the sort and the filters that
it was made for, and every value of it becomes a parameter: a forged one can do nothing but skip items.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.documents.queries.named_query import NamedQuery
from web.problems import Problem

__all__ = ["Listing", "Page"]

LONGEST_CURSOR = 1000


@dataclass(frozen=True)
class Page:
    rows: list[dict[str, Any]]
    cursor: str | None  # of the next page, where there is one


@dataclass(frozen=True)
class Listing:
    """One container's list: what it can be filtered by, and ordered by (`-` for the largest first)."""

    name: str
    container: str
    clauses: Mapping[str, str]
    sorts: tuple[str, ...]
    always: str = "true"
    fields: tuple[str, ...] = field(default=())

    async def page(
        self, store: Store, *, sort: str, filters: Mapping[str, Any], after: str | None, size: int
    ) -> Page:
        wanted = {name: value for name, value in filters.items() if value is not None}
        bound = _fingerprint(self.name, sort, wanted)
        place = None if after is None else _place(after, bound)
        values = dict(wanted) if place is None else {**wanted, "value": place[0], "last": place[1]}
        query = self.query(set(wanted), sort, place)
        rows = [each async for each in store.query(query, Session(), limit=size + 1, **values)]
        cursor = None
        if len(rows) > size:
            cursor = _cursor(rows[size - 1].get(sort.lstrip("-")), rows[size - 1]["id"], bound)
        return Page(rows[:size], cursor)

    def query(self, filters: set[str], sort: str, place: tuple[str | None, str] | None) -> NamedQuery:
        column, descending = f"c.{sort.lstrip('-')}", sort.startswith("-")
        chosen = [self.always, *(self.clauses[name] for name in sorted(filters))]
        if place is not None:
            chosen.append(_after(column, descending=descending, value=place[0]))
        direction = "DESC" if descending else "ASC"
        selected = ", ".join(f"c.{name}" for name in self.fields) or "*"
        text = (
            f"SELECT {selected} FROM c WHERE {' AND '.join(chosen)}"  # noqa: S608 - clauses of ours; values are parameters
            f" ORDER BY {column} {direction}, c.id {direction} OFFSET 0 LIMIT @limit"
        )
        return NamedQuery(self.name, self.container, text)


def _after(column: str, *, descending: bool, value: str | None) -> str:
    """Cosmos DB compares no value with null, and sorts null before all of them."""
    than = "<" if descending else ">"
    if value is None:
        same = f"(IS_NULL({column}) AND c.id {than} @last)"
        return same if descending else f"({same} OR NOT IS_NULL({column}))"
    later = f"({column} {than} @value OR ({column} = @value AND c.id {than} @last)"
    return f"{later} OR IS_NULL({column}))" if descending else f"{later})"


def _fingerprint(name: str, sort: str, filters: Mapping[str, Any]) -> str:
    text = json.dumps([name, sort, sorted((key, str(value)) for key, value in filters.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _cursor(place: str | None, id_: str, bound: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([bound, place, id_]).encode()).decode().rstrip("=")


def _place(cursor: str, bound: str) -> tuple[str | None, str]:
    try:
        if len(cursor) > LONGEST_CURSOR:
            raise ValueError  # noqa: TRY301 - handled like the rest
        padded = cursor + "=" * (-len(cursor) % 4)
        made_for, place, id_ = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if not (isinstance(place, str | None) and isinstance(id_, str)):
            raise TypeError  # noqa: TRY301 - likewise
    except (ValueError, TypeError, RecursionError):
        raise _refused("is not a cursor of ours") from None
    if made_for != bound:
        raise _refused("was made for another list: keep the filters and the order while you page")
    return place, id_


def _refused(why: str) -> Problem:
    return Problem(422, f"after: {why}", errors=[{"parameter": "after", "detail": why}])
