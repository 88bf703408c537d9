"""Operator pages for archives: upload, and the reasons why an archive is not complete."""

import re

import azure.functions as func

from shared.azure.connections import Clients, clients
from shared.ingestion.errors import ArchiveTooLargeError
from shared.ingestion.uploads import (
    PART_BYTES,
    PartedUpload,
    WrongPartError,
    direct_address,
    join_and_request,
    keep_part,
    parts_here,
)
from shared.models.sources import NAME_PATTERN
from shared.operations.oversight.stuck_documents import find_blockers
from shared.views.parameters import page_of
from shared.views.threads import find_archive
from web.access import Visitor, visitor
from web.operator.forms import CLOSED, NEVER_KEPT, back_to, check_sender, operators_page, show_to
from web.parameters import id_of
from web.problems import Problem, answer
from web.rendering import CONTENT_POLICY, content_policy, page
from web.routes import WHOLE_FILES, route
from web.uploads import file_of_form, store_upload, upload_of

LARGEST_MB = 90  # the host limits bodies to 100 MB


@operators_page("operator_upload", "operator/upload")
async def upload_page(req: func.HttpRequest, connected: Clients, who: Visitor) -> func.HttpResponse:
    """Show the upload form. Only the script of this page may write to Blob Storage."""
    direct = connected.settings.DIRECT_UPLOADS
    policy = {CONTENT_POLICY: content_policy(connect=connected.blobs.origin)} if direct else {}
    return show_to(req, who, "operator/upload.html", headers=policy, largest=LARGEST_MB)


@page("operator_uploaded", "operator/upload", "POST", largest=WHOLE_FILES)
async def upload_sent(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    if visitor(req, connected.settings) is None:  # checked before the file is read
        raise Problem(403, CLOSED)
    _, _, fields = file_of_form(req.headers.get("content-type", ""), req.get_body())
    check_sender(req, connected, fields)
    stored = await store_upload(upload_of(req), connected)
    return back_to(page_of("archives", stored.archive.id))


TOKEN = "x-form-token"  # noqa: S105 - a header's name
LONGEST_NAME = 500
LARGEST_NUMBER = 2**53


@route("operator_upload_begin", "operator/upload/parts", "POST")
async def begin(req: func.HttpRequest) -> func.HttpResponse:
    """Return the stored parts of the file, and the address for direct uploads."""
    connected, _ = await _sender(req)
    upload = _upload(req)
    try:
        stored = await parts_here(connected, upload)
    except ArchiveTooLargeError as error:
        raise Problem(413, str(error)) from None
    known = {"part_bytes": PART_BYTES, "count": upload.count, "here": stored}
    return answer(200, {**known, "address": await direct_address(connected, upload)}, **NEVER_KEPT)


@route("operator_upload_part", "operator/upload/parts/{number}", "PUT", largest=WHOLE_FILES)
async def part(req: func.HttpRequest) -> func.HttpResponse:
    connected, _ = await _sender(req)
    number = req.route_params["number"]
    if not re.fullmatch(r"[0-9]{1,8}", number):
        raise Problem(422, "number: must be the number of a part")
    try:
        await keep_part(connected, _upload(req), int(number), req.get_body())
    except WrongPartError as error:
        raise Problem(422, str(error)) from None
    return answer(200, {"kept": int(number)}, **NEVER_KEPT)


@route("operator_upload_end", "operator/upload/end", "POST")
async def end(req: func.HttpRequest) -> func.HttpResponse:
    connected, who = await _sender(req)
    try:
        operation = await join_and_request(connected, _upload(req), f"operator's page: {who.name}")
    except WrongPartError as error:
        raise Problem(409, str(error)) from None
    return answer(202, {"operation_id": operation}, **NEVER_KEPT)


async def _sender(req: func.HttpRequest) -> tuple[Clients, Visitor]:
    connected = await clients()
    return connected, check_sender(req, connected, {"token": req.headers.get(TOKEN, "")})


def _upload(req: func.HttpRequest) -> PartedUpload:
    source, filename = req.params.get("source", ""), req.params.get("filename", "")
    if not re.fullmatch(NAME_PATTERN, source):
        raise Problem(422, "source: must be letters, digits, '.', '_' or '-', at most 63")
    if not filename or len(filename) > LONGEST_NAME or not filename.isprintable():
        raise Problem(422, f"filename: must be printable, at most {LONGEST_NAME}")
    size, modified = (_number(req.params.get(name, ""), name) for name in ("size", "modified"))
    if not size:
        raise Problem(422, "size: the file is empty")
    return PartedUpload(source, filename, size, modified)


def _number(text: str, name: str) -> int:
    if not re.fullmatch(r"[0-9]{1,16}", text) or int(text) > LARGEST_NUMBER:
        raise Problem(422, f"{name}: must be a whole number")
    return int(text)


@operators_page("operator_archive", "operator/archives/{id}")
async def archive_why_page(req: func.HttpRequest, connected: Clients, who: Visitor) -> func.HttpResponse:
    """Show why an archive is not complete. Only operators see errors, because errors may quote mail."""
    archive = await find_archive(connected, id_of(req, "archive"))
    why = await find_blockers(connected, archive.id)
    return show_to(req, who, "operator/archive.html", archive=archive, why=why)
