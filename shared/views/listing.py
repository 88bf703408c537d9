"""Lists from Cosmos DB, filtered, sorted and paged by opaque cursors.

A cursor names the last item of a page for one sort order and its filters. A forged cursor can only skip
items.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.core.errors import InvalidCursorError
from shared.models.base import Document
from shared.models.containers import read_document
from shared.models.queries.named_query import ListPosition, ListQuery
from shared.models.queries.operations import ARCHIVE_LIST, SOURCE_LIST
from shared.models.queries.reports import REPORT_LIST
from shared.models.queries.threads import CHUNK_LIST, THREAD_LIST
from shared.models.reports import Report
from shared.models.sources import Archive, Source
from shared.models.threads import Chunk, Thread

Model = TypeVar("Model", bound=Document)
LONGEST_CURSOR = 1000


@dataclass(frozen=True)
class Page(Generic[Model]):
    items: list[Model]
    cursor: str | None  # of the next page, None on the last page


@dataclass(frozen=True)
class Listing(Generic[Model]):
    model: type[Model]
    query: ListQuery

    async def page(
        self,
        store: Store,
        *,
        size: int,
        sort: str | None = None,
        filters: Mapping[str, Any] | None = None,
        after: str | None = None,
    ) -> Page[Model]:
        """Return one page. A filter that is None is not applied, and the first sort order is the default."""
        sort = sort or self.query.sorts[0]
        chosen = {name: value for name, value in (filters or {}).items() if value is not None}
        if store.readable is not None and "readable" in self.query.filters:
            chosen["readable"] = sorted(store.readable)
        binding = _fingerprint(self.query.name, sort, chosen)
        position = None if after is None else _position(after, binding)
        values = chosen if position is None else {**chosen, "value": position[0], "last": position[1]}
        query = self.query.page(chosen.keys(), sort, position)
        # One additional row shows whether another page follows.
        rows = [row async for row in store.query(query, Session(), limit=size + 1, **values)]
        cursor = None
        if len(rows) > size:
            cursor = _cursor(rows[size - 1].get(sort.lstrip("-")), rows[size - 1]["id"], binding)
        return Page([read_document(self.model, row) for row in rows[:size]], cursor)


ARCHIVES = Listing(Archive, ARCHIVE_LIST)
CHUNKS = Listing(Chunk, CHUNK_LIST)
REPORTS = Listing(Report, REPORT_LIST)
SOURCES = Listing(Source, SOURCE_LIST)
THREADS = Listing(Thread, THREAD_LIST)


def _fingerprint(name: str, sort: str, filters: Mapping[str, Any]) -> str:
    text = json.dumps([name, sort, sorted((key, str(value)) for key, value in filters.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _cursor(value: str | int | None, id_: str, binding: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([binding, value, id_]).encode()).decode().rstrip("=")


def _position(cursor: str, binding: str) -> ListPosition:
    try:
        if len(cursor) > LONGEST_CURSOR:
            raise ValueError  # noqa: TRY301 - handled like the errors below
        padded = cursor + "=" * (-len(cursor) % 4)
        bound_to, value, id_ = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if not (isinstance(value, str | int | None) and isinstance(id_, str)):
            raise TypeError  # noqa: TRY301 - handled like the errors below
    except (ValueError, TypeError, RecursionError):
        raise InvalidCursorError("is not a cursor of this API") from None
    if bound_to != binding:
        raise InvalidCursorError("belongs to another request. Keep filters and order while paging")
    return value, id_
