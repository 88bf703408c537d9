"""Chunking: split each message into chunks that fit the embedding model.

A message of quotes alone has no chunks, but its thread waits for it. So it is marked and announced, too.
"""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import azure.functions as func

from shared.azure.telemetry.metrics import pipeline_metrics
from shared.chunking.chunker import ChunkSettings, Embedder, Strategy, TextChunk, chunk_body
from shared.chunking.tokens import ModelTokenizer
from shared.core.ids import chunk_id, chunk_set, message_of_chunk
from shared.embedding.factory import embed_with, embedder
from shared.embedding.model_tokens import ModelTokens, model_tokens
from shared.mail.models import read_segments
from shared.models.threads import Chunk, Message
from shared.pipeline import topology
from shared.pipeline.event_builders import PreparedChunk, chunks_prepared
from shared.pipeline.event_types import ChunksPrepared, JSONParsed
from shared.pipeline.events import Event
from shared.pipeline.stage import Stage, StageContext, StageResult
from shared.pipeline.state.archives import mark_processed
from shared.thread_store.chunk_sets import (
    LABELS,
    MessagesOvertakenError,
    delete_stale,
    label_chunks,
    missing_chunks,
)
from shared.thread_store.moving import load_announced_messages
from stages.registration import register_stage

blueprint = func.Blueprint()
SERVICE = {"service": "chunking"}
MAX_RECIPIENTS = 20  # indexed for search
_PATCH = re.compile(r"^(?:diff --git |@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9})", re.MULTILINE)
FACTS = 1  # raise it when `_document` derives other metadata from the same text
OVERLAP_TOKENS = 24  # about a tenth of a chunk: a sentence cut by a border is complete in one of the chunks


async def chunk_messages(event: Event[JSONParsed], context: StageContext) -> StageResult:
    """Store the chunks of the messages and delete the chunks of their earlier texts."""
    keys, clients, session = event.data.message_keys, context.clients, context.session
    messages = await load_announced_messages(clients, keys, event.data.archive_id, session)
    tokens = await model_tokens(clients)
    settings = _chunk_settings(context, tokens.most)
    embed = await _sentence_embedder(settings, context)
    sets = _chunk_sets(messages, settings, tokens, context)
    chunks = await asyncio.to_thread(
        _chunks_of, messages, sets, tokens.tokenizer, settings, embed, context.now()
    )
    changed = await _store(chunks, messages, sets, context)
    deleted = set(keys) - {message.id for message in messages}
    split_again = {mail.id for mail in messages if mail.chunk_set not in (None, sets[mail.id])}
    replaced = {mail.id for mail in messages if mail.replaced}
    await delete_stale(clients, changed | deleted | replaced | split_again, session)
    # Until a message names the new set, a sweep may take the chunks of an earlier attempt for stale ones.
    again = {chunk.id for chunk in chunks if chunk.message_key in split_again - changed}
    changed |= {message_of_chunk(id_) for id_ in await missing_chunks(clients, again, session)}
    if changed:
        raise MessagesOvertakenError(f"{len(changed)} messages changed, among them {min(changed)}")
    if not messages:  # all of them were deleted with their archive
        return StageResult()
    return StageResult(
        [_announcement(event.data.archive_id, messages, chunks, settings.strategy)],
        counts={"messages": len(messages), "chunks": len(chunks)},
    )


async def _store(
    chunks: Sequence[Chunk], messages: Sequence[Message], sets: Mapping[str, str], context: StageContext
) -> set[str]:
    """Store chunks and labels. Return the messages that changed or were deleted after they were read."""
    store, session = context.clients.store, context.session
    created, metrics = await store.create_missing(chunks, session), pipeline_metrics()
    new = [chunk for chunk in chunks if chunk.id in created]
    metrics.chunks_created.add(len(new), SERVICE)
    if len(new) < len(chunks):
        metrics.duplicates.add(len(chunks) - len(new), {**SERVICE, "kind": "chunk"})
    for chunk in new:
        metrics.chunk_size.record(chunk.token_count, SERVICE)
    stored = {chunk.message_key for chunk in chunks if chunk.id not in created}
    labels = {
        message.id: message.model_dump(include={*LABELS}) for message in messages if message.id in stored
    }
    await label_chunks(context.clients, labels, session, is_announced=True)
    counts = Counter(chunk.message_key for chunk in chunks)
    named = {key: (name, counts[key]) for key, name in sets.items()}
    return await mark_processed(store, messages, named, session)


