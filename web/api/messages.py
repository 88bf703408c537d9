"""API of messages, chunks and search."""

from urllib.parse import urlencode

import azure.functions as func

from shared.models.threads import Chunk, Message
from shared.views.listing import CHUNKS
from shared.views.mails import original_bytes
from shared.views.parameters import After, Limit, MessageKey, QueryParameters
from shared.views.read_models import ChunkItem, ChunkList, MessageDetail, SearchAnswer
from shared.views.search import SearchAsked, find
from shared.views.threads import find_by_id
from web.access import is_operator, people_shown
from web.api.openapi import endpoint
from web.caching import answer_of, answer_with
from web.connected import clients
from web.limits import Limited
from web.parameters import id_of, next_address, parse_query
from web.problems import Problem, bad_parameter

# Mail is untrusted, so it is served as a text download that no browser interprets.
AS_TEXT = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


@endpoint("messages_get", "GET", "api/messages/{key}", {200: MessageDetail})
async def get_message(req: func.HttpRequest) -> func.HttpResponse:
    """One message with its body and the ranges of quotes and signatures."""
    return answer_with(req, MessageDetail.of(await _message(req)))


@endpoint("messages_raw", "GET", "api/messages/{key}/raw", {200: "text/plain"}, limited=Limited.RAW)
async def get_raw(req: func.HttpRequest) -> func.HttpResponse:
    """The original bytes of the mail in its archive. Requires an operator."""
    if not is_operator(req, (await clients()).settings):
        raise Problem(403, "All headers require an operator. The mail itself is at /m/{Message-ID}.")
    message = await _message(req)
    original = await original_bytes(await clients(), message)
    more = {**AS_TEXT, "Content-Disposition": f'attachment; filename="{message.id}.txt"'}
    return answer_of(req, original, "text/plain", headers=more)


@endpoint("chunks_get", "GET", "api/chunks/{id}", {200: ChunkItem})
async def get_chunk(req: func.HttpRequest) -> func.HttpResponse:
    """One chunk: a passage of a message with its offset in the body."""
    id_ = id_of(req, "chunk")
    return answer_with(req, ChunkItem.of(await find_by_id(await clients(), Chunk, id_)))


class ChunksAsked(QueryParameters):
    thread: MessageKey | None = None
    message: MessageKey | None = None
    limit: Limit = 50
    after: After = None


@endpoint("chunks_list", "GET", "api/chunks", {200: ChunkList}, query=ChunksAsked)
async def list_chunks(req: func.HttpRequest) -> func.HttpResponse:
    """The chunks of a thread or of a message."""
    wanted, connected = parse_query(req, ChunksAsked), await clients()
    if wanted.thread is None and wanted.message is None:
        raise bad_parameter("thread", "give a thread or a message")
    filters = {"thread": wanted.thread, "message": wanted.message}
    page = await CHUNKS.page(connected.store, filters=filters, after=wanted.after, size=wanted.limit)
    items = [ChunkItem.of(chunk) for chunk in page.items]
    return answer_with(req, ChunkList(items=items, next=next_address(req, "/api/chunks", page.cursor)))


async def _message(req: func.HttpRequest) -> Message:
    return await find_by_id(await clients(), Message, id_of(req, "message", name="key"))


@endpoint("search", "GET", "api/search", {200: SearchAnswer}, query=SearchAsked, limited=Limited.SEARCH)
async def search(req: func.HttpRequest) -> func.HttpResponse:
    """Keyword and semantic search in mail, by thread, with operators, highlights and facets."""
    wanted, connected = parse_query(req, SearchAsked), await clients()
    found = await find(connected, wanted)
    following = {**wanted.parameters(), "skip": found.following}
    answer = SearchAnswer(
        query=wanted.q,
        mode=found.mode,
        note=found.note,
        total=found.total,
        exact=found.exact(people=people_shown(req, connected.settings)),
        threads=found.threads,
        items=found.items,
        facets=found.facets,
        next=f"/api/search?{urlencode(following)}" if found.following else None,
    )
    return answer_with(req, answer)
