"""Pages that list archives, and pages of public-inbox: which links on them lead to mail."""

import re
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser
from yarl import URL

MAX_FILES = 1000
# A text file may be anything: only one that is named by its month or year is taken for mail.
_ARCHIVE = re.compile(
    r"(?P<stem>.+\.(?:mbox|mail)|(?:19|20)\d\d(?:[-_.]?(?:\d\d?|[A-Za-z]{3,9}|q[1-4]))?\.txt)"
    r"(?P<packed>\.(?:gz|bz2|xz))?",
    re.IGNORECASE,
)
_INBOX_HELP = re.compile(r"(?:^|/)_/text/(?:help|mirror)/?$")


def archive_links(page: bytes, address: URL) -> list[URL]:
    """The archives beside or below the page, in its order; of one that is there twice, the packed one."""
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
    """Every page of an inbox links to its help and to how it is mirrored."""
    return any(_INBOX_HELP.search(link.path) and _is_below(link, address) for link in _links(page, address))


def _links(page: bytes, address: URL) -> list[URL]:
    found = []
    for anchor in LexborHTMLParser(page.decode("utf-8", "replace")).css("a[href]"):
        try:
            link = address.join(URL((anchor.attributes.get("href") or "").strip()))
        except ValueError:  # no address at all
            continue
        if link.scheme in {"http", "https"}:
            found.append(link.with_fragment(None) if link.name else link)
    return found


def _is_below(link: URL, address: URL) -> bool:
    folder = address.path.rpartition("/")[0] + "/"
    return link.origin() == address.origin() and link.path.startswith(folder)
