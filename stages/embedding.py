"""Embedding: encode the chunks and store their vectors in the search index.

The vector is stored first, then the flag on the chunk, then the event. A chunk that the model or the index
refuses becomes failed_max_retries, and its thread becomes ready without it.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import azure.functions as func

from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch
from shared.azure.search.fields import indexed_chunk
from shared.azure.telemetry.metrics import pipeline_metrics
from shared.core.concurrency import batches_of
from shared.core.errors import (
    ClassifiedError,
    ErrorKind,
    PermanentError,
    RefusesEverythingError,
    RejectedItemsError,
    add_details,
)
from shared.core.times import stored_time
from shared.embedding.encoder import Embedder, Vectors
from shared.embedding.factory import embedder
from shared.embedding.vector_cache import VectorCache
from shared.models.base import ProcessingStatus
from shared.models.threads import Chunk, Thread
from shared.pipeline import topology
from shared.pipeline.event_builders import embeddings_generated, error_fields
from shared.pipeline.event_types import ChunksPrepared, EmbeddingGenerationFailed
from shared.pipeline.events import Event
from shared.pipeline.failures import failure_record, isolate_failures
from shared.pipeline.stage import Stage, StageContext, StageResult
from shared.pipeline.state.archives import (
    is_chunk_finished,
    mark_chunk_failed,
    mark_embedded,
    recover_chunks,
)
from shared.thread_store.chunk_sets import LABELS, MessagesOvertakenError, delete_lost_vectors, labels_of
from shared.thread_store.moving import load_announced_chunks
from stages.registration import register_stage

blueprint = func.Blueprint()
log = logging.getLogger(__name__)
GROUP = 128  # chunks in one write
GIVEN_UP = "chunks_given_up"


@dataclass
class Encoded:
    """The outcome of a group of chunks: a vector or a permanent error for each chunk."""

    chunks: Sequence[Chunk]
    vectors: Mapping[str, Vectors]
    failed: dict[str, PermanentError]
    milliseconds: float


@dataclass
class Progress:
    """The totals over all groups of an event."""

    embedded: int = 0
    failed: dict[str, PermanentError] = field(default_factory=dict)
    milliseconds: float = 0.0
    errors: list[BaseException] = field(default_factory=list)


async def embed_chunks(event: Event[ChunksPrepared], context: StageContext) -> StageResult:
    try:
        return await _embed(event.data, context)
    except Exception as error:
        add_details(error, backend=context.clients.settings.EMBEDDING_BACKEND)
        raise


async def _embed(data: ChunksPrepared, context: StageContext) -> StageResult:
    """Embed the chunks that are not finished, write changed labels, and announce all chunks of the event."""
    chunks = await load_announced_chunks(context.clients, data, context.session)
    if data.chunk_ids and not chunks:  # deleted with their archive
        return StageResult(counts={"removed": len(data.chunk_ids)})
    model = await embedder(context.clients)
    await context.clients.index.versions.check(model.dimension)
    thread_ids = sorted({chunk.thread_id for chunk in chunks})
    threads = await context.clients.store.find_many(Thread, thread_ids, context.session)
    unfinished = [chunk for chunk in chunks if not is_chunk_finished(chunk, model.model)]
    progress = await _embed_groups(unfinished, threads, model, context)
    if progress.errors:
        raise progress.errors[0]
    await _relabel(data, chunks, model, context)
    generated = embeddings_generated(
        data,
        chunks,  # includes chunks that were finished before, and chunks that failed
        count=len(chunks) - len(progress.failed),
        model=model.model,
        backend=model.backend,
        dimension=model.dimension,
        collection=context.clients.index.name,
        milliseconds_per_chunk=progress.milliseconds / max(progress.embedded, 1),
    )
    return StageResult(
        [generated, *await _record_given_up(chunks, progress, model, context)],
        after_announcing=lambda: recover_chunks(context.clients.store, chunks, context.session),
        counts={"chunks": len(chunks), "embedded": progress.embedded, "given_up": len(progress.failed)},
    )


async def _record_given_up(
    chunks: Sequence[Chunk], progress: Progress, model: Embedder, context: StageContext
) -> list[EmbeddingGenerationFailed]:
    """Record the chunks that cannot be embedded, by error type, including those of an earlier delivery."""
    by_error: dict[str, dict[str, ClassifiedError]] = {}
    for chunk in sorted(chunks, key=lambda chunk: chunk.id):
        failure = _failure_of(chunk, progress)
        if failure is not None:
            by_error.setdefault(failure.error_type, {})[chunk.id] = failure
    announced = []
    for error_type, failures in by_error.items():
        failure = next(iter(failures.values()))
        data = EmbeddingGenerationFailed(
            chunk_ids=list(failures),
            embedding_backend=model.backend,
            failed_at=context.now(),
            **error_fields(failure, context.attempt),
        )
        event = Event.of(data, now=context.now())
        record = failure_record(
            EMBEDDING.name,
            failure,
            event=event,
            message_id=event.message_id,
            reason=GIVEN_UP,
            attempt_count=context.attempt,
            now=context.now(),
        )
        await context.clients.store.upsert(record, context.session)
        log.error(
            "embedding gave %d chunks up, among them %s: %s: %s",
            len(failures), next(iter(failures)), error_type, failure.for_logs,
        )  # fmt: skip
        labels = {"service": EMBEDDING.name, "error_type": error_type}
        pipeline_metrics().chunks_given_up.add(len(failures.keys() & progress.failed.keys()), labels)
        announced.append(data)
    return announced


def _failure_of(chunk: Chunk, progress: Progress) -> ClassifiedError | None:
    if chunk.id in progress.failed:
        return classify(progress.failed[chunk.id])
    if chunk.status is not ProcessingStatus.FAILED_MAX_RETRIES:
        return None
    error_type, _, message = (chunk.lastError or "UnknownError").partition(": ")
    return ClassifiedError(ErrorKind.PERMANENT, error_type, message, safe_to_log=False)


async def _relabel(
    data: ChunksPrepared, chunks: Sequence[Chunk], model: Embedder, context: StageContext
) -> None:
    """Write labels to the vectors of embedded chunks whose labels differ from the announced labels.

    An earlier delivery may have overwritten newer labels, so chunks that are processed are included.
    """
    announced = dict(zip(data.chunk_ids, data.chunk_labels, strict=False))
    outdated = [
        chunk
        for chunk in chunks
        if is_chunk_finished(chunk, model.model) and chunk.status is not ProcessingStatus.FAILED_MAX_RETRIES
        if chunk.status is ProcessingStatus.PENDING or announced.get(chunk.id) != chunk.label_version
    ]
    labels = [labels_of(chunk.model_dump(include={"id", *LABELS})) for chunk in outdated]
    await context.clients.index.upsert(labels)
    await _settle([mark_embedded(chunk, model=model.model) for chunk in outdated], context)


async def _settle(patches: Sequence[Patch], context: StageContext) -> None:
    """Set the flags if the labels are as read. Otherwise raise, so that the stage repeats at once."""
    refused = await context.clients.store.patch_all(Chunk, patches, context.session)
    if refused:
        await delete_lost_vectors(context.clients, refused, context.session)
        raise MessagesOvertakenError(f"{len(refused)} chunks were changed, among them {min(refused)}")


async def _embed_groups(
    chunks: Sequence[Chunk], threads: Mapping[str, Thread], model: Embedder, context: StageContext
) -> Progress:
    """Embed all groups concurrently. A group that fails does not undo the groups that were stored."""
    ordered = sorted(chunks, key=lambda chunk: chunk.partition)  # one write for each partition
    embedding = [_embed_group(group, threads, model, context) for group in batches_of(ordered, GROUP)]
    results = await asyncio.gather(*embedding, return_exceptions=True)
    progress = Progress()
    for result in results:
        if isinstance(result, BaseException):
            progress.errors.append(result)
        else:
            progress.failed |= result.failed
            progress.embedded += len(result.chunks) - len(result.failed)
            progress.milliseconds += result.milliseconds
    return progress


async def _embed_group(
    chunks: Sequence[Chunk], threads: Mapping[str, Thread], model: Embedder, context: StageContext
) -> Encoded:
    unstored = await unstored_vectors(context.clients)
    encoded = await _encode(chunks, model, unstored, context)
    await _store_vectors(encoded, threads, model, context)
    await _settle(_outcomes(encoded, model), context)
    unstored.drop(_key(chunk, model) for chunk in chunks)
    return encoded


async def unstored_vectors(clients: Clients) -> VectorCache:
    """Return the cache of vectors whose write failed, so that the next attempt does not encode them again."""

    async def new_cache() -> VectorCache:
        return VectorCache()

    return await clients.resources.get(VectorCache, new_cache)


async def _encode(
    chunks: Sequence[Chunk], model: Embedder, unstored: VectorCache, context: StageContext
) -> Encoded:
    """Encode the chunks that have no cached vector."""
    started = context.runtime.monotonic()
    vectors = dict(unstored.find(_key(chunk, model) for chunk in chunks))
    missing = [chunk for chunk in chunks if _key(chunk, model) not in vectors]
    encoded = await model.encode_each([chunk.text for chunk in missing])
    failed = {missing[position].id: error for position, error in encoded.failed.items()}
    for chunk, vector in zip(missing, encoded.vectors, strict=True):
        if chunk.id not in failed:
            vectors[_key(chunk, model)] = vector
            unstored.keep(_key(chunk, model), vector)
    by_chunk = {chunk.id: vectors[_key(chunk, model)] for chunk in chunks if chunk.id not in failed}
    return Encoded(chunks, by_chunk, failed, (context.runtime.monotonic() - started) * 1000)


def _key(chunk: Chunk, model: Embedder) -> str:
    return VectorCache.key(chunk.id, model.model, chunk.text)


async def _store_vectors(
    encoded: Encoded, threads: Mapping[str, Thread], model: Embedder, context: StageContext
) -> None:
    """Store the vectors of the group, and mark the chunks whose vector the index refuses as failed."""
    now = stored_time(context.now())
    items = [
        indexed_chunk(
            chunk, encoded.vectors[chunk.id].tolist(), threads.get(chunk.thread_id), model.model, now
        )
        for chunk in encoded.chunks
        if chunk.id not in encoded.failed
    ]
    refused = await isolate_failures(items, context.clients.index.upsert)
    if len(refused) == len(items) > 1:
        raise RefusesEverythingError(
            f"the index refuses all {len(items)} vectors, not one of them: {refused[0][1].message}"
        )
    for item, failure in refused:
        id_ = item["chunk_id"]
        encoded.failed[id_] = RejectedItemsError(f"the index refuses it: {failure.message}", {id_: ""})


def _outcomes(encoded: Encoded, model: Embedder) -> list[Patch]:
    return [
        mark_embedded(chunk, model=model.model)
        if (error := encoded.failed.get(chunk.id)) is None
        else mark_chunk_failed(chunk, classify(error))
        for chunk in encoded.chunks
    ]


def _document_ids(data: ChunksPrepared) -> list[str]:
    return data.chunk_ids


EMBEDDING = Stage(topology.EMBEDDING, embed_chunks, _document_ids)

register_stage(blueprint, EMBEDDING)
