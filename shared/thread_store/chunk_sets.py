"""Delete stale chunks, and keep the labels of chunks and vectors up to date.

A chunk's text never changes, because its id contains the version of the text. A message names its set of
chunks when it is processed. Chunks of an earlier text, of another splitting or of no message are stale.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.core.concurrency import gather_limited
from shared.core.errors import ConflictError
from shared.core.ids import set_of_chunk, text_version_of_chunk
from shared.models.base import ProcessingStatus
from shared.models.queries.threads import CHUNK_LABELS, CHUNKS_OF_KEYS, MESSAGE_STATES
from shared.models.threads import Chunk, Message
from shared.pipeline.state.archives import update_labels
from shared.pipeline.state.attempts import RESET_ATTEMPTS

Row = Mapping[str, Any]
LABELS = ("thread_id", "archive_id", "archive_ids", "label_version")
MAX_LOOKS = 8


class MessagesOvertakenError(ConflictError):
    """Messages or chunks got another text or other labels while a stage worked on them: it repeats."""


def is_stale(chunk_id: str, message: Row | None) -> bool:
    """Return whether the chunk is not of the message. Precondition: the message was read after the chunk."""
    if message is None:
        return True
    version, known = text_version_of_chunk(chunk_id), message.get("text_version") or 0
    own = message.get("chunk_set")
    return version < known or (version == known and own not in (None, set_of_chunk(chunk_id)))


async def delete_stale(clients: Clients, keys: Collection[str], session: Session) -> set[str]:
    """Delete the stale chunks of these messages, with their vectors, and return their ids."""
    if not keys:
        return set()
    await clients.store.refresh(Chunk, session)
    rows = await clients.store.query_by_ids(CHUNKS_OF_KEYS, sorted(keys), session)
    messages = await message_states(clients, keys, session)
    stale = [row for row in rows if is_stale(row["id"], messages.get(row["message_key"]))]
    await delete_chunks(clients, stale, session)
    await _restore_own(clients, stale, session)
    return {row["id"] for row in stale}


async def _restore_own(clients: Clients, deleted: Sequence[Row], session: Session) -> None:
    """Make messages pending that named the set of a deleted chunk meanwhile, so that chunking repeats."""
    if not deleted:
        return
    messages = await message_states(clients, {row["message_key"] for row in deleted}, session)
    named = {
        row["message_key"] for row in deleted if not is_stale(row["id"], messages.get(row["message_key"]))
    }
    await clients.store.patch_all(Message, [Patch(key, set=RESET_ATTEMPTS) for key in sorted(named)], session)


async def missing_chunks(clients: Clients, ids: Collection[str], session: Session) -> set[str]:
    """Return the chunks that do not exist at the primary."""
    found = await _labels_now(clients, ids, session) if ids else []
    return set(ids) - {row["id"] for row in found}


async def message_states(clients: Clients, keys: Collection[str], session: Session) -> dict[str, Row]:
    """Return the text version and the chunk set of each of these messages, as the primary has them."""
    await clients.store.refresh(Message, session)
    rows = await clients.store.query_by_ids(MESSAGE_STATES, sorted(keys), session)
    return {row["id"]: row for row in rows}


async def delete_chunks(clients: Clients, rows: Iterable[Row], session: Session) -> None:
    """Delete the vectors first, so that a crash never leaves a vector without a chunk.

    A chunk that has changed since may have a new vector, so both are deleted once more.
    """
    store, left = clients.store, [*rows]
    for _ in range(MAX_LOOKS):
        if not left:
            return
        await clients.index.delete([row["id"] for row in left])
        deleted = await gather_limited(
            store.delete(Chunk, row["id"], session, etag=row["_etag"]) for row in left
        )
        refused = [row["id"] for row, done in zip(left, deleted, strict=True) if not done]
        left = [*(await _labels_now(clients, refused, session))] if refused else []
    raise MessagesOvertakenError(f"{len(left)} chunks changed whenever they were about to be deleted")


async def label_chunks(
    clients: Clients, messages: Mapping[str, Row], session: Session, *, is_announced: bool
) -> Sequence[Row]:
    """Update stored chunks whose labels are older than the labels of their messages, and return the chunks.

    Announced chunks are pending until the index has the labels, even if the event is lost.
    """
    rows = await clients.store.query_by_ids(CHUNKS_OF_KEYS, sorted(messages), session)
    older = [row for row in rows if _label(row) < messages[row["message_key"]]["label_version"]]
    patches = [
        update_labels(
            row["id"],
            {name: messages[row["message_key"]][name] for name in LABELS},
            is_pending=is_announced and row["status"] != ProcessingStatus.FAILED_MAX_RETRIES,
        )
        for row in older
    ]
    await clients.store.patch_all(Chunk, patches, session)
    return older


async def index_labels(clients: Clients, rows: Sequence[Row], session: Session) -> None:
    """Write the labels of chunks to their vectors, and repeat while the labels change."""
    known = {row["id"]: row for row in rows}
    for _ in range(MAX_LOOKS):
        if not known:
            return
        await clients.index.upsert([labels_of(row) for row in known.values()])
        now = {row["id"]: row for row in await _labels_now(clients, known, session)}
        await clients.index.delete([id_ for id_ in known if id_ not in now])
        known = {id_: row for id_, row in now.items() if _label(row) != _label(known[id_])}
    raise MessagesOvertakenError(f"the labels of {len(known)} chunks changed at every look")


def labels_of(row: Row) -> dict[str, Any]:
    """Return the id and the labels of a chunk in the form of the index."""
    archives = row["archive_ids"] or [row["archive_id"]]
    labels = {name: row[name] for name in ("thread_id", "archive_id")}
    return {"chunk_id": row["id"], **labels, "archive_ids": archives}


def _label(row: Row) -> int:
    return row.get("label_version") or 0


async def delete_lost_vectors(clients: Clients, ids: Collection[str], session: Session) -> set[str]:
    """Delete the vectors of chunks that no longer exist, and return the ids of these chunks."""
    lost = set(ids)
    if lost:
        lost -= {row["id"] for row in await _labels_now(clients, ids, session)}
        await clients.index.delete(sorted(lost))
    return lost


async def _labels_now(clients: Clients, ids: Collection[str], session: Session) -> Sequence[Row]:
    await clients.store.refresh(Chunk, session)
    return await clients.store.query_by_ids(CHUNK_LABELS, sorted(ids), session)
