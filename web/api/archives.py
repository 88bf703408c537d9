"""Archives over HTTP: upload one, list them, and see how far one has come."""

import re
from typing import Any

import azure.functions as func
from pydantic import Field

from shared.clients.connections import Clients, clients
from shared.clients.cosmos.session import Session
from shared.clients.outbound import redacted_url
from shared.core.ids import HASH_ID
from shared.documents.archives import Archive, ArchiveStatus
from shared.documents.containers import read_document
from shared.documents.queries.named_query import NamedQuery
from shared.documents.sources import NAME_PATTERN
from shared.ingestion.errors import ArchiveTooLargeError, SourceRemovedError
from shared.ingestion.storing import Stored
from shared.ingestion.unpacking.errors import ArchiveBombError, ArchiveError, CorruptArchiveError
from shared.ingestion.uploads import Upload, take_upload
from shared.pipeline.progress import progress_of
from shared.retrieval.links import page_of_archive
from shared.retrieval.parameters import HashId, Limit, QueryParameters, SourceName
from web.api.ingestion_schemas import (
    ArchiveDetail,
    ArchiveItem,
    ArchiveList,
    ArchiveUploaded,
    OperationAccepted,
)
from web.api.openapi import documented
from web.api.removals import accept_removal
from web.caching import answer_json
from web.multipart import form_parts, parameter
from web.pagination import page, page_size
from web.problems import Problem, answer, json_errors

__all__ = ["blueprint"]

blueprint = func.Blueprint()
PATH = "/api/archives"
DEFAULT_SOURCE = "uploads"
DEFAULT_FILENAME = "archive"
LONGEST_FILENAME = 500
_ID = re.compile(r"[0-9a-f]{16}")


class UploadAsked(QueryParameters):
    source: SourceName | None = None
    filename: str | None = Field(None, max_length=LONGEST_FILENAME)


class ArchivesAsked(QueryParameters):
    source: SourceName | None = None
    status: ArchiveStatus | None = None
    limit: Limit = 50
    after: HashId | None = None


def archives_query(filters: set[str]) -> NamedQuery:
    """The newest first; by source and status, and after an archive, where those are asked for."""
    clauses = {
        "source": "c.source = @source",
        "status": "c.status = @status",
        "id": "(c.ingestion_date < @date OR (c.ingestion_date = @date AND c.id < @id))",
    }
    chosen = [clause for name, clause in clauses.items() if name in filters] or ["true"]
    text = (
        f"SELECT * FROM c WHERE {' AND '.join(chosen)}"  # noqa: S608 - clauses of ours; values are parameters
        " ORDER BY c.ingestion_date DESC, c.id DESC OFFSET 0 LIMIT @limit"
    )
    return NamedQuery("archives", "archives", text)


@blueprint.function_name("archives_upload")
@blueprint.route(route="api/archives", methods=["POST"], auth_level=func.AuthLevel.FUNCTION)
@documented(
    "POST",
    "api/archives",
    {200: ArchiveUploaded, 202: ArchiveUploaded},
    query=UploadAsked,
    body="application/octet-stream",
    needs_key=True,
)
@json_errors
async def upload_archive(req: func.HttpRequest) -> func.HttpResponse:
    """Take the file in the body: 202 for a new one, 200 where it was here before."""
    connected = await clients()
    stored = await _taken(_upload(req), connected)
    location = f"{PATH}/{stored.archive.id}"
    body = {**_shown(stored.archive), "duplicate": stored.duplicate, "announced": stored.announced}
    return answer(200 if stored.duplicate else 202, body, Location=location)


@blueprint.function_name("archives_list")
@blueprint.route(route="api/archives", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@documented("GET", "api/archives", {200: ArchiveList}, query=ArchivesAsked)
@json_errors
async def list_archives(req: func.HttpRequest) -> func.HttpResponse:
    """Archives, the newest first."""
    store, size = (await clients()).store, page_size(req)
    wanted: dict[str, Any] = {name: req.params[name] for name in ("source", "status") if name in req.params}
    if "status" in wanted and wanted["status"] not in set(ArchiveStatus):
        fault = {"parameter": "status", "detail": f"must be one of {', '.join(ArchiveStatus)}"}
        raise Problem(422, f"status: {fault['detail']}", errors=[fault])
    if "after" in req.params:
        last = await _found(req.params["after"], await clients())
        wanted |= {"date": last.to_cosmos()["ingestion_date"], "id": last.id}
    query = archives_query(set(wanted))
    rows = [each async for each in store.query(query, Session(), limit=size + 1, **wanted)]
    found = [read_document(Archive, each) for each in rows]
    return answer_json(req, page(req, PATH, found, size, _shown, lambda each: each.id))


@blueprint.function_name("archives_get")
@blueprint.route(route="api/archives/{id}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@documented("GET", "api/archives/{id}", {200: ArchiveDetail}, ids={"id": HASH_ID})
@json_errors
async def get_archive(req: func.HttpRequest) -> func.HttpResponse:
    """One archive, and how far it has come through the stages."""
    connected = await clients()
    archive = await _found(req.route_params["id"], connected)
    return answer_json(
        req, {**_shown(archive), "progress": (await progress_of(archive, connected)).to_json()}
    )


@blueprint.function_name("archives_delete")
@blueprint.route(route="api/archives/{id}", methods=["DELETE"], auth_level=func.AuthLevel.FUNCTION)
@documented("DELETE", "api/archives/{id}", {202: OperationAccepted}, ids={"id": HASH_ID}, needs_key=True)
@json_errors
async def delete_archive(req: func.HttpRequest) -> func.HttpResponse:
    """Delete it with everything that was derived from it; the operation has the receipt."""
    connected, id_ = await clients(), req.route_params["id"]
    if not _ID.fullmatch(id_):
        raise Problem(404, "There is no archive with this id.")
    return await accept_removal(connected, "archive", id_)


def _upload(req: func.HttpRequest) -> Upload:
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
    except SourceRemovedError as error:
        raise Problem(409, str(error)) from None
    except CorruptArchiveError as error:
        raise Problem(422, str(error)) from None
    except ArchiveError as error:
        raise Problem(415, str(error)) from None


async def _found(id_: str, connected: Clients) -> Archive:
    archive = None
    if _ID.fullmatch(id_):
        archive = await connected.store.find(Archive, id_, id_, Session())
    if archive is None:
        raise Problem(404, "There is no archive with this id.")
    return archive


def _shown(archive: Archive) -> dict[str, Any]:
    links = {"self": f"{PATH}/{archive.id}", "page": page_of_archive(archive.id)}
    shown = archive.model_dump(mode="json", include=set(ArchiveItem.model_fields))
    return {**shown, "source_url": redacted_url(archive.source_url), "links": links}
