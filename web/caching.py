"""Responses with ETags, which clients revalidate with If-None-Match.

All responses are created here, and addresses are masked for callers that may not see them.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import azure.functions as func
from pydantic import BaseModel

from shared.azure.access import current_caller
from shared.mail.masking import addresses_in, mask_addresses, mask_json

REVALIDATE = "no-cache"  # a client may keep the response but must revalidate it before use
NOT_SNIFFED = {"X-Content-Type-Options": "nosniff"}
UNMASKED = frozenset({"application/json", "application/gzip"})  # JSON is masked before, value by value
# For responses that show an operator more than a reader.
BY_CALLER = {"Cache-Control": "private, no-cache", "Vary": "x-operator-key, x-ms-client-principal"}


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def matches(wanted: str | None, etag: str) -> bool:
    """Return whether the ETag matches If-None-Match, which compares weakly (RFC 9110, 13.1.2)."""
    if not wanted:
        return False
    named = [tag.strip().removeprefix("W/") for tag in wanted.split(",")]
    return "*" in named or etag.removeprefix("W/") in named


def answer_of(
    req: func.HttpRequest,
    body: bytes,
    mimetype: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    etag: str | None = None,
) -> func.HttpResponse:
    if mimetype not in UNMASKED:
        body = _mask(req, body)
    all_headers = {"Cache-Control": REVALIDATE, **(headers or {})}
    if status == 200:  # noqa: PLR2004 - only successful responses have an ETag
        all_headers["ETag"] = etag or etag_of(body)
        if req.method in {"GET", "HEAD"} and matches(req.headers.get("if-none-match"), all_headers["ETag"]):
            return func.HttpResponse(None, status_code=304, headers=all_headers)
    return func.HttpResponse(
        body, status_code=status, mimetype=mimetype, charset="utf-8", headers=all_headers
    )


def answer_json(
    req: func.HttpRequest, body: Any, *, etag: str | None = None, headers: Mapping[str, str] | None = None
) -> func.HttpResponse:
    known = None if current_caller().sees_addresses else addresses_in(req.params.values())
    masked = body if known is None else mask_json(body, known)
    return answer_of(
        req,
        json.dumps(masked, ensure_ascii=False).encode(),
        "application/json",
        headers={**NOT_SNIFFED, **(headers or {})},
        etag=etag,
    )


def answer_with(req: func.HttpRequest, model: BaseModel) -> func.HttpResponse:
    return answer_json(req, model.model_dump(mode="json", by_alias=True))


def _mask(req: func.HttpRequest, body: bytes) -> bytes:
    """Mask addresses in the body, except addresses that the request contains."""
    if current_caller().sees_addresses or (b"@" not in body and b"%40" not in body):
        return body
    return mask_addresses(body.decode(), addresses_in(req.params.values())).encode()
