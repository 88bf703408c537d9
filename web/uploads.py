"""Uploads of archives by the API or by an operator's form."""

import re

import azure.functions as func

from shared.azure.connections import Clients
from shared.ingestion.errors import (
    ArchiveBombError,
    ArchiveError,
    ArchiveRemovedError,
    ArchiveTooLargeError,
    CorruptArchiveError,
    SourceRemovedError,
)
from shared.ingestion.storing import Stored
from shared.ingestion.uploads import Upload, take_upload
from shared.models.sources import NAME_PATTERN
from web.forms import form_parts, parameter
from web.problems import Problem

DEFAULT_SOURCE = "uploads"
DEFAULT_FILENAME = "archive"
LONGEST_FILENAME = 500


def upload_of(req: func.HttpRequest) -> Upload:
    content: bytes | memoryview = req.get_body()
    named = parameter(req.headers.get("content-disposition", ""), "filename")
    fields: dict[str, str] = {}
    content_type = req.headers.get("content-type", "")
    if content_type.lower().startswith("multipart/form-data"):
        content, named, fields = file_of_form(content_type, req.get_body())
    source = req.params.get("source") or req.headers.get("x-source") or fields.get("source") or DEFAULT_SOURCE
    filename = req.params.get("filename") or req.headers.get("x-filename") or named or DEFAULT_FILENAME
    _check_named(source, filename)
    if not len(content):
        raise Problem(400, "The body is empty. Send the archive file as the body.")
    return Upload(content, filename, source)


def file_of_form(content_type: str, body: bytes) -> tuple[memoryview, str | None, dict[str, str]]:
    parts = form_parts(content_type, body)
    files = [part for part in parts if part.filename is not None]
    if len(files) != 1:
        raise Problem(400, f"The form has {len(files)} files. Send one file per request.")
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


async def store_upload(upload: Upload, connected: Clients) -> Stored:
    """Store and announce the archive. An invalid or too large file is a problem of the request."""
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
