"""The lists, and one list's page: its threads, digests and archives."""

import asyncio
import re

import azure.functions as func

from shared.clients.connections import clients
from shared.clients.cosmos.session import Session
from shared.documents.archives import Archive
from shared.documents.containers import read_document
from shared.documents.queries.archives import ARCHIVES
from shared.documents.queries.sources import DEFINED
from shared.documents.sources import NAME_PATTERN, Source
from shared.documents.threads import Thread
from shared.retrieval.latest import latest_digests, source_names
from shared.retrieval.listings import THREADS
from web.pagination import next_address
from web.problems import Problem
from web.rendering import html_errors, show

__all__ = ["blueprint"]

blueprint = func.Blueprint()
A_PAGE = 40


@blueprint.function_name("page_sources")
@blueprint.route(route="sources", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def sources_page(req: func.HttpRequest) -> func.HttpResponse:
    connected = await clients()
    names = await source_names(connected)
    defined = {
        each["id"]: read_document(Source, each) async for each in connected.store.query(DEFINED, Session())
    }
    rows = [(name, defined.get(name)) for name in sorted({*names, *defined})]
    return show(req, "pages/sources.html", rows=rows)


@blueprint.function_name("page_source")
@blueprint.route(route="sources/{name}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
@html_errors
async def source_page(req: func.HttpRequest) -> func.HttpResponse:
    connected, name = await clients(), req.route_params["name"]
    if not re.fullmatch(NAME_PATTERN, name):
        raise Problem(404, "There is no list with this name.")
    threads, digests, archives, source = await asyncio.gather(
        THREADS.page(
            connected.store,
            sort="-last_message_date",
            filters={"source": name},
            after=req.params.get("after"),
            size=A_PAGE,
        ),
        latest_digests(connected, 8, source=name),
        _archives(name),
        connected.store.find(Source, name, name, Session()),
    )
    if not threads.rows and not archives and source is None:
        raise Problem(404, "There is no list with this name.")
    return show(
        req,
        "pages/source.html",
        name=name,
        source=source,
        threads=[read_document(Thread, each) for each in threads.rows],
        following=next_address(req, f"/sources/{name}", threads.cursor),
        digests=digests,
        archives=archives,
    )


async def _archives(name: str) -> list[Archive]:
    rows = (await clients()).store.query(ARCHIVES, Session(), source=name)
    return [read_document(Archive, each) async for each in rows]
