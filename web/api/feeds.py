"""Feeds of reports by list, draft, thread, person or outcome, and of calls, also as a calendar."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import azure.functions as func

from shared.azure import connections
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.reports import Report, Summary
from shared.models.sources import NAME_PATTERN
from shared.models.values import OutcomeKind
from shared.publishing.feeds import ATOM, CALENDAR, CallEnd, Feed, atom_feed, calendar_of, entry_of
from shared.views.listing import REPORTS
from shared.views.parameters import PATTERN, page_of
from web.access import OPEN, check_people_shown
from web.api.openapi import Answers, endpoint
from web.caching import NOT_SNIFFED, answer_of, etag_of
from web.connected import clients, set_caller
from web.formatting import bare_subject
from web.parameters import asked_thread, draft_named, id_of, list_named, origin_of
from web.problems import Problem
from web.routes import Handler, route
from web.sessions import caller_of_feed

ENTRIES = 50
LIST, KIND = {"name": NAME_PATTERN}, {"kind": rf"^({'|'.join(OutcomeKind)})$"}


FEEDS: dict[re.Pattern[str], Handler] = {}


def feed(name: str, path: str, answers: Answers, **described: Any) -> Callable[[Handler], Any]:
    """Register a feed at its open address and at the secret address of each account."""

    def register(handler: Handler) -> Any:
        FEEDS[re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))] = handler
        return endpoint(name, "GET", f"api/feeds/{path}", answers, **described)(handler)

    return register


@feed("feeds_source", "sources/{name}", {200: ATOM}, ids=LIST)
async def feed_of_source(req: func.HttpRequest) -> func.HttpResponse:
    """The latest reports of a list."""
    name = list_named(req)
    page = page_of("sources", name)
    return await _feed(req, "source", name, f"Reports on {name}", page, source=name)


@feed("feeds_calls", "sources/{name}/calls", {200: ATOM}, ids=LIST)
async def feed_of_calls(req: func.HttpRequest) -> func.HttpResponse:
    """Calls and votes of a list without a result."""
    name = list_named(req)
    page = page_of("sources", name)
    return await _feed(req, "calls", name, f"Open calls on {name}", page, source=name, open_call=True)


@feed("feeds_calendar", "sources/{name}/calendar", {200: CALENDAR}, ids=LIST)
async def calendar_of_calls(req: func.HttpRequest) -> func.HttpResponse:
    """Deadlines of a list's calls and votes as an iCal calendar."""
    connected, name = await clients(), list_named(req)
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
        for report in await _reports(connected, source=name, open_call=True)
        if report.open_call and report.open_call.ends
    ]
    saved = {"Content-Disposition": f'inline; filename="{name}.ics"'}
    body = calendar_of(f"Calls on {name}", calls)
    return answer_of(req, body, CALENDAR, headers={**NOT_SNIFFED, **saved})


@feed("feeds_outcome", "outcomes/{kind}", {200: ATOM}, ids=KIND)
async def feed_of_outcome(req: func.HttpRequest) -> func.HttpResponse:
    """The latest threads with this outcome on all lists."""
    kind = req.route_params["kind"]
    if kind not in set(OutcomeKind):
        raise Problem(404, f"Unknown outcome. Known outcomes: {', '.join(OutcomeKind)}.")
    return await _feed(req, "outcome", kind, f"Outcome: {kind}", "/", outcome=kind)


@feed("feeds_person", "people/{id}", {200: ATOM})
async def feed_of_person(req: func.HttpRequest) -> func.HttpResponse:
    """The latest reports of a person's threads, if pages about people are on."""
    check_people_shown(req, (await clients()).settings)
    id_ = id_of(req, "person")
    page = page_of("people", id_)
    return await _feed(req, "person", id_, "Threads of one person", page, person=id_, type="thread")


@feed("feeds_draft", "drafts/{name}", {200: ATOM}, ids={"name": PATTERN})
async def feed_of_draft(req: func.HttpRequest) -> func.HttpResponse:
    """The latest reports on a draft (any version) or RFC."""
    name = draft_named(req)
    return await _feed(req, "draft", name, f"Reports on {name}", page_of("drafts", name), draft=name)


@feed("feeds_thread", "threads/{id}", {200: ATOM})
async def feed_of_thread(req: func.HttpRequest) -> func.HttpResponse:
    """The report of a thread: one entry, updated with each new summary."""
    _, thread = await asked_thread(req)
    title, page = bare_subject(thread.subject) or "No subject", page_of("threads", thread.id)
    return await _feed(req, "thread", thread.id, title, page, thread=thread.id, type="thread")


async def _feed(
    req: func.HttpRequest, kind: str, name: str, title: str, page: str, **filters: object
) -> func.HttpResponse:
    connected = await clients()
    feed = Feed(kind, name, title, quote(urlsplit(req.url).path, safe="/%"), page)
    reports = await _reports(connected, **filters)
    keys = [(report.summary_id, report.scope) for report in reports]
    summaries = await connected.store.find_many_in(Summary, keys, Session())
    entries = [
        entry_of(report, summaries.get(report.summary_id), page_of("reports", report.report_id))
        for report in reports
    ]
    body = atom_feed(feed, entries, origin_of(req, connected.settings), connected.runtime.now())
    # An empty feed contains the time of the request, so the ETag of its content would always change.
    etag = None if entries else etag_of(feed.self_path.encode())
    return answer_of(req, body, ATOM, headers=NOT_SNIFFED, etag=etag)


async def _reports(connected: Clients, **filters: object) -> list[Report]:
    page = await REPORTS.page(connected.store, filters=filters, size=ENTRIES)
    return page.items


@route("feeds_private", "feeds/private/{key}/{*feed}", roles=OPEN)
async def private_feed(req: func.HttpRequest) -> func.HttpResponse:
    """Return a feed by the secret address of an account, for programs that cannot sign in."""
    caller = await caller_of_feed(await connections.clients(), req.route_params.get("key", ""))
    asked = req.route_params.get("feed", "")
    matches = [(handler, named) for path, handler in FEEDS.items() if (named := path.fullmatch(asked))]
    if caller is None or not matches:
        raise Problem(404, "This address is wrong, has expired or was revoked.")
    set_caller(caller)
    handler, named = matches[0]
    values = {name: unquote(value) for name, value in named.groupdict().items()}
    return await handler(
        func.HttpRequest(
            req.method, req.url, headers=req.headers, params=req.params, route_params=values, body=b""
        )
    )
