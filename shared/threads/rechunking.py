"""Chunks of a message that was chunked before: the stored ones are brought in line with its content.

A message gets other content when another archive brings a variant that sorts first. Chunk ids are made of the
message's key and a number, so they stay: texts that differ are overwritten, and chunks too many are deleted.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Patch, Session
from shared.clients.search.fields import archives_of_chunk, facts_of_chunk
from shared.core.errors import OvertakenError
from shared.documents.base import ProcessingStatus, UtcTime
from shared.documents.containers import read_document
from shared.documents.queries.threads import CHUNK_CREATION_TIMES, CHUNKS_OF_MESSAGES, STORED_VARIANTS
from shared.documents.threads import Chunk, Message
from shared.pipeline.lifecycle.archives import chunk_relabelled, chunks_reset

_TIME: TypeAdapter[datetime] = TypeAdapter(UtcTime)
MAX_LOOKS = 5


class MessageReplacedError(OvertakenError):
    """A message got other content while its chunks were written: the stage retries."""


class ChunkReplacedError(OvertakenError):
    """A chunk got another text while it was embedded: the stage retries."""


async def sync_stored_chunks(
    clients: Clients,
    messages: Sequence[Message],
    chunks: Sequence[Chunk],
    created: Collection[str],
    session: Session,
) -> None:
    """Compare the chunks that were stored before (not in `created`) with those that the messages have now."""
    wanted = {chunk.id: chunk for chunk in chunks}
    known = {chunk.message_key for chunk in chunks if chunk.id not in created}
    new = {chunk.message_key for chunk in chunks} - known
    chunked_before = [message.id for message in messages if message.id not in new]
    found = await clients.store.query_by_ids(CHUNKS_OF_MESSAGES, chunked_before, session)
    current = [read_document(Chunk, row) for row in found]
    surplus = [chunk for chunk in current if chunk.id not in wanted]
    pairs = [(chunk, wanted[chunk.id]) for chunk in current if chunk.id in wanted]
    changed = [(old, new) for old, new in pairs if _content(old) != _content(new)]
    if surplus or changed:  # a worker that was paused would undo what others have written
        raise_for_changed(await _replaced(clients, messages, session))
    # The vector first: after a crash, a chunk without its vector is found again, and the reverse is not.
    await clients.index.delete([chunk.id for chunk in surplus])
    await clients.store.delete_all(Chunk, [chunk.id for chunk in surplus], session)
    await _update(changed, clients, session)


async def _update(changed: Sequence[tuple[Chunk, Chunk]], clients: Clients, session: Session) -> None:
    other_text = [(old, new) for old, new in changed if _text(old) != _text(new)]
    await clients.store.upsert_all([_successor(new, old) for old, new in other_text], session)
    same_text = [(old, new) for old, new in changed if _text(old) == _text(new)]
    patches = [Patch(new.id, set=_position(new)) for _, new in same_text]
    # Pending, as a worker may be about to say that it is embedded, with the labels that it had.
    given_up = ProcessingStatus.FAILED_MAX_RETRIES
    patches += [chunk_relabelled(new) for old, new in same_text if old.status is not given_up]
    await clients.store.patch_all(Chunk, patches, session)


def _text(chunk: Chunk) -> tuple[str, int]:
    return chunk.text, chunk.token_count


def _content(chunk: Chunk) -> tuple[object, ...]:
    return _text(chunk), _position(chunk)


def _successor(chunk: Chunk, replaced: Chunk) -> Chunk:
    """The chunk with a `created_at` after the other's, by which `ensure_texts_unchanged` tells them apart."""
    later = max(chunk.created_at, replaced.created_at + timedelta(microseconds=1))
    return chunk.model_copy(update={"created_at": later})


