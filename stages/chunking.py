"""Chunking: messages become chunks that fit the embedding model's window.

A message of quotes alone has no chunks. It is still marked processed and announced: its thread may wait for
it. A message with another text gets other chunks, and those of its earlier text are deleted.
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
from shared.core.ids import chunk_id, chunk_set
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
from shared.thread_store.chunk_sets import LABELS, MessagesOvertakenError, delete_stale, label_chunks
from shared.thread_store.moving import load_announced_messages
from stages.registration import register_stage

blueprint = func.Blueprint()
SERVICE = {"service": "chunking"}
MOST_RECIPIENTS = 20  # that a search finds a mail by
_PATCH = re.compile(r"^(?:diff --git |@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9})", re.MULTILINE)
FACTS = 1  # raised when `_document` says something else of the same text
OVERLAP_TOKENS = 24  # about a tenth of a chunk: a sentence that is cut is whole in one of the two


async def chunk(event: Event[JSONParsed], work: StageContext) -> StageResult:
    keys = event.data.message_keys
    messages = await load_announced_messages(work.clients, keys, event.data.archive_id, work.session)
    tokens = await model_tokens(work.clients)
    settings = _settings(work, tokens.most)
    embed = await _sentence_embedder(settings, work)
    sets = _sets_of(messages, settings, tokens, work)
    chunks = await asyncio.to_thread(
        _chunks_of, messages, sets, tokens.tokenizer, settings, embed, work.now()
    )
    overtaken = await _store(chunks, messages, sets, work)
    gone = set(keys) - {message.id for message in messages}
    replaced = {one.id for one in messages if one.replaced or one.chunk_set not in (None, sets[one.id])}
    await delete_stale(work.clients, overtaken | gone | replaced, work.session)
    if overtaken:
        raise MessagesOvertakenError(f"{len(overtaken)} messages changed, among them {min(overtaken)}")
    if not messages:  # all of them were deleted with their archive
        return StageResult()
    return StageResult(
        [_announcement(event.data.archive_id, messages, chunks, settings.strategy)],
        counts={"messages": len(messages), "chunks": len(chunks)},
    )


async def _store(
    chunks: Sequence[Chunk], messages: Sequence[Message], sets: Mapping[str, str], work: StageContext
) -> set[str]:
    """Return the messages that have another text or other labels by now, or are gone."""
    store, session = work.clients.store, work.session
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
    await label_chunks(work.clients, labels, session, is_announced=True)
    counts = Counter(chunk.message_key for chunk in chunks)
    named = {key: (name, counts[key]) for key, name in sets.items()}
    return await mark_processed(store, messages, named, session)


def _sets_of(
    messages: Sequence[Message], settings: ChunkSettings, tokens: ModelTokens, work: StageContext
) -> dict[str, str]:
    model = work.clients.settings.EMBEDDING_MODEL if settings.strategy is Strategy.SEMANTIC else ""
    splitting = f"{FACTS} {settings} {tokens.tokenizer.digest} {model}"
    return {message.id: chunk_set(message.text_version, splitting) for message in messages}


def _settings(work: StageContext, most: int) -> ChunkSettings:
    """From the app's settings, and no more than the model reads: the rest would have no vector."""
    given = work.clients.settings
    size = min(given.CHUNKING_MAX_TOKENS, most)
    return ChunkSettings(Strategy(given.CHUNKING_STRATEGY), size, min(OVERLAP_TOKENS, size // 2))


async def _sentence_embedder(settings: ChunkSettings, work: StageContext) -> Embedder | None:
    """Only the semantic strategy compares sentences; the others must not start the encoder."""
    if settings.strategy is not Strategy.SEMANTIC:
        return None
    embed = embed_with(await embedder(work.clients))
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
    """A hash that tells the event from an earlier one of the same messages, which the topic would drop."""
    versions = (f"{one.text_version} {one.label_version} {one.conflicts}" for one in messages)
    return hashlib.sha256("\n".join([archive_id, *versions]).encode()).hexdigest()[:16]


def _documents(data: JSONParsed) -> list[str]:
    return data.message_keys


CHUNKING = Stage(topology.CHUNKING, chunk, _documents)

register_stage(blueprint, CHUNKING)
