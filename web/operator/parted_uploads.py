"""Large files from the operator's form, in parts that its script sends: what is here is not sent again."""

import re

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.documents.sources import NAME_PATTERN
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
from web.access import Visitor
from web.operator.forms import NEVER_KEPT, checked_sender
from web.problems import Problem, answer, json_errors

blueprint = func.Blueprint()
TOKEN = "x-form-token"  # noqa: S105 - a header's name
LONGEST_NAME = 500
LARGEST_NUMBER = 2**53


@blueprint.function_name("operator_upload_begin")
@blueprint.route(route="operator/upload/parts", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
@json_errors
async def begin(req: func.HttpRequest) -> func.HttpResponse:
    """Which parts of the file are here already, and where the others may be sent to past this app."""
    connected, _ = await _sender(req)
    upload = _upload(req)
    try:
        here = await parts_here(connected, upload)
    except ArchiveTooLargeError as error:
        raise Problem(413, str(error)) from None
    known = {"part_bytes": PART_BYTES, "count": upload.count, "here": here}
    return answer(200, {**known, "address": await direct_address(connected, upload)}, **NEVER_KEPT)


@blueprint.function_name("operator_upload_part")
@blueprint.route(route="operator/upload/parts/{number}", methods=["PUT"], auth_level=func.AuthLevel.ANONYMOUS)
@json_errors
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


@blueprint.function_name("operator_upload_end")
@blueprint.route(route="operator/upload/end", methods=["POST"], auth_level=func.AuthLevel.ANONYMOUS)
@json_errors
async def end(req: func.HttpRequest) -> func.HttpResponse:
    """Have the file taken in; its operation tells when it is."""
    connected, who = await _sender(req)
    try:
        operation = await join_and_request(connected, _upload(req), f"operator's page: {who.name}")
    except WrongPartError as error:
        raise Problem(409, str(error)) from None
    return answer(202, {"operation_id": operation}, **NEVER_KEPT)


async def _sender(req: func.HttpRequest) -> tuple[Clients, Visitor]:
    connected = await clients()
    return connected, checked_sender(req, connected, {"token": req.headers.get(TOKEN, "")})


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
