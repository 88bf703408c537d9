"""Changes of an archive's state."""

from collections.abc import Iterable, Sequence
from typing import Any

from shared.clients.cosmos.session import Patch, Session
from shared.clients.cosmos.store import Store
from shared.core.errors import ClassifiedError, DocumentNotFoundError
from shared.core.ids import removal_id
from shared.documents.base import ProcessingStatus
from shared.documents.sources import Archive, ArchiveStatus, OperationStatus, Removal
from shared.documents.threads import Chunk, Message
from shared.pipeline.lifecycle.attempts import RESET_ATTEMPTS, error_text


async def archive_processed(
    store: Store,
    archive_id: str,
    session: Session,
    *,
    message_count: int,
    thread_count: int,
    skipped_count: int,
    skipped: list[dict[str, Any]],
) -> None:
    """Precondition: all its messages are stored and announced, so that nothing of it is lost by a crash."""
    done: dict[str, Any] = {
        "status": ArchiveStatus.PROCESSED.value,
        "message_count": message_count,
        "thread_count": thread_count,
        "skipped_count": skipped_count,
        "skipped": skipped,
        "lastError": None,
    }
    await store.patch(Archive, Patch(archive_id, set=done), session)


async def archive_removing(store: Store, archive_id: str, session: Session) -> bool:
    """Stop all stages' work on it; False where it is gone. Precondition: its removal is stored.

    The flag is never taken back: the removal ends with the archive's own document.
    """
    try:
        await store.patch(Archive, Patch(archive_id, set={"removing": True}), session)
    except DocumentNotFoundError:
        return False
    return True


DONE = frozenset({OperationStatus.SUCCEEDED, OperationStatus.FAILED})


async def find_removal(store: Store, kind: str, target: str) -> Removal | None:
    """The deletion of it, under way or done."""
    id_ = removal_id(kind, target)
    return await store.find(Removal, id_, Session())


async def was_removed(store: Store, archive_id: str, session: Session) -> bool:
    """Whether the archive is being deleted, or was; not if it was never seen, or has come in again."""
    archive = await store.find(Archive, archive_id, session)
    if archive is not None:
        return archive.removing
    return await find_removal(store, "archive", archive_id) is not None


async def messages_processed(store: Store, messages: Sequence[Message], session: Session) -> set[str]:
    """Those that are not as they were read, and stay as they are: their chunks may be of another content.

    Precondition: all their chunks are stored. It is the check of what was read, so also for those processed
    before.
    """
    done = {"status": ProcessingStatus.PROCESSED.value, "lastError": None}
    patches = [Patch(message.id, set=done, etag=message.etag) for message in messages]
    return await store.patch_all(Message, patches, session)


NOT_EMBEDDED = {"embedding_generated": False, "embedding_model": None}


def is_settled(chunk: Chunk, model: str) -> bool:
    """Whether embedding has nothing left to do: embedded with this very model, or given up."""
    embedded = chunk.embedding_generated and chunk.embedding_model == model
    return embedded or chunk.status is ProcessingStatus.FAILED_MAX_RETRIES


def chunk_embedded(chunk: Chunk, *, model: str) -> Patch:
    """If it is as it was read. Precondition: its vector is in the index, with the labels that were read."""
    outcome = {
        "embedding_generated": True,
        "embedding_model": model,
        "status": ProcessingStatus.PROCESSED.value,
        "lastError": None,
    }
    return Patch(chunk.id, set=outcome, etag=chunk.etag)


def chunk_given_up(chunk: Chunk, failure: ClassifiedError) -> Patch:
    """Precondition: the model or the index refuses it for good. Its thread gets ready without it."""
    outcome = {"status": ProcessingStatus.FAILED_MAX_RETRIES.value, "lastError": error_text(failure)}
    return Patch(chunk.id, set=outcome, etag=chunk.etag)


def chunk_reembedded(chunk: Chunk, *, model: str) -> Patch:
    """Precondition: it is embedded, and its vector of this model is in the model's own index."""
    return Patch(chunk.id, set={"embedding_model": model})


def chunk_relabelled(chunk: Chunk) -> Patch:
    """Precondition: it is embedded, and what the index has to say of it besides its vector is other now.

    It is pending, so that the index learns of that even if the event is lost.
    """
    return Patch(chunk.id, set=RESET_ATTEMPTS)


async def chunks_recovered(store: Store, chunks: Iterable[Chunk], session: Session) -> None:
    """Forget the error of an earlier delivery that embedded them and then failed to announce it.

    Precondition: they are announced now.
    """
    recovered = [chunk for chunk in chunks if chunk.status is ProcessingStatus.PROCESSED and chunk.lastError]
    patches = [Patch(chunk.id, set={"lastError": None}) for chunk in recovered]
    await store.patch_all(Chunk, patches, session)


async def chunks_reset(store: Store, ids: Iterable[str], session: Session) -> None:
    """Have these embedded again. Precondition: they may have the vector of another text."""
    undone = {**NOT_EMBEDDED, "status": ProcessingStatus.PENDING.value}
    await store.patch_all(Chunk, [Patch(id_, set=undone) for id_ in ids], session)