def _position(chunk: Chunk) -> dict[str, object]:
    """The fields that may differ although the text is the same."""
    return {
        "thread_id": chunk.thread_id,
        "archive_id": chunk.archive_id,
        "archive_ids": chunk.archive_ids,
        "start_offset": chunk.start_offset,
        "end_offset": chunk.end_offset,
        "metadata": chunk.metadata,
    }


async def index_labels(clients: Clients, chunks: Sequence[Chunk]) -> None:
    """Write the labels of chunks whose vectors and texts the index has."""
    await clients.index.upsert([_indexed(chunk) for chunk in chunks])


def _indexed(chunk: Chunk) -> dict[str, object]:
    return {**_labels(chunk), **facts_of_chunk(chunk)}


def _labels(chunk: Chunk) -> dict[str, object]:
    return {"chunk_id": chunk.id, "thread_id": chunk.thread_id, **archives_of_chunk(chunk)}


async def _replaced(clients: Clients, messages: Sequence[Message], session: Session) -> list[str]:
    """Those that are stored with another content, or other labels, than they were read."""
    await clients.store.refresh(Message, session)
    stored = await clients.store.query_by_ids(STORED_VARIANTS, [message.id for message in messages], session)
    now = {row["id"]: (row["variant"], row["thread_id"], row.get("archive_ids", [])) for row in stored}
    read = {message.id: (message.variant, message.thread_id, message.archive_ids) for message in messages}
    return [key for key, was in read.items() if now.get(key, was) != was]


def raise_for_changed(keys: Collection[str]) -> None:
    """Have the stage repeat where messages have other content or labels than the chunks just written."""
    if keys:
        raise MessageReplacedError(f"{len(keys)} messages were changed, among them {min(keys)}")


async def ensure_texts_unchanged(clients: Clients, chunks: Sequence[Chunk], session: Session) -> None:
    """Raise where a chunk was overwritten since it was read, as `created_at` tells: its vector is outdated.

    Where only its labels have changed, they are written to the index here, as the change may not have seen
    the vector. That write may be overtaken, too, so the look is repeated.
    """
    await clients.store.refresh(Chunk, session)
    for _ in range(MAX_LOOKS):
        ids = [chunk.id for chunk in chunks]
        stored = await clients.store.query_by_ids(CHUNK_CREATION_TIMES, ids, session)
        await _ensure_same(clients, chunks, stored, session)
        read = {chunk.id: chunk for chunk in chunks}
        others = {row["id"]: chunk for row in stored if (chunk := _with_labels(row, read))}
        if not others:
            return
        await index_places(clients, list(others.values()))
        chunks = [others.get(chunk.id, chunk) for chunk in chunks]
        await clients.store.refresh(Chunk, session)
    raise ChunkReplacedError(f"the labels of {len(chunks)} chunks changed at every look")


async def _ensure_same(
    clients: Clients, chunks: Sequence[Chunk], stored: Sequence[Mapping[str, Any]], session: Session
) -> None:
    now = {row["id"]: _TIME.validate_python(row["created_at"]) for row in stored if row.get("created_at")}
    replaced = [chunk.id for chunk in chunks if now.get(chunk.id, chunk.created_at) != chunk.created_at]
    if replaced:
        await chunks_reset(clients.store, replaced, session)
        raise ChunkReplacedError(f"{len(replaced)} chunks were replaced, among them {replaced[0]}")


def _with_labels(row: Mapping[str, Any], read: Mapping[str, Chunk]) -> Chunk | None:
    """The chunk with the thread and archives that it has now, where these are others."""
    chunk = read.get(row["id"])
    labels = {name: row[name] for name in ("thread_id", "archive_id", "archive_ids") if name in row}
    if chunk is None or all(getattr(chunk, name) == value for name, value in labels.items()):
        return None
    return chunk.model_copy(update=labels)


async def index_places(clients: Clients, chunks: Sequence[Chunk]) -> None:
    """Write the thread and archives of chunks that have their vector to the index."""
    await clients.index.upsert([_labels(chunk) for chunk in chunks])
