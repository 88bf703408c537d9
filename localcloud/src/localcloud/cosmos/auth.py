"""Verification of the master-key signature of a request."""

import base64
import binascii
import hmac
from urllib.parse import unquote

from localcloud.cosmos.errors import unauthorized
from localcloud.httpd import Request

# The emulator's well-known key, which Microsoft publishes and every tool uses as its default.
EMULATOR_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="


_CODES = (("%3D", "="), ("%26", "&"), ("%2B", "+"), ("%2F", "/"))


class Resource:
    """The resource of a request, as its signature names it."""

    def __init__(self, raw_path: str) -> None:
        raw = [part for part in raw_path.split("/") if part]
        self.parts = [unquote(part) for part in raw] if "%" in raw_path else raw
        named = len(raw) - len(raw) % 2  # a feed is signed with its parent's link
        self.kind = raw[-1] if len(raw) % 2 else raw[-2] if raw else ""
        if raw and raw[-1] == "partitionkeydelete":
            self.kind, named = "colls", len(raw) - 2
        self.link, self.raw_link = "/".join(self.parts[:named]), "/".join(raw[:named])


class Authenticator:
    def __init__(self, key: str) -> None:
        try:
            self._key = base64.b64decode(key, validate=True)
        except binascii.Error:
            raise ValueError("--key is not base64") from None

    def check(self, request: Request, resource: Resource) -> None:
        kind, _, signature = _decoded(request.headers.get("authorization", "")).partition("&sig=")
        if not kind.startswith("type=master") or not signature:
            raise unauthorized("Required Header authorization is missing or is not a master-key signature")
        given = signature.encode()
        # Clients sign names decoded or URL-encoded, and resource ids in lower case.
        for link in (resource.link, resource.raw_link, resource.link.rpartition("/")[2].lower()):
            if hmac.compare_digest(self._sign(request, resource.kind, link), given):
                return
        raise unauthorized(
            "The input authorization token can't serve the request: the signature does not fit "
            f"'{request.method.lower()} {resource.kind} {resource.link}' under the account's key"
        )

    def _sign(self, request: Request, kind: str, link: str) -> bytes:
        date = request.headers.get("x-ms-date", "").lower()
        plain_date = "" if date else request.headers.get("date", "").lower()
        text = f"{request.method.lower()}\n{kind.lower()}\n{link}\n{date}\n{plain_date}\n"
        return base64.b64encode(hmac.digest(self._key, text.encode(), "sha256"))


def _decoded(header: str) -> str:
    """Return the header without URL encoding. Clients encode only the four characters of _CODES."""
    for code, character in _CODES:
        header = header.replace(code, character)
    return unquote(header) if "%" in header else header
