"""Mask e-mail addresses in displayed text. The length stays the same, so offsets stay valid."""

import re
from collections.abc import Iterable
from typing import Any

_AT = re.compile(r"(?:@|%40)(?=[^\W_][\w-]*(?:\.[\w-]+)+)")
_LOCAL = re.compile(r"[\w.+!$^{}~-]")
_LINK_START = re.compile(r"[\s\"'<>(]")
_PATH = re.compile(r"(?:https?://[^/?#@]+)?/[mt]/[^?#]*|https?://[^/?#@]+/(?!.*\boptions/)[^?#]*")
LONGEST_LOCAL, LONGEST_LINK = 64, 500
IDS_AND_LINKS = frozenset(
    {
        "message_id", "root_message_id", "in_reply_to", "references", "answers", "parent",
        "links", "next", "page", "query",
    }
)  # fmt: skip
"""JSON fields with message ids, links and the caller's own parameters."""


def mask_addresses(text: str, known: frozenset[str] = frozenset()) -> str:
    """Mask local parts in their length: `b**@example.org`. The `known` addresses come from the caller."""
    pieces, end = [], 0
    for at in _AT.finditer(text):
        start = at.start()
        while start > max(end, at.start() - LONGEST_LOCAL) and _LOCAL.match(text[start - 1]):
            start -= 1
        if start == at.start() or _in_link(text, start):
            continue
        if known and _address_at(text, start, at) in known:
            continue
        pieces += [text[end:start], masked(text[start : at.start()])]
        end = at.start()
    return "".join([*pieces, text[end:]]) if pieces else text


def masked(address: str) -> str:
    """Return `b**@example.org`, which tells people apart but is not an address to write to."""
    local, at, domain = address.rpartition("@")
    local, rest = (local, at + domain) if at else (address, "")
    return (local[:1] + "*" * (len(local) - 1) if len(local) > 1 else "*") + rest


def _in_link(text: str, start: int) -> bool:
    """Return whether the position is in the path of a link, where a Message-ID may be."""
    before = _LINK_START.split(text[max(0, start - LONGEST_LINK) : start])[-1]
    return _PATH.fullmatch(before) is not None


def _address_at(text: str, start: int, at: re.Match[str]) -> str:
    domain = re.compile(r"[\w.-]+").match(text, at.end())
    return f"{text[start : at.start()]}@{domain[0] if domain else ''}".lower().rstrip(".")


def mask_json(value: Any, known: frozenset[str] = frozenset()) -> Any:
    if isinstance(value, str):
        return mask_addresses(value, known)
    if isinstance(value, list):
        return [mask_json(item, known) for item in value]
    if isinstance(value, dict):
        return {name: _masked_field(name, item, known) for name, item in value.items()}
    return value


def addresses_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the addresses in a caller's own parameters."""
    return frozenset(text.strip().lower() for text in texts if "@" in text)


def _masked_field(name: str, item: Any, known: frozenset[str]) -> Any:
    if name in IDS_AND_LINKS:
        return item
    if name == "email" and isinstance(item, str):  # This field may hold any text instead of an address.
        return masked(item) if item and item.lower() not in known else item
    return mask_json(item, known)
