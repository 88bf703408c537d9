"""Fetch over HTTP: files, index pages (pipermail) and public-inbox. Interrupted transfers are resumed."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import date, timedelta
from typing import Any, TypeVar
from urllib.parse import unquote

import aiohttp
from yarl import URL

from shared.azure.classify import retry_after_seconds
from shared.azure.outbound import FetchError, SourceError, check_http_url, checked_connector, redacted_url
from shared.ingestion.fetcher import IDLE_SECONDS, FetchContext, Fetched, Spool
from shared.ingestion.index_pages import archive_links
from shared.models.sources import Source

Result = TypeVar("Result")
MAX_REDIRECTS = 5
CONNECT_SECONDS = 30.0
PIECE = 64 * 1024
REDIRECTS = frozenset({301, 302, 303, 307, 308})
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
OK, PARTIAL, NOT_MODIFIED, NOT_FOUND, RANGE_NOT_SATISFIABLE = 200, 206, 304, 404, 416
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(?:\d{1,18}|\*)")


def http_session(context: FetchContext) -> aiohttp.ClientSession:
    """Return a session that connects to checked addresses only and does not decompress content."""
    return aiohttp.ClientSession(
        connector=checked_connector(context.policy),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=IDLE_SECONDS),
        auto_decompress=False,  # A compressed archive stays compressed.
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "rough-consensus", "Accept-Encoding": "identity"},
    )


async def fetch_http(source: Source, context: FetchContext) -> AsyncGenerator[Fetched, None]:
    """Yield the file at the source's address, unless the cursor has this version."""
    with context.spool() as spool:
        transfer = HttpTransfer(source, context, spool)
        if await context.retried(transfer.attempt, source):
            yield Fetched(spool.file(transfer.filename), source.url, transfer.cursor())


