"""The links to archives on index pages, and the recognition of public-inbox pages."""

import re
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser
from yarl import URL

MAX_FILES = 1000
# A text file counts as mail only if its name is a month or a year.
_ARCHIVE = re.compile(
    r"(?P<stem>.+\.(?:mbox|mail)|(?:19|20)\d\d(?:[-_.]?(?:\d\d?|[A-Za-z]{3,9}|q[1-4]))?\.txt)"
    r"(?P<packed>\.(?:gz|bz2|xz))?",
    re.IGNORECASE,
)
_INBOX_HELP = re.compile(r"(?:^|/)_/text/(?:help|mirror)/?$")


def archive_links(page: bytes, address: URL) -> list[URL]:
    """Return the archives in or below the folder of the page, in page order, compressed copies preferred."""
    chosen: dict[str, URL] = {}
    for link in _links(page, address):
        match = _ARCHIVE.fullmatch(unquote(link.name))
        if match is None or not _is_below(link, address):
            continue
        stem = str(link.with_name(match["stem"]))
        if stem not in chosen or match["packed"]:
            chosen[stem] = link
    return list(chosen.values())[:MAX_FILES]


def is_public_inbox(page: bytes, address: URL) -> bool:
    """Return whether the page links to an inbox's help, as every public-inbox page does."""
    return any(_INBOX_HELP.search(link.path) and _is_below(link, address) for link in _links(page, address))


def _links(page: bytes, address: URL) -> list[URL]:
    found = []
    for anchor in LexborHTMLParser(page.decode("utf-8", "replace")).css("a[href]"):
        try:
            link = address.join(URL((anchor.attributes.get("href") or "").strip()))
        except ValueError:  # Not an address.
            continue
        if link.scheme in {"http", "https"}:
            found.append(link.with_fragment(None) if link.name else link)
    return found


def _is_below(link: URL, address: URL) -> bool:
    folder = address.path.rpartition("/")[0] + "/"
    return link.origin() == address.origin() and link.path.startswith(folder)
