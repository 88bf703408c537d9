"""Pages of lists: all lists, one list with its calls and threads, and its timeline."""

import asyncio
from dataclasses import dataclass

import azure.functions as func

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.reports import Report
from shared.models.sources import Source
from shared.models.threads import Thread
from shared.models.values import Genre
from shared.views.lists import (
    BANDS,
    ListAsked,
    MonthOfList,
    calls_of_list,
    defined_sources,
    latest_archives,
    latest_digests,
    source_names,
    threads_of_list,
    timeline_of_list,
)
from web.access import is_operator
from web.connected import clients
from web.formatting import KINDS
from web.pages.reading_view import call_state
from web.parameters import list_named, next_address, parse_query
from web.problems import Problem
from web.rendering import page, show

A_PAGE = 40
DIGESTS = 8
GENRES = {
    Genre.CALL: "Calls and votes",
    Genre.PROPOSAL: "Proposals",
    Genre.PATCH: "Patches",
    Genre.QUESTION: "Questions",
    Genre.REPORT: "Reports",
    Genre.ANNOUNCEMENT: "Announcements",
    Genre.DISCUSSION: "Discussions",
}
CHOICES = {
    "genre": {genre.value: words for genre, words in GENRES.items()},
    "outcome": {kind.value: words for kind, (words, _) in KINDS.items()},
    "sort": {"activity": "Recent activity", "date": "Newest first", "size": "Most messages"},
}


@page("page_sources", "sources")
async def sources_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    names, sources = await asyncio.gather(source_names(connected), defined_sources(connected))
    defined = {source.name: source for source in sources}
    rows = [(name, defined.get(name)) for name in sorted({*names, *defined})]
    return show(req, "pages/sources.html", rows=rows, operator=is_operator(req, connected.settings))


@page("page_source", "sources/{name}")
async def source_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, name = await clients(), list_named(req)
    wanted = parse_query(req, ListAsked, form=True)
    threads, source, (calls, digests) = await asyncio.gather(
        threads_of_list(connected, name, wanted, A_PAGE),
        connected.store.find(Source, name, Session()),
        _calls_and_digests(connected, name, wanted),
    )
    nothing = not threads.items and not wanted.narrowed and source is None
    if nothing and not await latest_archives(connected, name):
        raise Problem(404, "There is no list with this name.")
    today = connected.runtime.now().date()
    return show(
        req,
        "pages/source.html",
        name=name,
        sends_mail=connected.settings.sends_mail,
        # The server's message about a failed fetch may contain private links or names.
        fetch_error=source.last_fetch_error if source and is_operator(req, connected.settings) else None,
        wanted=wanted,
        choices=CHOICES,
        calls=[(call, call_state(call.open_call.ends, today)) for call in calls if call.open_call],
        threads=threads.items,
        following=next_address(req, f"/sources/{name}", threads.cursor),
        digests=digests,
    )


async def _calls_and_digests(
    connected: Clients, name: str, wanted: ListAsked
) -> tuple[list[Thread], list[Report]]:
    """Return calls and digests, which are shown only on the first page of the unfiltered list."""
    if wanted.narrowed:
        return [], []
    return await asyncio.gather(
        calls_of_list(connected, name), latest_digests(connected, DIGESTS, source=name)
    )


HEIGHT, BAR, GAP = 120.0, 22.0, 6.0
LEAST = 1.5  # so that a single thread is visible in a tall chart


@dataclass(frozen=True)
class DrawnPart:
    band: str
    y: float
    height: float


@dataclass(frozen=True)
class DrawnMonth:
    month: MonthOfList
    x: float
    label: str
    parts: list[DrawnPart]


@page("page_timeline", "sources/{name}/timeline")
async def timeline_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, name = await clients(), list_named(req)
    months = await timeline_of_list(connected, name)
    if not months:
        raise Problem(404, "There is no list with this name, or none of its mail is processed yet.")
    drawn = drawn_months(months)
    return show(
        req,
        "pages/timeline.html",
        name=name,
        months=drawn,
        bands=list(BANDS),
        width=round(len(drawn) * (BAR + GAP) + GAP, 2),
        height=HEIGHT,
        bar=BAR,
    )


def drawn_months(months: list[MonthOfList]) -> list[DrawnMonth]:
    most = max(month.threads for month in months) or 1
    return [
        DrawnMonth(
            month, round(GAP + place * (BAR + GAP), 2), _label(month, first=place == 0), _parts(month, most)
        )
        for place, month in enumerate(months)
    ]


def _label(month: MonthOfList, *, first: bool) -> str:
    return month.month[:4] if first or month.month.endswith("-01") else ""


def _parts(month: MonthOfList, most: int) -> list[DrawnPart]:
    parts, y = [], HEIGHT
    for band in BANDS:
        if month.bands[band]:
            height = max(HEIGHT * month.bands[band] / most, LEAST)
            y -= height
            parts.append(DrawnPart(band, round(max(y, 0.0), 2), round(height, 2)))
    return parts
