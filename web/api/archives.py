"""API of archives: upload, list, progress and deletion."""

from typing import Any

import azure.functions as func
from pydantic import Field

from shared.azure.outbound import redacted_url
from shared.ingestion.uploads import note_on_source
from shared.models.sources import Archive, ArchiveStatus
from shared.pipeline.progress import progress_of
from shared.views.listing import ARCHIVES
from shared.views.parameters import After, Limit, QueryParameters, SourceName, api_of, page_of
from shared.views.threads import find_archive
from web.access import UPLOADERS
from web.api.ingestion_schemas import (
    ArchiveDetail,
    ArchiveItem,
    ArchiveList,
    ArchiveUploaded,
    OperationAccepted,
)
from web.api.openapi import endpoint
from web.api.operations import accept_removal
from web.caching import answer_json
from web.connected import clients, current_caller
from web.limits import Limited
from web.parameters import id_of, next_address, parse_query, refuse_unknown
from web.problems import answer
from web.routes import WHOLE_FILES
from web.uploads import LONGEST_FILENAME, store_upload, upload_of

RESTORED = "The lost file of the archive was restored."


class UploadAsked(QueryParameters):
    source: SourceName | None = None
    filename: str | None = Field(None, max_length=LONGEST_FILENAME)


class ArchivesAsked(QueryParameters):
    source: SourceName | None = None
    status: ArchiveStatus | None = None
    limit: Limit = 50
    after: After = None


@endpoint(
    "archives_upload",
    "POST",
    "api/archives",
    {200: ArchiveUploaded, 202: ArchiveUploaded},
    query=UploadAsked,
    body="application/octet-stream",
    needs_key=True,
    roles=UPLOADERS,
    limited=Limited.UPLOAD,
    largest=WHOLE_FILES,
)
async def upload_archive(req: func.HttpRequest) -> func.HttpResponse:
    """Upload an archive as the body: 202 for a new archive, 200 for a known one."""
    connected = await clients()
    refuse_unknown(req, UploadAsked)
    stored = await store_upload(upload_of(req), connected)
    location = api_of("archives", stored.archive.id)
    note = RESTORED if stored.restored else await note_on_source(stored.archive.source, connected)
    done = {"duplicate": stored.duplicate, "announced": stored.announced, "note": note}
    body = {**_shown(stored.archive), **done}
    return answer(200 if stored.duplicate else 202, body, Location=location)


@endpoint("archives_list", "GET", "api/archives", {200: ArchiveList}, query=ArchivesAsked)
async def list_archives(req: func.HttpRequest) -> func.HttpResponse:
    """Archives, newest first."""
    wanted, connected = parse_query(req, ArchivesAsked), await clients()
    filters = {"source": wanted.source, "status": wanted.status and wanted.status.value}
    page = await ARCHIVES.page(connected.store, filters=filters, after=wanted.after, size=wanted.limit)
    items = [_shown(archive) for archive in page.items]
    return answer_json(req, {"items": items, "next": next_address(req, "/api/archives", page.cursor)})


@endpoint("archives_get", "GET", "api/archives/{id}", {200: ArchiveDetail})
async def get_archive(req: func.HttpRequest) -> func.HttpResponse:
    """One archive with its progress."""
    connected = await clients()
    archive = await find_archive(connected, id_of(req, "archive"))
    progress = await progress_of(archive, connected)
    return answer_json(req, {**_shown(archive), "progress": progress.to_json()})


@endpoint(
    "archives_delete",
    "DELETE",
    "api/archives/{id}",
    {202: OperationAccepted},
    needs_key=True,
)
async def delete_archive(req: func.HttpRequest) -> func.HttpResponse:
    """Delete an archive with everything derived from it. The operation has the receipt."""
    return await accept_removal(await clients(), "archive", id_of(req, "archive"))


def _shown(archive: Archive) -> dict[str, Any]:
    links = {"self": api_of("archives", archive.id), "page": page_of("archives", archive.id)}
    fields = archive.model_dump(mode="json", include=set(ArchiveItem.model_fields))
    if not current_caller().reads_all:
        fields["lastError"] = None  # it can quote mail
    return {**fields, "source_url": redacted_url(archive.source_url), "links": links}
