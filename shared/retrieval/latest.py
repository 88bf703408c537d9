"""What the overview pages show: the newest reports, digests and archives, and the lists that there are."""

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.queries.operations import (
    DEFINED_SOURCES,
    LATEST_ARCHIVES,
    LATEST_ARCHIVES_OF_SOURCE,
    SOURCE_NAMES,
)
from shared.documents.reports import Report
from shared.documents.sources import Archive, Source
from shared.retrieval.listing import REPORTS


async def source_names(connected: Clients) -> list[str]:
    """The lists that archives came from, whether they are defined as sources or not."""
    found: list[object] = [name async for name in connected.store.query(SOURCE_NAMES, Session())]
    return sorted({str(name) for name in found})


async def defined_sources(connected: Clients) -> list[Source]:
    return await connected.store.query_documents(Source, DEFINED_SOURCES, Session())


async def latest_archives(connected: Clients) -> list[Archive]:
    return await connected.store.query_documents(Archive, LATEST_ARCHIVES, Session())


async def latest_archives_of_source(connected: Clients, source: str) -> list[Archive]:
    return await connected.store.query_documents(Archive, LATEST_ARCHIVES_OF_SOURCE, Session(), source=source)


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
