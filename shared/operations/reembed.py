"""Embeds all chunks again into a new index, which then replaces the live index. Can be repeated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.search.fields import indexed_chunk
from shared.core.concurrency import in_pages
from shared.core.times import stored_time
from shared.embedding.encoder import Embedder
from shared.models.containers import read_document
from shared.models.queries.threads import (
    CHUNKS_OF_OTHER_MODELS,
    COUNT_OF_EMBEDDED_CHUNKS,
    COUNT_OF_OTHER_MODELS,
)
from shared.models.threads import Chunk, Thread
from shared.operations.due_documents import count
from shared.pipeline.state.archives import mark_reembedded
from shared.thread_store.chunk_sets import delete_lost_vectors

PAGE = 256
MAX_PASSES = 5  # each pass finds chunks that were added during the previous pass
Progress = Callable[["Reembedded"], None]


@dataclass
class Reembedded:
    model: str
    index: str
    total: int = 0  # chunks with a vector of any model
    outstanding: int = 0  # chunks with a vector of another model, at the start
    embedded: int = 0
    failed: int = 0
    live_before: str | None = None
    switched: bool = False
    deleted: bool = False

    def line(self) -> str:
        done = f"{self.embedded} of {self.outstanding} chunks embedded with {self.model}"
        return f"{done}, {self.failed} failed, {self.total} in all; index {self.index}"


async def reembed(
    clients: Clients,
    model: Embedder,
    *,
    dry_run: bool = False,
    delete_old: bool = False,
    progress: Progress = lambda _state: None,
) -> Reembedded:
    """Embed every embedded chunk with this model, and switch to its index when none is left.

    Chunks that the model refuses prevent the switch only if no chunk could be embedded.
    """
    versions, session = clients.index.versions, Session()
    state = Reembedded(model.model, versions.own, live_before=await versions.look_up())
    state.total = await count(clients.store, COUNT_OF_EMBEDDED_CHUNKS)
    state.outstanding = await count(clients.store, COUNT_OF_OTHER_MODELS, model=model.model)
    if dry_run:
        return state
    await clients.index.versions.ensure(model.dimension)
    refused: set[str] = set()
    for _ in range(MAX_PASSES):
        before = state.embedded
        rows = clients.store.query(CHUNKS_OF_OTHER_MODELS, Session(), model=model.model)
        chunks = (read_document(Chunk, row) async for row in rows if row["id"] not in refused)
        async for page in in_pages(chunks, PAGE):
            await _embed_page(page, clients, model, state, refused, session)
            progress(state)
        if state.embedded == before:
            break
    # All chunks may have this model although this run embedded none: a late write of an earlier run.
    if state.embedded or not await count(clients.store, COUNT_OF_OTHER_MODELS, model=model.model):
        old = await versions.switch()
        state.switched = old is not None
        if delete_old and old is not None:
            await versions.delete(old)
            state.deleted = True
    return state


async def _embed_page(
    chunks: Sequence[Chunk],
    clients: Clients,
    model: Embedder,
    state: Reembedded,
    refused: set[str],
    session: Session,
) -> None:
    """Store the vectors first, then the model of the chunk, so that a crash in between repeats both."""
    encoded = await model.encode_each([chunk.text for chunk in chunks])
    keys = sorted({chunk.thread_id for chunk in chunks})
    threads = await clients.store.find_many(Thread, keys, session)
    now = stored_time(clients.runtime.now())
    items, patches = [], []
    for position, chunk in enumerate(chunks):
        if position in encoded.failed:
            refused.add(chunk.id)
            state.failed += 1
            continue
        thread = threads.get(chunk.thread_id)
        items.append(indexed_chunk(chunk, encoded.vectors[position].tolist(), thread, model.model, now))
        patches.append(mark_reembedded(chunk, model=model.model))
    await clients.index.upsert(items)
    # A chunk whose labels have changed is found by the next pass.
    changed = await clients.store.patch_all(Chunk, patches, session)
    await delete_lost_vectors(clients, changed, session)
    state.embedded += len(items) - len(changed)
