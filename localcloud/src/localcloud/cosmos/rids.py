"""Resource ids, the service's internal ids. They nest: a document's id starts with its container's id."""

import base64
import os
from itertools import count

_STAMP = os.urandom(4).hex()
_numbers = count(1)


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode().replace("/", "-")


def raw_rid(rid: str) -> bytes:
    return base64.b64decode(rid.replace("-", "/"))


def database_rid() -> str:
    return _encode(os.urandom(4))


def container_rid(database: str) -> str:
    tail = bytearray(os.urandom(4))
    tail[0] |= 0x80  # marks a container
    return _encode(raw_rid(database) + bytes(tail))


def document_rid(container: bytes, k: int) -> str:
    return _encode(container + k.to_bytes(8, "little"))


def document_k(rid: str, container: bytes) -> int | None:
    """Return the document's number in a resource id of this container."""
    try:
        raw = raw_rid(rid)
    except ValueError:
        return None
    return int.from_bytes(raw[8:], "little") if raw[:8] == container and len(raw) == 16 else None  # noqa: PLR2004


def offer_rid() -> str:
    return _encode(os.urandom(3))


def new_etag() -> str:
    """Return an etag in quotes, unique across restarts."""
    return f'"{_STAMP}-0000-0000-0000-{next(_numbers):012x}"'
