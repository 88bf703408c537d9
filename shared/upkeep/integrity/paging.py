"""Pages of what a query gives: so much at a time, however much there is."""

from collections.abc import AsyncIterator
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.queries.named_query import NamedQuery

__all__ = ["in_pages", "query_pages"]

Row = dict[str, Any]
PAGE = 100


async def in_pages(rows: AsyncIterator[Row], size: int = PAGE) -> AsyncIterator[list[Row]]:
    page: list[Row] = []
    async for row in rows:
        page.append(row)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page


def query_pages(
    clients: Clients, query: NamedQuery, size: int = PAGE, **parameters: Any
) -> AsyncIterator[list[Row]]:
    return in_pages(clients.store.query(query, Session(), **parameters), size)
