"""Pages of archives and their progress."""

import asyncio

import azure.functions as func

from shared.ingestion.uploads import note_on_source
from shared.pipeline.progress import progress_of
from shared.views.lists import latest_archives
from shared.views.parameters import QueryParameters, SourceName
from shared.views.threads import find_archive
from web.connected import clients, current_caller
from web.parameters import id_of, parse_query
from web.rendering import page, show


class ArchivesShown(QueryParameters):
    source: SourceName | None = None


@page("page_archives", "archives")
async def archives_page(req: func.HttpRequest) -> func.HttpResponse:
    wanted, connected = parse_query(req, ArchivesShown), await clients()
    found = await latest_archives(connected, wanted.source)
    return show(req, "pages/archives.html", archives=found, source=wanted.source)


@page("page_archive", "archives/{id}")
async def archive_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, id_ = await clients(), id_of(req, "archive")
    archive = await find_archive(connected, id_)
    progress, note = await asyncio.gather(
        progress_of(archive, connected), note_on_source(archive.source, connected)
    )
    return show(
        req,
        "pages/archive.html",
        archive=archive,
        progress=progress,
        note=note,
        operator=current_caller().reads_all,
    )
