"""Bound the size of a JSON document without writing it."""

import marshal
from typing import Any

_PLAIN = bytes(code for code in range(0x20, 0x7F) if chr(code) not in '"\\')


def json_bytes_at_most(stored: dict[str, Any]) -> int:
    """Return an upper bound on the JSON bytes. Marshal adds more than JSON, and an escape has at most six."""
    data = marshal.dumps(stored, 2)
    return len(data) + 5 * len(data.translate(None, _PLAIN))
