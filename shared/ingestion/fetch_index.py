"""A page that lists archives (pipermail, a folder of mboxes): each that is new or has changed."""

from collections.abc import AsyncGenerator

from yarl import URL

from shared.clients.outbound import SourceError, redacted_url
from shared.documents.sources import Source
from shared.ingestion.fetch_http import HttpTransfer
from shared.ingestion.fetcher import FetchContext, Fetched
from shared.ingestion.index_pages import archive_links
from shared.ingestion.spool import Spool

LARGEST_PAGE = 4 * 1024 * 1024


async def fetch_index(source: Source, around: FetchContext) -> AsyncGenerator[Fetched, None]:
    """The cursor knows each file by its address, with what its server says of its version."""
    known = source.cursor.get("files", {}) if source.cursor.get("url") == source.url else {}
    seen = dict(known)
    for link in await listed_archives(source, around):
        file = source.model_copy(update={"url": str(link), "cursor": known.get(str(link), {})})
        with around.spool() as spool:
            transfer = HttpTransfer(file, around, spool)
            if not await around.retried(transfer.attempt, source):
                continue
            spool.flush()
            seen = {**seen, file.url: transfer.cursor()}
            cursor = {"url": source.url, "files": seen}
            yield Fetched(spool.path, spool.sha256, spool.size, transfer.filename, file.url, cursor)


async def listed_archives(source: Source, around: FetchContext) -> list[URL]:
    page = source.model_copy(update={"cursor": {}})  # the page itself is always read anew
    with Spool(around.folder / "index", LARGEST_PAGE) as spool:
        await around.retried(HttpTransfer(page, around, spool).attempt, source)
        spool.flush()
        links = archive_links(spool.path.read_bytes(), URL(source.url))
    if not links:
        raise SourceError(
            f"{redacted_url(source.url)}: the page lists no archives (.mbox, .mail, or .txt named by a month)"
        )
    return links
