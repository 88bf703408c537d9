"""A page makes few calls to the services, regardless of its length."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import azure.functions as func
import pytest

from shared.azure import connections
from shared.azure.access import Caller, readable_sources
from shared.azure.calls import Calls
from shared.settings.app import settings
from tests.web.site import Site
from web.pages.archives import archive_page
from web.pages.drafts import draft_page, drafts_page
from web.pages.home import home_page
from web.pages.report import report_page
from web.pages.search import search_page
from web.pages.sources import source_page, sources_page, timeline_page
from web.pages.thread import thread_page

Page = Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]


def function_of(declared: Any) -> Page:
    """Return the function as the worker calls it."""
    page: Page = declared.build(None).get_user_function()
    return page


async def asked(calls: Counter[str], declared: Any, path: str, **parts: str) -> Counter[str]:
    mode = parts.pop("mode", "words")
    params = {"q": parts.pop("q"), "mode": mode} if "q" in parts else {}
    request = func.HttpRequest("GET", f"http://x{path}", params=params, route_params=parts, body=b"")
    calls.clear()
    response = await function_of(declared)(request)
    assert response.status_code == 200, response.get_body()[:500]
    return Counter(calls)


@pytest.fixture
def calls(site: Site, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count every call to a service in its measurement. This process is connected to the site."""
    counted: Counter[str] = Counter()
    measured = Calls.measured

    @asynccontextmanager
    async def counting(self: Calls, operation: str, **more: Any) -> AsyncIterator[None]:
        counted[operation] += 1
        async with measured(self, operation, **more):
            yield

    monkeypatch.setattr(Calls, "measured", counting)
    for name, value in site.environ.items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()
    return counted


@pytest.mark.requirement("R-215")
def test_a_page_asks_for_what_it_shows_in_a_few_calls(site: Site, calls: Counter[str]) -> None:
    thread = site.thread("Mandatory-to-implement")
    digest = site.json("/api/reports?type=weekly&limit=1")["items"][0]

    async def measure() -> dict[str, int]:
        # Every process reads this once, at its first request: a public site has no closed source.
        assert await readable_sources(await connections.clients(), Caller()) is None
        assert calls.pop("query.source_readers") == 1
        pages: dict[str, Counter[str]] = {
            "home": await asked(calls, home_page, "/"),
            "thread": await asked(calls, thread_page, "/", id=thread["thread_id"]),
            "report": await asked(calls, report_page, "/", id=thread["report_id"]),
            "digest": await asked(calls, report_page, "/", id=digest["report_id"]),
            "sources": await asked(calls, sources_page, "/"),
            "source": await asked(calls, source_page, "/", name="tally"),
            "months": await asked(calls, timeline_page, "/", name="tally"),
            "drafts": await asked(calls, drafts_page, "/"),
            "draft": await asked(calls, draft_page, "/", name="draft-ietf-tally-receipts"),
            "search": await asked(calls, search_page, "/", q="receipt"),
            "by_outcome": await asked(calls, search_page, "/", q="receipt outcome:accepted -json"),
            "hybrid": await asked(calls, search_page, "/", q="receipt outcome:accepted -json", mode="hybrid"),
            "archive": await asked(calls, archive_page, "/", id=site.archives["tally"]),
        }
        assert calls["query.source_readers"] == 0
        await connections._connected.close()
        # An outcome filter also reads the readings, so three services answer. The encoder is in the process.
        assert set(pages["hybrid"]) == {"query.readings_of_threads", "encode", "search", "read_many"}
        assert pages["hybrid"]["search"] == pages["hybrid"]["read_many"] == pages["hybrid"]["encode"] == 1
        return {name: calls.total() for name, calls in pages.items()}

    try:
        found = asyncio.run(measure())
    finally:
        settings.cache_clear()
    # Access by source adds no calls on a public site.
    exactly = {"home": 6, "thread": 5, "sources": 4, "source": 6}
    assert {name: found[name] for name in exactly} == exactly
    # A query makes a call for each page. The last page shows that no more follows.
    most = {"home": 6, "thread": 5, "report": 3, "digest": 4, "sources": 4, "source": 7, "months": 4, "drafts": 1, "draft": 4, "search": 2, "by_outcome": 4, "hybrid": 5, "archive": 24}  # fmt: skip
    assert {name: count for name, count in found.items() if count > most[name]} == {}, found
