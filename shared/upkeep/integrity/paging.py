"""Pages of what a query gives: so much at a time, however much there is."""

from collections.abc import AsyncIterator
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.concurrency import in_pages
from shared.documents.queries.named_query import NamedQuery

__all__ = ["PAGE", "query_pages"]

Row = dict[str, Any]
PAGE = 100


def query_pages(
    clients: Clients, query: NamedQuery, size: int = PAGE, **parameters: Any
) -> AsyncIterator[list[Row]]:
    return in_pages(clients.store.query(query, Session(), **parameters), size)
