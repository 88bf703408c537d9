"""Archives over HTTP: upload one, list them, and see how far one has come."""

import re
from typing import Any

import azure.functions as func
from pydantic import Field

from shared.clients.connections import Clients, clients
from shared.clients.outbound import redacted_url
from shared.core.ids import HASH_ID
from shared.documents.archives import Archive, ArchiveStatus
from shared.documents.sources import NAME_PATTERN
from shared.ingestion.errors import ArchiveRemovedError, ArchiveTooLargeError, SourceRemovedError
from shared.ingestion.storing import Stored
from shared.ingestion.unpacking.errors import ArchiveBombError, ArchiveError, CorruptArchiveError
from shared.ingestion.uploads import Upload, take_upload
from shared.pipeline.progress import progress_of
from shared.retrieval.links import api_of, page_of
from shared.retrieval.listing import ARCHIVES
from shared.retrieval.parameters import After, Limit, QueryParameters, SourceName
from shared.retrieval.reports import find_archive
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
from web.multipart import form_parts, parameter
from web.pagination import next_address
from web.parameters import id_of, parse_query, refuse_unknown
from web.problems import Problem, answer

PATH = "/api/archives"
DEFAULT_SOURCE = "uploads"
DEFAULT_FILENAME = "archive"
LONGEST_FILENAME = 500


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
)
async def upload_archive(req: func.HttpRequest) -> func.HttpResponse:
    """Take the file in the body: 202 for a new one, 200 where it was here before."""
    connected = await clients()
    stored = await _taken(_upload(req), connected)
    location = api_of("archives", stored.archive.id)
    body = {**_shown(stored.archive), "duplicate": stored.duplicate, "announced": stored.announced}
    return answer(200 if stored.duplicate else 202, body, Location=location)


@endpoint("archives_list", "GET", "api/archives", {200: ArchiveList}, query=ArchivesAsked)
async def list_archives(req: func.HttpRequest) -> func.HttpResponse:
    """Archives, the newest first."""
    wanted, connected = parse_query(req, ArchivesAsked), await clients()
    filters = {"source": wanted.source, "status": wanted.status and wanted.status.value}
    page = await ARCHIVES.page(connected.store, filters=filters, after=wanted.after, size=wanted.limit)
    items = [_shown(archive) for archive in page.items]
    return answer_json(req, {"items": items, "next": next_address(req, PATH, page.cursor)})


@endpoint("archives_get", "GET", "api/archives/{id}", {200: ArchiveDetail}, ids={"id": HASH_ID})
async def get_archive(req: func.HttpRequest) -> func.HttpResponse:
    """One archive, and how far it has come through the stages."""
    connected = await clients()
    archive = await find_archive(connected, id_of(req, "id", HASH_ID, "archive"))
    progress = await progress_of(archive, connected)
    return answer_json(req, {**_shown(archive), "progress": progress.to_json()})


@endpoint(
    "archives_delete",
    "DELETE",
    "api/archives/{id}",
    {202: OperationAccepted},
    ids={"id": HASH_ID},
    needs_key=True,
)
async def delete_archive(req: func.HttpRequest) -> func.HttpResponse:
    """Delete it with everything that was derived from it; the operation has the receipt."""
    return await accept_removal(await clients(), "archive", id_of(req, "id", HASH_ID, "archive"))


def _upload(req: func.HttpRequest) -> Upload:
    refuse_unknown(req, UploadAsked)
    content: bytes | memoryview = req.get_body()
    named = parameter(req.headers.get("content-disposition", ""), "filename")
    fields: dict[str, str] = {}
    content_type = req.headers.get("content-type", "")
    if content_type.lower().startswith("multipart/form-data"):
        content, named, fields = _form(content_type, req.get_body())
    source = req.params.get("source") or req.headers.get("x-source") or fields.get("source") or DEFAULT_SOURCE
    filename = req.params.get("filename") or req.headers.get("x-filename") or named or DEFAULT_FILENAME
    _check_named(source, filename)
    if not len(content):
        raise Problem(400, "The body is empty: send the archive's file in it.")
    return Upload(content, filename, source)


def _form(content_type: str, body: bytes) -> tuple[memoryview, str | None, dict[str, str]]:
    """The one file of the form, and its text fields."""
    parts = form_parts(content_type, body)
    files = [part for part in parts if part.filename is not None]
    if len(files) != 1:
        raise Problem(400, f"The form has {len(files)} files: send one file in each request.")
    fields = {part.name: bytes(part.content[:1000]).decode("utf-8", "replace") for part in parts}
    return files[0].content, files[0].filename or None, fields


def _check_named(source: str, filename: str) -> None:
    faults = []
    if not re.fullmatch(NAME_PATTERN, source):
        faults.append(
            {"parameter": "source", "detail": "must be letters, digits, '.', '_' or '-', at most 63"}
        )
    if len(filename) > LONGEST_FILENAME or not filename.isprintable():
        faults.append({"parameter": "filename", "detail": f"must be printable, at most {LONGEST_FILENAME}"})
    if faults:
        detail = "; ".join(f"{fault['parameter']}: {fault['detail']}" for fault in faults)
        raise Problem(422, detail, errors=faults)


async def _taken(upload: Upload, connected: Clients) -> Stored:
    try:
        return await take_upload(upload, connected)
    except (ArchiveTooLargeError, ArchiveBombError) as error:
        raise Problem(413, str(error)) from None
    except (SourceRemovedError, ArchiveRemovedError) as error:
        raise Problem(409, str(error)) from None
    except CorruptArchiveError as error:
        raise Problem(422, str(error)) from None
    except ArchiveError as error:
        raise Problem(415, str(error)) from None


def _shown(archive: Archive) -> dict[str, Any]:
    links = {"self": api_of("archives", archive.id), "page": page_of("archives", archive.id)}
    shown = archive.model_dump(mode="json", include=set(ArchiveItem.model_fields))
    return {**shown, "source_url": redacted_url(archive.source_url), "links": links}
