"""Embedding: chunks become vectors in the index.

Vectors first, then the flag on the chunk, then the event. A chunk that the model or the index refuses ends as
failed_max_retries with its error, and its thread gets ready without it.
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
GROUP = 128  # chunks that are written together
GIVEN_UP = "chunks_given_up"


@dataclass
class Encoded:
    """What came of a group of chunks: a vector each, or the error that it ends with."""

    chunks: Sequence[Chunk]
    vectors: Mapping[str, Vectors]
    failed: dict[str, PermanentError]
    milliseconds: float


@dataclass
class Done:
    """What an event's groups add up to."""

    embedded: int = 0
    failed: dict[str, PermanentError] = field(default_factory=dict)
    milliseconds: float = 0.0
    errors: list[BaseException] = field(default_factory=list)


async def embed(event: Event[ChunksPrepared], work: StageContext) -> StageResult:
    try:
        return await _embed(event.data, work)
    except Exception as error:
        add_details(error, backend=work.clients.settings.EMBEDDING_BACKEND)
        raise


async def _embed(data: ChunksPrepared, work: StageContext) -> StageResult:
    chunks = await load_announced_chunks(work.clients, data, work.session)
    if data.chunk_ids and not chunks:  # deleted with their archive
        return StageResult(counts={"removed": len(data.chunk_ids)})
    model = await embedder(work.clients)
    await work.clients.index.versions.check(model.dimension)
    thread_ids = sorted({chunk.thread_id for chunk in chunks})
    threads = await work.clients.store.find_many(Thread, thread_ids, work.session)
    open_ones = [chunk for chunk in chunks if not is_chunk_finished(chunk, model.model)]
    done = await _embed_groups(open_ones, threads, model, work)
    if done.errors:
        raise done.errors[0]
    await _relabel(data, chunks, model, work)
    generated = embeddings_generated(
        data,
        chunks,  # all that are settled now, those that were before and those given up included
        count=len(chunks) - len(done.failed),
        model=model.model,
        backend=model.backend,
        dimension=model.dimension,
        collection=work.clients.index.name,
        milliseconds_per_chunk=done.milliseconds / max(done.embedded, 1),
    )
    return StageResult(
        [generated, *await _record_given_up(chunks, done, model, work)],
        after_announcing=lambda: recover_chunks(work.clients.store, chunks, work.session),
        counts={"chunks": len(chunks), "embedded": done.embedded, "given_up": len(done.failed)},
    )


async def _record_given_up(
    chunks: Sequence[Chunk], done: Done, model: Embedder, work: StageContext
) -> list[EmbeddingGenerationFailed]:
    """Record what no attempt can embed, by kinds of error; what an earlier delivery gave up, once more."""
    by_error: dict[str, dict[str, ClassifiedError]] = {}
    for chunk in sorted(chunks, key=lambda chunk: chunk.id):
        failure = _failure_of(chunk, done)
        if failure is not None:
            by_error.setdefault(failure.error_type, {})[chunk.id] = failure
    announced = []
    for error_type, failures in by_error.items():
        failure = next(iter(failures.values()))
        data = EmbeddingGenerationFailed(
            chunk_ids=list(failures),
            embedding_backend=model.backend,
            failed_at=work.now(),
            **error_fields(failure, work.attempt),
        )
        event = Event.of(data, now=work.now())
        record = failure_record(
            EMBEDDING.name,
            failure,
            event=event,
            message_id=event.message_id,
            reason=GIVEN_UP,
            attempt_count=work.attempt,
            now=work.now(),
        )
        await work.clients.store.upsert(record, work.session)
        log.error(
            "embedding gave %d chunks up, among them %s: %s: %s",
            len(failures), next(iter(failures)), error_type, failure.for_logs,
        )  # fmt: skip
        labels = {"service": EMBEDDING.name, "error_type": error_type}
        pipeline_metrics().chunks_given_up.add(len(failures.keys() & done.failed.keys()), labels)
        announced.append(data)
    return announced


def _failure_of(chunk: Chunk, done: Done) -> ClassifiedError | None:
    if chunk.id in done.failed:
        return classify(done.failed[chunk.id])
    if chunk.status is not ProcessingStatus.FAILED_MAX_RETRIES:
        return None
    error_type, _, message = (chunk.lastError or "UnknownError").partition(": ")
    return ClassifiedError(ErrorKind.PERMANENT, error_type, message, safe_to_log=False)


