"""The search page: passages with what was found in them, narrowed by list, sender, draft and year."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import azure.functions as func

from shared.clients.classify import SDK_ERRORS
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.search.fields import Filters
from shared.documents.threads import Thread
from shared.domain.mail.masking import masked
from shared.retrieval.read_models import FoundItem
from shared.retrieval.search import SearchAsked, SearchResult, find
from web.connected import clients
from web.limits import Limited
from web.parameters import parse_query
from web.rendering import page, show

log = logging.getLogger(__name__)
FACETS = {"source": "List", "sender": "Sender", "draft": "Draft or RFC", "year": "Year"}
FIELDS = {"source": "source", "sender": "sender", "draft_mentions": "draft"}


@dataclass(frozen=True)
class Choice:
    """A value that the search can be narrowed to, or is."""

    label: str
    count: int
    address: str
    chosen: bool


@page("page_search", "search", limited=Limited.SEARCH)
async def search_page(req: func.HttpRequest) -> func.HttpResponse:
    if not req.params.get("q", "").strip():
        return show(req, "pages/search.html", wanted=None)
    known = {field.alias or name for name, field in SearchAsked.model_fields.items()}
    given = {name: value for name, value in req.params.items() if name in known and value}
    wanted = parse_query(func.HttpRequest("GET", req.url, params=given, body=b""), SearchAsked)
    connected = await clients()
    found = await find(connected, wanted)
    items = found.items
    threads = await _threads(connected, items)
    parameters = wanted.parameters()
    return show(
        req,
        "pages/search.html",
        query=wanted.q,
        wanted=wanted,
        found=found,
        found_in=_by_thread(items),
        threads=threads,
        facets=_facets(found, parameters, await _names(connected, found, threads.values())),
        hidden={name: value for name, value in parameters.items() if name not in {"q", "skip"}},
        before=_page(parameters, wanted.skip - wanted.limit) if wanted.skip else None,
        after=_page(parameters, found.following) if found.following else None,
    )


def _by_thread(items: Sequence[FoundItem]) -> dict[str, list[FoundItem]]:
    """The passages of each thread, which stands once: in the place of its best passage."""
    found: dict[str, list[FoundItem]] = {}
    for item in items:
        found.setdefault(item.thread_id, []).append(item)
    return found


async def _threads(connected: Clients, items: Sequence[FoundItem]) -> dict[str, Thread]:
    """The outcomes of the threads that passages were found in, in one call."""
    keys = list(dict.fromkeys(item.thread_id for item in items))
    try:
        return await connected.store.find_many(Thread, keys, Session()) if keys else {}
    except SDK_ERRORS:  # hits without what came of their threads are better than none
        log.warning("the outcomes of the threads of a search could not be read", exc_info=True)
        return {}


async def _names(connected: Clients, found: SearchResult, threads: Iterable[Thread]) -> dict[str, str]:
    """The senders' names by address. A sender whose passages are on another page is asked for."""
    names = {person.email.lower(): person.name for thread in threads for person in thread.participants}
    payloads = [hit.payload for hit in found.hits]
    senders = [facet.value for facet in found.hits.facets.get("sender", ()) if facet.count]
    unknown = [address for address in senders if not names.get(address)]
    try:
        asked = (connected.index.search(None, filters=Filters(sender=address), top=1) for address in unknown)
        payloads += [hit.payload for hits in await asyncio.gather(*asked) for hit in hits]
    except SDK_ERRORS:
        log.warning("the names of the senders of a search could not be read", exc_info=True)
    named = [payload for payload in payloads if payload.get("sender_name")]
    return names | {payload.get("sender", ""): payload["sender_name"] for payload in named}


def _page(parameters: Mapping[str, Any], skip: int) -> str:
    kept = {name: value for name, value in parameters.items() if name != "skip"}
    return f"/search?{urlencode({**kept, 'skip': skip} if skip > 0 else kept)}"


def _facets(
    found: SearchResult, parameters: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, list[Choice]]:
    made: dict[str, list[Choice]] = {title: [] for title in FACETS.values()}
    for name, values in found.hits.facets.items():
        for facet in filter(lambda value: value.count, values):
            if name == "date":
                choice = _year(facet.value[:4], facet.count, parameters)
                made[FACETS["year"]].append(choice)
                continue
            field = FIELDS[name]
            label = names.get(facet.value) or masked(facet.value) if field == "sender" else facet.value
            changed = {field: facet.value}
            made[FACETS[field]].append(_choice(label, facet.count, changed, parameters))
    made[FACETS["year"]].reverse()
    return {title: choices for title, choices in made.items() if choices}


def _year(year: str, count: int, parameters: Mapping[str, Any]) -> Choice:
    return _choice(year, count, {"from": f"{year}-01-01", "to": f"{year}-12-31"}, parameters)


def _choice(label: str, count: int, changed: Mapping[str, str], parameters: Mapping[str, Any]) -> Choice:
    """A link that sets or removes this filter, and goes back to the first page."""
    chosen = all(str(parameters.get(name, "")).lower() == value.lower() for name, value in changed.items())
    kept = {name: value for name, value in parameters.items() if name not in {"skip", *changed}}
    address = f"/search?{urlencode(kept if chosen else {**kept, **changed})}"
    return Choice(label, count, address, chosen)
