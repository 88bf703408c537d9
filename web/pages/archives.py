"""Archives: those that were taken in, and how far one has come, live while it runs."""

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.cosmos.session import Session
from shared.core.ids import HASH_ID
from shared.documents.archives import Archive
from shared.documents.containers import read_document
from shared.documents.queries.archives import LATEST_ARCHIVES
from shared.pipeline.progress import progress_of
from shared.retrieval.reports import find_archive
from web.parameters import id_of
from web.rendering import html_errors, show

__all__ = ["blueprint"]

blueprint = func.Blueprint()


@blueprint.function_name("page_archives")
@blueprint.route(route="archives", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def archives_page(req: func.HttpRequest) -> func.HttpResponse:
    store = (await clients()).store
    found = [read_document(Archive, row) async for row in store.query(LATEST_ARCHIVES, Session())]
    return show(req, "pages/archives.html", archives=found)


@blueprint.function_name("page_archive")
@blueprint.route(route="archives/{id}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def archive_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, id_ = await clients(), id_of(req, "id", HASH_ID, "archive")
    archive = await find_archive(connected, id_)
    progress = await progress_of(archive, connected)
    return show(req, "pages/archive.html", archive=archive, progress=progress)
