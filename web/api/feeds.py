"""Feeds: the latest reports of a list, a draft, a thread or an outcome; calls, also as a calendar."""

import re
from urllib.parse import quote, urlsplit

import azure.functions as func

from shared.clients.connections import Clients, clients
from shared.clients.cosmos.session import Session
from shared.core.ids import HASH_ID
from shared.documents.reports import Report, Summary
from shared.documents.sources import NAME_PATTERN
from shared.documents.values import OutcomeKind
from shared.publishing.feeds import CallEnd, Feed, atom_feed, calendar_of, entry_of
from shared.retrieval.listing import REPORTS
from shared.retrieval.parameters import PATTERN, page_of
from shared.retrieval.threads import resolved_thread
from web.api.openapi import endpoint
from web.caching import NOT_SNIFFED, answer_of, etag_of
from web.formatting import bare_subject
from web.origin import origin_of
from web.parameters import draft_named, id_of
from web.people_access import check_people_shown
from web.problems import Problem

ENTRIES = 50
ATOM = "application/atom+xml"
CALENDAR = "text/calendar"
KIND = rf"^({'|'.join(OutcomeKind)})$"


@endpoint("feeds_source", "GET", "api/feeds/sources/{name}", {200: ATOM}, ids={"name": NAME_PATTERN})
async def feed_of_source(req: func.HttpRequest) -> func.HttpResponse:
    """The latest reports of a list."""
    name = _list_named(req)
    feed = Feed("source", name, f"Reports on {name}", _own(req), page_of("sources", name))
    return await _answer(req, feed, {"source": name})


@endpoint("feeds_calls", "GET", "api/feeds/sources/{name}/calls", {200: ATOM}, ids={"name": NAME_PATTERN})
async def feed_of_calls(req: func.HttpRequest) -> func.HttpResponse:
    """Calls and votes of a list without a result."""
    name = _list_named(req)
    feed = Feed("calls", name, f"Open calls on {name}", _own(req), page_of("sources", name))
    return await _answer(req, feed, {"source": name, "open_call": True})


@endpoint(
    "feeds_calendar",
    "GET",
    "api/feeds/sources/{name}/calendar",
    {200: CALENDAR},
    ids={"name": NAME_PATTERN},
)
async def calendar_of_calls(req: func.HttpRequest) -> func.HttpResponse:
    """Deadlines of a list's calls and votes as an iCal calendar."""
    connected, name = await clients(), _list_named(req)
    filters = {"source": name, "open_call": True, "current": True}
    page = await REPORTS.page(connected.store, filters=filters, size=ENTRIES)
    origin = origin_of(req, connected.settings)
    calls = [
        CallEnd(
            report.scope,
            bare_subject(report.title),
            report.open_call.question,
            report.open_call.ends,
            report.published_at,
            origin + page_of("threads", report.thread_id or report.scope),
        )
        for report in page.items
        if report.open_call and report.open_call.ends
    ]
    saved = {"Content-Disposition": f'inline; filename="{name}.ics"'}
    body = calendar_of(f"Calls on {name}", calls)
    return answer_of(req, body, CALENDAR, headers={**NOT_SNIFFED, **saved})


@endpoint("feeds_outcome", "GET", "api/feeds/outcomes/{kind}", {200: ATOM}, ids={"kind": KIND})
async def feed_of_outcome(req: func.HttpRequest) -> func.HttpResponse:
    """The latest threads with this outcome on all lists."""
    kind = req.route_params["kind"]
    if kind not in set(OutcomeKind):
        raise Problem(404, f"Unknown outcome. Known outcomes: {', '.join(OutcomeKind)}.")
    feed = Feed("outcome", kind, f"Outcome: {kind}", _own(req), "/")
    return await _answer(req, feed, {"outcome": kind})


@endpoint("feeds_person", "GET", "api/feeds/people/{id}", {200: ATOM}, ids={"id": HASH_ID})
async def feed_of_person(req: func.HttpRequest) -> func.HttpResponse:
    """The latest reports of a person's threads, if pages about people are on."""
    check_people_shown(req, (await clients()).settings)
    id_ = id_of(req, "id", HASH_ID, "person")
    feed = Feed("person", id_, "Threads of one person", _own(req), page_of("people", id_))
    return await _answer(req, feed, {"person": id_, "type": "thread"})


@endpoint("feeds_draft", "GET", "api/feeds/drafts/{name}", {200: ATOM}, ids={"name": PATTERN})
async def feed_of_draft(req: func.HttpRequest) -> func.HttpResponse:
    """The latest reports on a draft (any version) or RFC."""
    name = draft_named(req)
    feed = Feed("draft", name, f"Reports on {name}", _own(req), page_of("drafts", name))
    return await _answer(req, feed, {"draft": name})


@endpoint("feeds_thread", "GET", "api/feeds/threads/{id}", {200: ATOM}, ids={"id": HASH_ID})
async def feed_of_thread(req: func.HttpRequest) -> func.HttpResponse:
    """The report of a thread: one entry, updated with each new summary."""
    thread = await resolved_thread(await clients(), id_of(req, "id", HASH_ID, "thread"))
    title = bare_subject(thread.subject) or "No subject"
    feed = Feed("thread", thread.id, title, _own(req), page_of("threads", thread.id))
    return await _answer(req, feed, {"thread": thread.id, "type": "thread"})


async def _answer(req: func.HttpRequest, feed: Feed, filters: dict[str, object]) -> func.HttpResponse:
    connected = await clients()
    page = await REPORTS.page(connected.store, filters={**filters, "current": True}, size=ENTRIES)
    summaries = await _summaries(connected, page.items)
    entries = [
        entry_of(report, summaries.get(report.summary_id), page_of("reports", report.id))
        for report in page.items
    ]
    origin = origin_of(req, connected.settings)
    body = atom_feed(feed, entries, origin, connected.runtime.now())
    # An empty feed holds the time of the request, so its content would give a new ETag every time.
    etag = None if entries else etag_of(feed.self_path.encode())
    return answer_of(req, body, ATOM, headers=NOT_SNIFFED, etag=etag)


async def _summaries(connected: Clients, reports: list[Report]) -> dict[str, Summary]:
    keys = [(report.summary_id, report.scope) for report in reports]
    return await connected.store.find_many(Summary, keys, Session())


def _list_named(req: func.HttpRequest) -> str:
    name = str(req.route_params["name"])
    if not re.fullmatch(NAME_PATTERN, name):
        raise Problem(404, "There is no list with this name.")
    return name


def _own(req: func.HttpRequest) -> str:
    return quote(urlsplit(req.url).path, safe="/%")
