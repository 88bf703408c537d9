"""Lists in pages: `limit` items, and the address of the next page while there is one."""

import re
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

import azure.functions as func

from web.problems import Problem

__all__ = ["next_address", "page", "page_size"]

Item = TypeVar("Item")
DEFAULT_SIZE = 50
LARGEST_SIZE = 200


def page_size(req: func.HttpRequest) -> int:
    text = req.params.get("limit", str(DEFAULT_SIZE))
    if not (re.fullmatch(r"[0-9]{1,6}", text) and 1 <= int(text) <= LARGEST_SIZE):
        fault = {"parameter": "limit", "detail": f"must be a number from 1 to {LARGEST_SIZE}"}
        raise Problem(422, f"limit: {fault['detail']}", errors=[fault])
    return int(text)


def page(
    req: func.HttpRequest,
    path: str,
    found: list[Item],
    size: int,
    show: Callable[[Item], dict[str, Any]],
    key: Callable[[Item], str],
) -> dict[str, Any]:
    """The page out of one item more than it holds: that one tells whether there is another page."""
    shown = found[:size]
    following = None
    if len(found) > size:
        kept = {name: value for name, value in req.params.items() if name not in {"after", "code"}}
        following = f"{path}?{urlencode({**kept, 'after': key(shown[-1])})}"
    return {"items": [show(each) for each in shown], "next": following}


def next_address(req: func.HttpRequest, path: str, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    kept = {name: value for name, value in req.params.items() if name not in {"after", "code"}}
    return f"{path}?{urlencode({**kept, 'after': cursor})}"
