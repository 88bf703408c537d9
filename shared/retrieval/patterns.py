"""The specification's search and retrieval patterns: from a hit back to what it is part of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.search.facets import Facet, FacetValue
from shared.clients.search.filters import Filters
from shared.clients.search.index import Hit
from shared.documents.base import Document
from shared.documents.chunks import Chunk
from shared.documents.messages import Message
from shared.documents.threads import Thread
from shared.domain.summaries.models import Citation
from shared.threads.merging import resolve_thread

__all__ = [
    "CitationCheck",
    "Contexts",
    "HitInContext",
    "search_with_context",
    "thread_embeddings",
    "verify_citations",
]

Model = TypeVar("Model", bound=Document)


@dataclass(frozen=True)
class HitInContext:
    """A hit with what it is part of. A document that was removed since it was indexed is None."""

    hit: Hit
    chunk: Chunk | None
    message: Message | None
    thread: Thread | None


@dataclass(frozen=True)
class Contexts:
    hits: list[HitInContext]
    facets: dict[str, list[FacetValue]]
    total: int | None


@dataclass(frozen=True)
class CitationCheck:
    citation: Citation
    valid: bool  # the quote stands in its chunk as it is
    chunk: Chunk | None
    message: Message | None


async def search_with_context(
    clients: Clients,
    text: str | None,
    vector: Sequence[float] | None = None,
    *,
    filters: Filters | None = None,
    top: int = 20,
    skip: int = 0,
    facets: Sequence[Facet | str] = (),
    total: bool = False,
) -> Contexts:
    """Pattern 1: what is found, each hit with its chunk, its message and its thread."""
    hits = await clients.index.search(
        text, vector, filters=filters, top=top, skip=skip, highlight=bool(text), facets=facets, total=total
    )
    chunks = await _found(clients, Chunk, ((hit.chunk_id, hit.payload["thread_id"]) for hit in hits))
    messages = await _found(
        clients, Message, ((hit.payload["message_key"], hit.payload["thread_id"]) for hit in hits)
    )
    homes = [_home(hit, messages) for hit in hits]
    threads = await clients.store.find_many(Thread, [(each, each) for each in set(homes)], Session())
    in_context = [
        HitInContext(
            hit, chunks.get(hit.chunk_id), messages.get(hit.payload["message_key"]), threads.get(home)
        )
        for hit, home in zip(hits, homes, strict=True)
    ]
    return Contexts(in_context, hits.facets, hits.total)


async def thread_embeddings(clients: Clients, thread_id: str) -> list[dict[str, Any]]:
    """Pattern 2: everything that is indexed of a thread, vectors included, in the order of its chunks."""
    place = await resolve_thread(clients, thread_id, Session())
    return [each async for each in clients.index.chunks_of_thread(place, with_vectors=True)]


async def verify_citations(
    clients: Clients, citations: Sequence[Citation], thread_id: str
) -> list[CitationCheck]:
    """Pattern 3: whether each quote of a thread's summary stands in the chunk that it cites."""
    place = await resolve_thread(clients, thread_id, Session())
    chunks = await _found(clients, Chunk, ((each.chunk_id, place) for each in citations))
    messages = await _found(clients, Message, ((each.message_key, place) for each in chunks.values()))
    return [_check(each, chunks.get(each.chunk_id), messages) for each in citations]


def _home(hit: Hit, messages: dict[str, Message]) -> str:
    message = messages.get(hit.payload["message_key"])
    return str(hit.payload["thread_id"]) if message is None else message.thread_id


def _check(citation: Citation, chunk: Chunk | None, messages: dict[str, Message]) -> CitationCheck:
    valid = chunk is not None and citation.quote in chunk.text
    return CitationCheck(citation, valid, chunk, messages.get(chunk.message_key) if chunk else None)


async def _found(clients: Clients, model: type[Model], keys: Iterable[tuple[str, str]]) -> dict[str, Model]:
    """Those that are there: at the place that the index knows, or where their thread is by now."""
    session, wanted = Session(), dict(keys)
    found = await clients.store.find_many(model, list(wanted.items()), session)
    missing = {id_: thread for id_, thread in wanted.items() if id_ not in found}
    if missing:
        moved = {each: await resolve_thread(clients, each, session) for each in set(missing.values())}
        again = [(id_, moved[each]) for id_, each in missing.items() if moved[each] != each]
        found |= await clients.store.find_many(model, again, session)
    return found
