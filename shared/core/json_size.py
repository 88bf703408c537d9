"""How large a document will be, without writing it."""

import marshal
from typing import Any

_PLAIN = bytes(code for code in range(0x20, 0x7F) if chr(code) not in '"\\')


def json_bytes_at_most(stored: dict[str, Any]) -> int:
    """A quick bound on the bytes of its JSON: what is not plain becomes an escape of six at most.

    The marks and lengths that marshal puts before each value outweigh JSON's quotes, colons and commas.
    """
    data = marshal.dumps(stored, 2)
    return len(data) + 5 * len(data.translate(None, _PLAIN))
