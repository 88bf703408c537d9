"""The address of the next page of a list."""

from urllib.parse import urlencode

import azure.functions as func

_LEFT_OUT = frozenset({"after", "code"})  # the cursor of this page, and the function's key


def next_address(req: func.HttpRequest, path: str, cursor: str | None) -> str | None:
    """The same request from this cursor on; None where the list ends."""
    if cursor is None:
        return None
    given = {name: value for name, value in req.params.items() if name not in _LEFT_OUT}
    return f"{path}?{urlencode({**given, 'after': cursor})}"
