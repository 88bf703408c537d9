"""A list kept by public-inbox (lore.kernel.org and others): its mails by the month in which they came.

public-inbox answers a search with an mbox. A month that is over is asked for once, the present one each time;
mails that came before are known by their Message-ID.
"""

from collections.abc import AsyncGenerator, Iterator
from datetime import date, timedelta

from yarl import URL

from shared.clients.outbound import SourceError, redacted_url
from shared.documents.sources import Source
from shared.ingestion.fetch_http import HttpTransfer
from shared.ingestion.fetcher import FetchContext, Fetched

FIRST_FETCH = timedelta(days=90)
LATE = timedelta(days=2)  # a month is asked for once more after its end: servers take in late mails


async def fetch_public_inbox(source: Source, around: FetchContext) -> AsyncGenerator[Fetched, None]:
    today = around.now().date()
    for month in _months(_begin(source, today), today):
        asked = source.model_copy(update={"url": str(month_address(source.url, month)), "cursor": {}})
        with around.spool() as spool:
            transfer = HttpTransfer(asked, around, spool, search=True)
            if not await around.retried(transfer.attempt, source):
                continue
            spool.flush()
            cursor = {"url": source.url, "from": _resumes_at(month, today).isoformat()}
            yield Fetched(spool.path, spool.sha256, spool.size, f"{month:%Y-%m}.mbox.gz", source.url, cursor)


def month_address(inbox: str, month: date) -> URL:
    """The search that answers with the mails that came in the month."""
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


def _months(first: date, today: date) -> Iterator[date]:
    while first <= today:
        yield first
        first = _following(first)


def _following(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)


def _resumes_at(month: date, today: date) -> date:
    return _following(month) if today >= _following(month) + LATE else month
