"""Chunking: messages become chunks that fit the embedding model's window.

A message of quotes only has no chunks, and is processed and announced all the same. A thread that was merged
since the event was published is followed to where it is now. A message whose content was replaced by another
variant of it gets other chunks: those that differ are written anew, and those that are too many go.
"""

import asyncio
import hashlib
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import azure.functions as func

from shared.clients.cosmos.batches import Patch
from shared.clients.telemetry.metrics import pipeline_metrics
from shared.core.errors import ClassifiedError, DocumentNotFoundError
from shared.core.ids import chunk_id
from shared.documents.base import ProcessingStatus, stored_time
from shared.documents.chunks import Chunk
from shared.documents.messages import Message
from shared.domain.chunking.chunker import ChunkSettings, Embedder, Strategy, TextChunk, chunk_body
from shared.domain.mail.models import Segment, SegmentKind
from shared.embedding.instance import embedder
from shared.embedding.sentence_embedder import embed_with
from shared.embedding.tokenizer_file import model_tokenizer
from shared.pipeline.events.data import ChunkingFailed, ChunksPrepared, JSONParsed
from shared.pipeline.events.envelope import Event
from shared.pipeline.stage import Stage, StageResult, Subject, Work
from shared.pipeline.tombstones import was_removed
from shared.threads.locating import ensure_not_merged, load_following_merges
from shared.threads.rechunking import check_variants, sync_stored_chunks
from stages.registration import register_stage

__all__ = ["CHUNKING", "blueprint"]

blueprint = func.Blueprint()
LABELS = {"service": "chunking"}


async def chunk(event: Event[JSONParsed], work: Work) -> StageResult:
    settings = _settings(work)
    messages = await _load(event.data, work)
    if not messages:  # all of them were deleted with their archive
        return StageResult()
    embed = await _sentence_embedder(settings, work)
    chunks = await asyncio.to_thread(_chunks_of, messages, settings, embed)
    created = await work.clients.store.create_missing(chunks, work.session)
    _count(chunks, created)
    await sync_stored_chunks(work.clients, messages, chunks, created, work.session)
    await _mark_processed(messages, work)
    await ensure_not_merged(work.clients, {message.thread_id for message in messages}, work.session)
    await check_variants(work.clients, messages, work.session)
    return StageResult(
        _announcements(event.data.archive_id, messages, chunks, settings.strategy),
        counts={"messages": len(messages), "chunks": len(chunks)},
    )


def _count(chunks: Sequence[Chunk], created: Collection[str]) -> None:
    """Those that are new: an event that comes again makes none."""
    new = [each for each in chunks if each.id in created]
    metrics = pipeline_metrics()
    metrics.chunks_created.add(len(new), LABELS)
    for each in new:
        metrics.chunk_size.record(each.token_count, LABELS)


def _settings(work: Work) -> ChunkSettings:
    given = work.clients.settings
    return ChunkSettings(
        Strategy(given.CHUNKING_STRATEGY), given.CHUNKING_MAX_TOKENS, given.CHUNKING_OVERLAP_TOKENS
    )


async def _load(data: JSONParsed, work: Work) -> list[Message]:
    places = dict(zip(data.message_keys, data.message_threads, strict=False))
    try:
        return await load_following_merges(work.clients, Message, places, data.message_keys, work.session)
    except DocumentNotFoundError:
        if not await was_removed(work.clients.store, data.archive_id, work.session):
            raise
    # The archive was deleted meanwhile: what is left of it is in other archives, too.
    there = await work.clients.store.find_many(Message, list(places.items()), work.session)
    return list(there.values())


async def _sentence_embedder(settings: ChunkSettings, work: Work) -> Embedder | None:
    """Only the semantic strategy compares sentences; the others must not start the encoder."""
    if settings.strategy is not Strategy.SEMANTIC:
        return None
    embed = embed_with(await embedder(work.clients))
    return lambda sentences: embed(sentences).tolist()


def _chunks_of(messages: Sequence[Message], settings: ChunkSettings, embed: Embedder | None) -> list[Chunk]:
    tokenizer = model_tokenizer()
    return [
        _document(message, piece)
        for message in messages
        for piece in chunk_body(message.body_raw, _segments(message), tokenizer, settings, embed)
    ]


def _segments(message: Message) -> list[Segment]:
    return [Segment(SegmentKind(each["kind"]), each["start"], each["end"]) for each in message.segments]


def _document(message: Message, piece: TextChunk) -> Chunk:
    id_ = chunk_id(message.id, piece.index)
    return Chunk(
        id=id_,
        chunk_id=id_,
        message_key=message.id,
        message_id=message.message_id,
        thread_id=message.thread_id,
        archive_id=message.archive_id,
        chunk_index=piece.index,
        text=piece.text,
        token_count=piece.token_count,
        start_offset=piece.start_offset,
        end_offset=piece.end_offset,
        overlap_with_previous=piece.overlap_with_previous,
        metadata={
            "sender": message.from_.email,
            "sender_name": message.from_.name,
            "date": message.to_cosmos()["date"],
            "subject": message.subject,
            "draft_mentions": message.draft_mentions,
            "spans": [list(span) for span in piece.spans],
        },
    )


async def _mark_processed(messages: Sequence[Message], work: Work) -> None:
    """Messages come in batches: their attempt is counted together with the outcome."""
    now = stored_time(work.now())
    done: dict[str, Any] = {
        "status": ProcessingStatus.PROCESSED.value,
        "lastAttemptTime": now,
        "lastError": None,
    }
    patches = [
        Patch(each.id, each.thread_id, set={**done, "attemptCount": max(each.attemptCount, work.attempt)})
        for each in messages
        if each.status is not ProcessingStatus.PROCESSED
    ]
    await work.clients.store.patch_all(Message, patches, work.session)


def _announcements(
    archive_id: str, messages: Sequence[Message], chunks: Sequence[Chunk], strategy: Strategy
) -> list[ChunksPrepared]:
    """Also where there is no chunk: the threads are as ready as they will be, and somebody waits for that."""
    return [
        ChunksPrepared(
            message_keys=[message.id for message in messages],
            chunk_count=len(chunks),
            chunk_ids=[each.id for each in chunks],
            chunks_ready=True,
            chunking_strategy=strategy.value,
            avg_chunk_size_tokens=round(sum(each.token_count for each in chunks) / max(len(chunks), 1), 1),
            chunk_threads=[each.thread_id for each in chunks],
            chunk_messages=[each.message_key for each in chunks],
            thread_ids=sorted({message.thread_id for message in messages}),
            contents=_contents(messages),
            archive_id=archive_id,
        )
    ]


def _contents(messages: Sequence[Message]) -> str:
    """Tells the event from one of the same messages with other content: the broker drops repeats."""
    return hashlib.sha256("\n".join(each.variant for each in messages).encode()).hexdigest()[:16]


def _failed(
    event: Event[JSONParsed], failure: ClassifiedError, attempts: int, now: datetime
) -> ChunkingFailed:
    return ChunkingFailed(
        message_keys=event.data.message_keys,
        error_message=failure.message,
        error_type=failure.error_type,
        retry_count=attempts,
        failed_at=now,
    )


def _subjects(data: JSONParsed) -> list[Subject]:
    places = zip(data.message_keys, data.message_threads, strict=False)
    return [Subject(Message, key, thread) for key, thread in places]


CHUNKING = Stage("chunking", JSONParsed, chunk, _failed, _subjects)

register_stage(blueprint, CHUNKING)
