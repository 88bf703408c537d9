"""What the overview pages show: the newest reports, digests and archives, and the lists that there are."""

from typing import TypeVar

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.archives import Archive
from shared.documents.base import Document
from shared.documents.containers import read_document
from shared.documents.queries.archives import LATEST_ARCHIVES, LATEST_ARCHIVES_OF_SOURCE, SOURCE_NAMES
from shared.documents.queries.named_query import NamedQuery
from shared.documents.queries.sources import DEFINED_SOURCES
from shared.documents.reports import Report
from shared.documents.sources import Source
from shared.retrieval.listing import REPORTS

Model = TypeVar("Model", bound=Document)


async def source_names(connected: Clients) -> list[str]:
    """The lists that archives came from, whether they are defined as sources or not."""
    found: list[object] = [name async for name in connected.store.query(SOURCE_NAMES, Session())]
    return sorted({str(name) for name in found})


async def defined_sources(connected: Clients) -> list[Source]:
    return await _read(connected, Source, DEFINED_SOURCES)


async def latest_archives(connected: Clients) -> list[Archive]:
    return await _read(connected, Archive, LATEST_ARCHIVES)


async def latest_archives_of_source(connected: Clients, source: str) -> list[Archive]:
    return await _read(connected, Archive, LATEST_ARCHIVES_OF_SOURCE, source=source)


async def latest_reports(connected: Clients, size: int, **filters: object) -> list[Report]:
    """The current reports of the discussions that had a message last."""
    page = await REPORTS.page(
        connected.store, sort="-last_message_date", filters={"current": True, **filters}, size=size
    )
    return page.items


async def latest_digests(connected: Clients, size: int, **filters: object) -> list[Report]:
    """Digests of weeks and months, sorted by the period in their scope, the latest first."""
    found = await latest_reports(connected, size, digests=True, **filters)
    return sorted(found, key=lambda report: report.scope.rpartition(":")[2], reverse=True)


async def _read(connected: Clients, model: type[Model], query: NamedQuery, **parameters: str) -> list[Model]:
    rows = connected.store.query(query, Session(), **parameters)
    return [read_document(model, row) async for row in rows]
