"""Chunking: messages become chunks that fit the embedding model's window.

A message of quotes alone has no chunks. It is still marked processed and announced: its thread may wait for
it. A message whose content was replaced has its stored chunks overwritten, and surplus ones deleted.
"""

import asyncio
import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import azure.functions as func

from shared.clients.telemetry.metrics import pipeline_metrics
from shared.core.ids import chunk_id
from shared.documents.threads import Chunk, Message
from shared.domain.chunking.chunker import ChunkSettings, Embedder, Strategy, TextChunk, chunk_body
from shared.domain.chunking.tokens import ModelTokenizer
from shared.domain.mail.models import read_segments
from shared.embedding.factory import embed_with, embedder
from shared.embedding.model_tokens import model_tokens
from shared.pipeline import topology
from shared.pipeline.event_builders import PreparedChunk, chunks_prepared
from shared.pipeline.event_types import ChunksPrepared, JSONParsed
from shared.pipeline.events import Event
from shared.pipeline.lifecycle.archives import messages_processed
from shared.pipeline.stage import Stage, StageResult, Work
from shared.threads.moving import load_announced_messages
from shared.threads.rechunking import raise_for_changed, sync_stored_chunks
from stages.registration import register_stage

blueprint = func.Blueprint()
LABELS = {"service": "chunking"}
MOST_RECIPIENTS = 20  # that a search finds a mail by
_PATCH = re.compile(r"^(?:diff --git |@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9})", re.MULTILINE)
OVERLAP_TOKENS = 24  # about a tenth of a chunk: a sentence that is cut is whole in one of the two


async def chunk(event: Event[JSONParsed], work: Work) -> StageResult:
    keys = event.data.message_keys
    messages = await load_announced_messages(work.clients, keys, event.data.archive_id, work.session)
    if not messages:  # all of them were deleted with their archive
        return StageResult()
    tokens = await model_tokens(work.clients)
    settings = _settings(work, tokens.most)
    embed = await _sentence_embedder(settings, work)
    chunks = await asyncio.to_thread(_chunks_of, messages, tokens.tokenizer, settings, embed, work.now())
    await _store(chunks, messages, work)
    return StageResult(
        [_announcement(event.data.archive_id, messages, chunks, settings.strategy)],
        counts={"messages": len(messages), "chunks": len(chunks)},
    )


async def _store(chunks: Sequence[Chunk], messages: Sequence[Message], work: Work) -> None:
    store, session = work.clients.store, work.session
    created, metrics = await store.create_missing(chunks, session), pipeline_metrics()
    new = [chunk for chunk in chunks if chunk.id in created]
    metrics.chunks_created.add(len(new), LABELS)
    if len(new) < len(chunks):
        metrics.duplicates.add(len(chunks) - len(new), {**LABELS, "kind": "chunk"})
    for chunk in new:
        metrics.chunk_size.record(chunk.token_count, LABELS)
    await sync_stored_chunks(work.clients, messages, chunks, created, session)
    raise_for_changed(await messages_processed(store, messages, session))


def _settings(work: Work, most: int) -> ChunkSettings:
    """From the app's settings, and no more than the model reads: the rest would have no vector."""
    given = work.clients.settings
    size = min(given.CHUNKING_MAX_TOKENS, most)
    return ChunkSettings(Strategy(given.CHUNKING_STRATEGY), size, min(OVERLAP_TOKENS, size // 2))


async def _sentence_embedder(settings: ChunkSettings, work: Work) -> Embedder | None:
    """Only the semantic strategy compares sentences; the others must not start the encoder."""
    if settings.strategy is not Strategy.SEMANTIC:
        return None
    embed = embed_with(await embedder(work.clients))
    return lambda sentences: embed(sentences).tolist()


def _chunks_of(
    messages: Sequence[Message],
    tokenizer: ModelTokenizer,
    settings: ChunkSettings,
    embed: Embedder | None,
    now: datetime,
) -> list[Chunk]:
    return [
        _document(message, piece, now)
        for message in messages
        for piece in chunk_body(message.body_raw, read_segments(message.segments), tokenizer, settings, embed)
    ]


def _document(message: Message, piece: TextChunk, now: datetime) -> Chunk:
    id_ = chunk_id(message.id, piece.index)
    return Chunk(
        id=id_,
        chunk_id=id_,
        message_key=message.id,
        message_id=message.message_id,
        thread_id=message.thread_id,
        archive_id=message.archive_id,
        archive_ids=message.archive_ids,
        created_at=now,
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
            **_search_facts(message),
            "spans": [list(span) for span in piece.spans],
        },
    )


def _search_facts(message: Message) -> dict[str, Any]:
    """The facts that only searches ask for."""
    people = [*message.to, *message.cc][:MOST_RECIPIENTS]
    return {
        "recipients": list(dict.fromkeys(person.email.lower() for person in people if person.email)),
        "recipient_names": list(dict.fromkeys(person.name for person in people if person.name)),
        "has_patch": _PATCH.search(message.body_raw) is not None,
    }


def _announcement(
    archive_id: str, messages: Sequence[Message], chunks: Sequence[Chunk], strategy: Strategy
) -> ChunksPrepared:
    """Also where there is no chunk: orchestration waits for the threads."""
    return chunks_prepared(
        [PreparedChunk(chunk.id, chunk.thread_id, chunk.message_key, chunk.token_count) for chunk in chunks],
        message_keys=[message.id for message in messages],
        thread_ids={message.thread_id for message in messages},
        strategy=strategy.value,
        archive_id=archive_id,
        contents=_contents(archive_id, messages),
    )


def _contents(archive_id: str, messages: Sequence[Message]) -> str:
    """What tells the event from an earlier one of the same messages, which the broker would drop as a repeat.

    They may have other content, conflicting copies or another thread.
    """
    labels = (f"{message.variant} {message.conflicts} {message.thread_id}" for message in messages)
    said = [archive_id, *labels]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]


def _documents(data: JSONParsed) -> list[str]:
    return data.message_keys


CHUNKING = Stage(topology.CHUNKING, chunk, _documents)

register_stage(blueprint, CHUNKING)