class HttpTransfer:
    """The transfer of one file. A new attempt continues after the stored bytes if the file is unchanged."""

    def __init__(self, source: Source, context: FetchContext, spool: Spool, *, search: bool = False) -> None:
        self._source = source
        self._search = search
        self._context = context
        self._spool = spool
        self._known = source.cursor if source.cursor.get("url") == source.url else {}
        self._etag: str | None = None
        self._last_modified: str | None = None
        self.filename = source.name

    def cursor(self) -> dict[str, Any]:
        return {"url": self._source.url, "etag": self._etag, "last_modified": self._last_modified}

    async def attempt(self) -> bool:
        """Fetch the file. Return False if there is no new version."""
        return await self._follow(self._take)

    async def _follow(self, take: Callable[[aiohttp.ClientResponse], Awaitable[Result]]) -> Result:
        url = check_http_url(self._source.url, self._context.policy)
        where, method = redacted_url(self._source.url), "POST" if self._search else "GET"
        try:
            async with http_session(self._context) as session:
                for _ in range(MAX_REDIRECTS + 1):
                    request = session.request(
                        method, url, headers=self._conditional_headers(), allow_redirects=False
                    )
                    async with request as response:
                        if response.status not in REDIRECTS:
                            return await take(response)
                        url = self._next_hop(url, response.headers.get("Location"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise FetchError(f"{where}: {type(error).__name__}: {error}") from error
        raise SourceError(f"{where}: more than {MAX_REDIRECTS} redirects")

    async def beginning(self, most: int, seconds: float) -> bytes:
        """Return the first bytes at the address, at most `most`."""

        async def take(response: aiohttp.ClientResponse) -> bytes:
            self._check_status(response)
            pieces = b""
            while len(pieces) < most and (piece := await response.content.read(most - len(pieces))):
                pieces += piece
            return pieces

        try:
            async with asyncio.timeout(seconds):
                return await self._follow(take)
        except TimeoutError:
            where = redacted_url(self._source.url)
            raise FetchError(f"{where}: no complete answer within {seconds:g} s") from None

    def _next_hop(self, url: URL, location: str | None) -> URL:
        if not location:
            raise SourceError(f"{redacted_url(url)}: a redirect without a target")
        try:
            following = url.join(URL(location))
        except ValueError as error:
            raise SourceError(f"{redacted_url(url)}: a redirect to a malformed address: {error}") from None
        if url.scheme == "https" and following.scheme != "https":
            raise SourceError(f"{redacted_url(url)}: a redirect from https to {following.scheme}")
        return check_http_url(str(following), self._context.policy)

    def _conditional_headers(self) -> dict[str, str]:
        # A strong ETag proves that the rest belongs to the stored bytes. A weak ETag does not.
        strong = self._etag if self._etag and not self._etag.startswith("W/") else None
        validator = strong or self._last_modified
        if self._spool.size and validator is None:
            self._spool.restart()
        if self._spool.size and validator:
            return {"Range": f"bytes={self._spool.size}-", "If-Range": validator}
        named = {
            "If-None-Match": self._known.get("etag"),
            "If-Modified-Since": self._known.get("last_modified"),
        }
        return {name: value for name, value in named.items() if value}

    async def _take(self, response: aiohttp.ClientResponse) -> bool:
        if response.status == NOT_MODIFIED and not self._spool.size:
            return False
        if response.status == NOT_FOUND and self._search:
            return False
        self._check_status(response)
        headers = response.headers
        match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        if response.status == OK:
            self._spool.restart()
            self._etag, self._last_modified = headers.get("ETag"), headers.get("Last-Modified")
            self.filename = unquote(response.url.name) or self._source.name
        elif match is None or int(match[1]) != self._spool.size:
            self._spool.restart()
            raise FetchError(
                f"{redacted_url(response.url)}: the server sent another part than requested; starting over"
            )
        self._spool.check(self._spool.size + (response.content_length or 0))
        async for piece in response.content.iter_chunked(PIECE):
            self._spool.write(piece)
        return True

    def _check_status(self, response: aiohttp.ClientResponse) -> None:
        status = response.status
        if status in {OK, PARTIAL}:
            return
        where = f"{redacted_url(response.url)}: the server answered {status}"
        if status == RANGE_NOT_SATISFIABLE:
            self._spool.restart()
            raise FetchError(f"{where}; starting over")
        if status in BUSY:
            raise FetchError(where, retry_after_seconds(response.headers))
        raise SourceError(f"{where}; check the source's address")


LARGEST_PAGE = 4 * 1024 * 1024


async def fetch_index(source: Source, context: FetchContext) -> AsyncGenerator[Fetched, None]:
    """Yield the new or changed files of an index page. The cursor has the version of each address."""
    known = source.cursor.get("files", {}) if source.cursor.get("url") == source.url else {}
    seen = dict(known)
    page = source.model_copy(update={"cursor": {}})  # The page itself is read every time.
    with Spool(context.folder / "index", LARGEST_PAGE) as spool:
        await context.retried(HttpTransfer(page, context, spool).attempt, source)
        links = archive_links(spool.file("index").path.read_bytes(), URL(source.url))
    if not links:
        raise SourceError(
            f"{redacted_url(source.url)}: the page lists no archives (.mbox, .mail, or .txt named by a month)"
        )
    for link in links:
        file = source.model_copy(update={"url": str(link), "cursor": known.get(str(link), {})})
        with context.spool() as spool:
            transfer = HttpTransfer(file, context, spool)
            if not await context.retried(transfer.attempt, source):
                continue
            seen = {**seen, file.url: transfer.cursor()}
            cursor = {"url": source.url, "files": seen}
            yield Fetched(spool.file(transfer.filename), file.url, cursor)


FIRST_FETCH = timedelta(days=90)
LATE = timedelta(days=2)  # A month is fetched once more after its end, because servers accept late mails.


async def fetch_public_inbox(source: Source, context: FetchContext) -> AsyncGenerator[Fetched, None]:
    today = context.clients.runtime.now().date()
    month, following = today, _begin(source, today)
    while following <= today:
        month, following = following, _following(following)
        search = source.model_copy(update={"url": str(month_address(source.url, month)), "cursor": {}})
        with context.spool() as spool:
            transfer = HttpTransfer(search, context, spool, search=True)
            if not await context.retried(transfer.attempt, source):
                continue
            resumed = following if today >= following + LATE else month
            cursor = {"url": source.url, "from": resumed.isoformat()}
            yield Fetched(spool.file(f"{month:%Y-%m}.mbox.gz"), source.url, cursor)


def month_address(inbox: str, month: date) -> URL:
    """Return the address of the search for the mails that arrived in the month."""
    address = URL(inbox)
    if not address.path.endswith("/"):
        raise SourceError(f"{redacted_url(inbox)}: the address of a public-inbox ends with a slash")
    last = _following(month) - timedelta(days=1)
    return address.with_query({"q": f"rt:{month:%Y%m%d}..{last:%Y%m%d}", "x": "m"})


def _begin(source: Source, today: date) -> date:
    kept = source.cursor.get("from") if source.cursor.get("url") == source.url else None
    since = kept or source.settings.get("since")
    first = date.fromisoformat(since) if since else today - FIRST_FETCH
    return first.replace(day=1)


def _following(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)