async def _relabel(
    data: ChunksPrepared, chunks: Sequence[Chunk], model: Embedder, work: StageContext
) -> None:
    """Write the labels of chunks that have their vector and got other labels since, or are to get them.

    Also of settled ones: an earlier delivery may have written the labels of the event after the later ones.
    """
    announced = dict(zip(data.chunk_ids, data.chunk_labels, strict=False))
    other = [
        chunk
        for chunk in chunks
        if is_chunk_finished(chunk, model.model) and chunk.status is not ProcessingStatus.FAILED_MAX_RETRIES
        if chunk.status is ProcessingStatus.PENDING or announced.get(chunk.id) != chunk.label_version
    ]
    await work.clients.index.upsert([labels_of(chunk.model_dump(include={"id", *LABELS})) for chunk in other])
    await _settle([mark_embedded(chunk, model=model.model) for chunk in other], work)


async def _settle(patches: Sequence[Patch], work: StageContext) -> None:
    """The flag is the check: of a chunk with other labels, or of none, the vector is not as it has to be."""
    refused = await work.clients.store.patch_all(Chunk, patches, work.session)
    if refused:
        await delete_lost_vectors(work.clients, refused, work.session)
        raise MessagesOvertakenError(f"{len(refused)} chunks were changed, among them {min(refused)}")


async def _embed_groups(
    chunks: Sequence[Chunk], threads: Mapping[str, Thread], model: Embedder, work: StageContext
) -> Done:
    """All groups at once: the encoder takes them in turn. What one has stored stays when another fails."""
    ordered = sorted(chunks, key=lambda chunk: chunk.partition)  # the chunks of a partition are one write
    embedding = [_embed_group(group, threads, model, work) for group in batches_of(ordered, GROUP)]
    results = await asyncio.gather(*embedding, return_exceptions=True)
    done = Done()
    for result in results:
        if isinstance(result, BaseException):
            done.errors.append(result)
        else:
            done.failed |= result.failed
            done.embedded += len(result.chunks) - len(result.failed)
            done.milliseconds += result.milliseconds
    return done


async def _embed_group(
    chunks: Sequence[Chunk], threads: Mapping[str, Thread], model: Embedder, work: StageContext
) -> Encoded:
    unstored = await unstored_vectors(work.clients)
    encoded = await _encode(chunks, model, unstored, work)
    await _store_vectors(encoded, threads, model, work)
    await _settle(_outcomes(encoded, model), work)
    unstored.drop(_key(chunk, model) for chunk in chunks)
    return encoded


async def unstored_vectors(clients: Clients) -> VectorCache:
    """Vectors whose write failed, kept with the clients: the next attempt does not encode them again."""

    async def new_cache() -> VectorCache:
        return VectorCache()

    return await clients.resources.get(VectorCache, new_cache)


async def _encode(
    chunks: Sequence[Chunk], model: Embedder, unstored: VectorCache, work: StageContext
) -> Encoded:
    """Encode those that have no vector yet."""
    started = work.runtime.monotonic()
    vectors = dict(unstored.find(_key(chunk, model) for chunk in chunks))
    missing = [chunk for chunk in chunks if _key(chunk, model) not in vectors]
    encoded = await model.encode_each([chunk.text for chunk in missing])
    failed = {missing[position].id: error for position, error in encoded.failed.items()}
    for chunk, vector in zip(missing, encoded.vectors, strict=True):
        if chunk.id not in failed:
            vectors[_key(chunk, model)] = vector
            unstored.keep(_key(chunk, model), vector)
    by_chunk = {chunk.id: vectors[_key(chunk, model)] for chunk in chunks if chunk.id not in failed}
    return Encoded(chunks, by_chunk, failed, (work.runtime.monotonic() - started) * 1000)


def _key(chunk: Chunk, model: Embedder) -> str:
    return VectorCache.key(chunk.id, model.model, chunk.text)


async def _store_vectors(
    encoded: Encoded, threads: Mapping[str, Thread], model: Embedder, work: StageContext
) -> None:
    """Store the group's vectors, and give up those that the index refuses for good."""
    now = stored_time(work.now())
    items = [
        indexed_chunk(
            chunk, encoded.vectors[chunk.id].tolist(), threads.get(chunk.thread_id), model.model, now
        )
        for chunk in encoded.chunks
        if chunk.id not in encoded.failed
    ]
    poison = await isolate_failures(items, work.clients.index.upsert)
    if len(poison) == len(items) > 1:
        raise RefusesEverythingError(
            f"the index refuses all {len(items)} vectors, not one of them: {poison[0][1].message}"
        )
    for item, failure in poison:
        id_ = item["chunk_id"]
        encoded.failed[id_] = RejectedItemsError(f"the index refuses it: {failure.message}", {id_: ""})


def _outcomes(encoded: Encoded, model: Embedder) -> list[Patch]:
    return [
        mark_embedded(chunk, model=model.model)
        if (error := encoded.failed.get(chunk.id)) is None
        else mark_chunk_failed(chunk, classify(error))
        for chunk in encoded.chunks
    ]


def _documents(data: ChunksPrepared) -> list[str]:
    return data.chunk_ids


EMBEDDING = Stage(topology.EMBEDDING, embed, _documents)

register_stage(blueprint, EMBEDDING)
