"""The lists, and one list's page: its threads, digests and archives."""

import asyncio
import re

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.cosmos.session import Session
from shared.documents.sources import NAME_PATTERN, Source
from shared.retrieval.latest import defined_sources, latest_archives_of_source, latest_digests, source_names
from shared.retrieval.listing import THREADS
from web.access import is_operator
from web.pagination import next_address
from web.problems import Problem
from web.rendering import html_errors, show

blueprint = func.Blueprint()
A_PAGE = 40


@blueprint.function_name("page_sources")
@blueprint.route(route="sources", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def sources_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    names, sources = await asyncio.gather(source_names(connected), defined_sources(connected))
    defined = {source.name: source for source in sources}
    rows = [(name, defined.get(name)) for name in sorted({*names, *defined})]
    return show(req, "pages/sources.html", rows=rows, operator=is_operator(req, connected.settings))


@blueprint.function_name("page_source")
@blueprint.route(route="sources/{name}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def source_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, name = await clients(), req.route_params["name"]
    if not re.fullmatch(NAME_PATTERN, name):
        raise Problem(404, "There is no list with this name.")
    threads, digests, archives, source = await asyncio.gather(
        THREADS.page(connected.store, filters={"source": name}, after=req.params.get("after"), size=A_PAGE),
        latest_digests(connected, 8, source=name),
        latest_archives_of_source(connected, name),
        connected.store.find(Source, name, name, Session()),
    )
    if not threads.items and not archives and source is None:
        raise Problem(404, "There is no list with this name.")
    return show(
        req,
        "pages/source.html",
        name=name,
        # What a server said of a failed fetch may quote a link or a name that is not public.
        fetch_error=source.last_fetch_error if source and is_operator(req, connected.settings) else None,
        threads=threads.items,
        following=next_address(req, f"/sources/{name}", threads.cursor),
        digests=digests,
        archives=archives,
    )