def _chunk_sets(
    messages: Sequence[Message], settings: ChunkSettings, tokens: ModelTokens, context: StageContext
) -> dict[str, str]:
    model = context.clients.settings.EMBEDDING_MODEL if settings.strategy is Strategy.SEMANTIC else ""
    splitting = f"{FACTS} {settings} {tokens.tokenizer.digest} {model}"
    return {message.id: chunk_set(message.text_version, splitting) for message in messages}


def _chunk_settings(context: StageContext, most: int) -> ChunkSettings:
    """Return the sizes from the settings, at most what the model reads: it ignores the rest of a chunk."""
    given = context.clients.settings
    size = min(given.CHUNKING_MAX_TOKENS, most)
    return ChunkSettings(Strategy(given.CHUNKING_STRATEGY), size, min(OVERLAP_TOKENS, size // 2))


async def _sentence_embedder(settings: ChunkSettings, context: StageContext) -> Embedder | None:
    """Return None unless the strategy is semantic: no other strategy compares sentences."""
    if settings.strategy is not Strategy.SEMANTIC:
        return None
    embed = embed_with(await embedder(context.clients))
    return lambda sentences: embed(sentences).tolist()


def _chunks_of(
    messages: Sequence[Message],
    sets: Mapping[str, str],
    tokenizer: ModelTokenizer,
    settings: ChunkSettings,
    embed: Embedder | None,
    now: datetime,
) -> list[Chunk]:
    return [
        _document(message, sets[message.id], piece, now)
        for message in messages
        for piece in chunk_body(message.body_raw, read_segments(message.segments), tokenizer, settings, embed)
    ]


def _document(message: Message, set_: str, piece: TextChunk, now: datetime) -> Chunk:
    id_ = chunk_id(message.id, set_, piece.index)
    return Chunk(
        id=id_,
        chunk_id=id_,
        message_key=message.id,
        message_id=message.message_id,
        thread_id=message.thread_id,
        archive_id=message.archive_id,
        archive_ids=message.archive_ids,
        label_version=message.label_version,
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
    """Return the metadata that only searches use."""
    people = [*message.to, *message.cc][:MAX_RECIPIENTS]
    return {
        "recipients": list(dict.fromkeys(person.email.lower() for person in people if person.email)),
        "recipient_names": list(dict.fromkeys(person.name for person in people if person.name)),
        "has_patch": _PATCH.search(message.body_raw) is not None,
    }


def _announcement(
    archive_id: str, messages: Sequence[Message], chunks: Sequence[Chunk], strategy: Strategy
) -> ChunksPrepared:
    """Announce messages without chunks, too: orchestration waits for their threads."""
    return chunks_prepared(
        [
            PreparedChunk(
                chunk.id, chunk.thread_id, chunk.message_key, chunk.label_version, chunk.token_count
            )
            for chunk in chunks
        ],
        message_keys=[message.id for message in messages],
        thread_ids={message.thread_id for message in messages},
        strategy=strategy.value,
        archive_id=archive_id,
        versions=_versions(archive_id, messages),
    )


def _versions(archive_id: str, messages: Sequence[Message]) -> str:
    """Return a hash of the versions, so that the topic does not drop a newer event as a duplicate."""
    versions = (f"{message.text_version} {message.label_version} {message.conflicts}" for message in messages)
    return hashlib.sha256("\n".join([archive_id, *versions]).encode()).hexdigest()[:16]


def _document_ids(data: JSONParsed) -> list[str]:
    return data.message_keys


CHUNKING = Stage(topology.CHUNKING, chunk_messages, _document_ids)

register_stage(blueprint, CHUNKING)
