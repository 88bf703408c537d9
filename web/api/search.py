"""Search over HTTP."""

from urllib.parse import urlencode

import azure.functions as func

from shared.clients.connections import clients
from shared.retrieval.read_models import SearchAnswer
from shared.retrieval.search import (
    DEEPEST,
    SearchAsked,
    SearchResult,
    as_parameters,
    find,
    found_items,
    shown_facets,
)
from web.api.openapi import endpoint
from web.caching import answer_with
from web.parameters import parse_query


@endpoint("search", "GET", "api/search", {200: SearchAnswer}, query=SearchAsked)
async def search(req: func.HttpRequest) -> func.HttpResponse:
    """Keyword and semantic search in mail, with highlights and facets."""
    wanted = parse_query(req, SearchAsked)
    found = await find(await clients(), wanted)
    answer = SearchAnswer(
        query=wanted.q,
        mode=found.mode,
        note=found.note,
        total=found.total,
        items=found_items(found.hits),
        facets=shown_facets(found.hits.facets),
        next=_next(wanted, found),
    )
    return answer_with(req, answer)


def _next(wanted: SearchAsked, found: SearchResult) -> str | None:
    skip = wanted.skip + wanted.limit
    if skip >= min(found.total, DEEPEST):
        return None
    return f"/api/search?{urlencode({**as_parameters(wanted), 'skip': skip})}"
