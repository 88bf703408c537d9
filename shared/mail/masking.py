"""E-mail addresses in what is shown, masked in their length: offsets into a text stay true."""

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
"""Fields of JSON with ids of messages, links, and what the caller asked for."""


def mask_addresses(text: str, known: frozenset[str] = frozenset()) -> str:
    """The text with the local part of each e-mail address masked, in its length: `b**@example.org`.

    An address that the caller gave is `known`. A Message-ID in a link is no address.
    """
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
    """`b**@example.org`: enough to tell people apart, too little to write to them."""
    local, at, domain = address.rpartition("@")
    local, rest = (local, at + domain) if at else (address, "")
    return (local[:1] + "*" * (len(local) - 1) if len(local) > 1 else "*") + rest


def _in_link(text: str, start: int) -> bool:
    """Whether it is in the path of a link, where a Message-ID stands: a link to a person is no such path."""
    before = _LINK_START.split(text[max(0, start - LONGEST_LINK) : start])[-1]
    return _PATH.fullmatch(before) is not None


def _address_at(text: str, start: int, at: re.Match[str]) -> str:
    domain = re.compile(r"[\w.-]+").match(text, at.end())
    return f"{text[start : at.start()]}@{domain[0] if domain else ''}".lower().rstrip(".")


def mask_json(value: Any, known: frozenset[str] = frozenset()) -> Any:
    """JSON with the addresses in its texts masked."""
    if isinstance(value, str):
        return mask_addresses(value, known)
    if isinstance(value, list):
        return [mask_json(item, known) for item in value]
    if isinstance(value, dict):
        return {name: _masked_field(name, item, known) for name, item in value.items()}
    return value


def addresses_in(texts: Iterable[str]) -> frozenset[str]:
    """What a caller's own parameters name."""
    return frozenset(text.strip().lower() for text in texts if "@" in text)


def _masked_field(name: str, item: Any, known: frozenset[str]) -> Any:
    if name in IDS_AND_LINKS:
        return item
    if name == "email" and isinstance(item, str):  # whatever a header has in the place of an address
        return masked(item) if item and item.lower() not in known else item
    return mask_json(item, known)
