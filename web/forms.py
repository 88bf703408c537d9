"""Parsing of forms, with size limits."""

from email.message import Message
from email.parser import BytesHeaderParser
from typing import NamedTuple
from urllib.parse import parse_qs

import azure.functions as func

from web.problems import Problem

LARGEST_FORM = 4096
MOST_FIELDS = 20


def form_of(req: func.HttpRequest, largest: int = LARGEST_FORM) -> dict[str, str]:
    body = req.get_body()
    if len(body) > largest:
        raise Problem(413, "The form is too large.")
    try:
        given = parse_qs(body.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Problem(413, "The form has too many fields.") from None
    return {name: values[-1] for name, values in given.items()}


MAX_PARTS = 20
MAX_BOUNDARY = 70
MAX_HEADER_BYTES = 8192


class FormPart(NamedTuple):
    name: str
    filename: str | None
    content: memoryview


def parameter(header: str, name: str) -> str | None:
    """Return a parameter of a header such as Content-Disposition, in either encoding."""
    message = Message()
    message["Content-Disposition"] = " ".join(header.split())
    value = message.get_param(name, header="content-disposition")
    if isinstance(value, tuple):
        charset, _, text = value
        return text.encode("latin-1", "replace").decode(
            charset if charset == "utf-8" else "latin-1", "replace"
        )
    return value


def form_parts(content_type: str, body: bytes) -> list[FormPart]:
    boundary = parameter(content_type, "boundary")
    if not boundary or len(boundary) > MAX_BOUNDARY or not boundary.isascii():
        raise Problem(400, "Content-Type: multipart/form-data needs a boundary.")
    delimiter = b"\r\n--" + boundary.encode()
    view, parts = memoryview(body), list[FormPart]()
    position = 0 if body.startswith(delimiter[2:]) else body.find(delimiter) + 2
    start = position + len(delimiter) - 2
    while position >= 0 and body[start : start + 2] == b"\r\n" and len(parts) < MAX_PARTS:
        end = body.find(delimiter, start)
        if end < 0:
            raise Problem(400, "The multipart body is incomplete.")
        parts.append(_part(body, view, start + 2, end))
        start = end + len(delimiter)
    return parts


def _part(body: bytes, view: memoryview, start: int, end: int) -> FormPart:
    blank = body.find(b"\r\n\r\n", start, min(end, start + MAX_HEADER_BYTES))
    if blank < 0:
        raise Problem(400, "A part of the multipart body has no headers.")
    headers = BytesHeaderParser().parsebytes(body[start : blank + 2])
    disposition = str(headers.get("Content-Disposition", ""))
    return FormPart(
        parameter(disposition, "name") or "", parameter(disposition, "filename"), view[blank + 4 : end]
    )
