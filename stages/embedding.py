"""Embedding: chunks become vectors in the index.

Vectors first, then the flag on the chunk, then the event. A chunk that the model cannot take ends as
failed_max_retries with its error; everything else goes on, and its thread still gets ready.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import azure.functions as func

from shared.documents import Chunk, Status, Thread, stored_time
from shared.embedding.instance import embedder
from shared.embedding.port import Embedder, Settled
from shared.errors import Failure, add_details, classify
from shared.events import ChunksPrepared, EmbeddingGenerationFailed, EmbeddingsGenerated, Event
from shared.index import VECTOR_FIELD
from shared.stage import Outcome, Stage, Subject, Work
from shared.stage.functions import register_stage
from shared.store import Patch
from shared.threads.places import check_places, load_from_threads

__all__ = ["EMBEDDING", "blueprint"]

blueprint = func.Blueprint()
ERROR_LENGTH = 500


@dataclass(frozen=True)
class Encoded:
    chunks: list[Chunk]
    settled: Settled
    milliseconds: float


async def embed(event: Event[ChunksPrepared], work: Work) -> Outcome:
    try:
        return await _embed(event, work)
    except Exception as error:
        add_details(error, backend=work.clients.settings.EMBEDDING_BACKEND)
        raise


async def _embed(event: Event[ChunksPrepared], work: Work) -> Outcome:
    model = await embedder(work.clients.settings)
    places = dict(zip(event.data.chunk_ids, event.data.chunk_threads, strict=False))
    chunks = await load_from_threads(work.clients, Chunk, places, event.data.chunk_ids, work.session)
    threads = await check_places(work.clients, {each.thread_id for each in chunks}, work.session)
    encoded = await _encode([each for each in chunks if not _is_settled(each, model)], model)
    await work.clients.index.upsert(_vectors(encoded, threads, model, work))
    await work.clients.store.patch_all(Chunk, _outcomes(encoded, model, work), work.session)
    await check_places(work.clients, {each.thread_id for each in chunks}, work.session)
    given_up = len(encoded.settled.failed)
    return Outcome(
        [_announcement(chunks, encoded, model, work)],
        counts={"chunks": len(chunks), "embedded": len(encoded.chunks) - given_up, "given_up": given_up},
    )


def _is_settled(chunk: Chunk, model: Embedder) -> bool:
    """Embedded with this very model, or given up."""
    done = chunk.embedding_generated and chunk.embedding_model == model.model
    return done or chunk.status is Status.FAILED_MAX_RETRIES


async def _encode(chunks: list[Chunk], model: Embedder) -> Encoded:
    started = time.perf_counter()
    settled = await model.settle([each.text for each in chunks])
    return Encoded(chunks, settled, (time.perf_counter() - started) * 1000)


def _vectors(
    encoded: Encoded, threads: Mapping[str, Thread], model: Embedder, work: Work
) -> list[dict[str, Any]]:
    now = stored_time(work.now())
    return [
        {
            "chunk_id": chunk.id,
            "message_key": chunk.message_key,
            "message_id": chunk.message_id,
            "thread_id": chunk.thread_id,
            "archive_id": chunk.archive_id,
            "source": threads[chunk.thread_id].source if chunk.thread_id in threads else None,
            "chunk_index": chunk.chunk_index,
            "text": chunk.text,
            "sender": chunk.metadata.get("sender"),
            "sender_name": chunk.metadata.get("sender_name"),
            "date": chunk.metadata.get("date"),
            "subject": chunk.metadata.get("subject"),
            "draft_mentions": chunk.metadata.get("draft_mentions", []),
            "token_count": chunk.token_count,
            "embedding_model": model.model,
            "embedding_date": now,
            VECTOR_FIELD: encoded.settled.vectors[position].tolist(),
        }
        for position, chunk in enumerate(encoded.chunks)
        if position not in encoded.settled.failed
    ]


def _outcomes(encoded: Encoded, model: Embedder, work: Work) -> list[Patch]:
    """Chunks come in batches: their attempt is counted together with the outcome."""
    now = stored_time(work.now())
    embedded = {
        "embedding_generated": True,
        "embedding_model": model.model,
        "status": Status.PROCESSED.value,
        "lastError": None,
    }
    patches = []
    for position, chunk in enumerate(encoded.chunks):
        error = encoded.settled.failed.get(position)
        outcome = embedded if error is None else _given_up(classify(error))
        counted = {"attemptCount": max(chunk.attemptCount, work.attempt), "lastAttemptTime": now}
        patches.append(Patch(chunk.id, chunk.thread_id, set={**outcome, **counted}))
    return patches


def _given_up(failure: Failure) -> dict[str, Any]:
    last_error = f"{failure.error_type}: {failure.message}"[:ERROR_LENGTH]
    return {"status": Status.FAILED_MAX_RETRIES.value, "lastError": last_error}


def _announcement(
    chunks: Sequence[Chunk], encoded: Encoded, model: Embedder, work: Work
) -> EmbeddingsGenerated:
    """All chunks that are settled now, those that were before and those given up included."""
    count = len(chunks) - len(encoded.settled.failed)
    return EmbeddingsGenerated(
        chunk_ids=[each.id for each in chunks],
        embedding_count=count,
        embedding_model=model.model,
        embedding_backend=model.backend,
        embedding_dimension=model.dimension,
        vector_store_collection=work.clients.index.name,
        vector_store_updated=count > 0,
        avg_generation_time_ms=round(encoded.milliseconds / max(len(encoded.chunks), 1), 2),
        chunk_threads=[each.thread_id for each in chunks],
    )


def _failed(
    event: Event[ChunksPrepared], failure: Failure, attempts: int, now: datetime
) -> EmbeddingGenerationFailed:
    return EmbeddingGenerationFailed(
        chunk_ids=event.data.chunk_ids,
        error_message=failure.message,
        error_type=failure.error_type,
        embedding_backend=failure.details.get("backend", ""),
        retry_count=attempts,
        failed_at=now,
    )


def _subjects(data: ChunksPrepared) -> list[Subject]:
    places = zip(data.chunk_ids, data.chunk_threads, strict=False)
    return [Subject(Chunk, id_, thread) for id_, thread in places]


EMBEDDING = Stage("embedding", ChunksPrepared, embed, _failed, _subjects)

register_stage(blueprint, EMBEDDING)
