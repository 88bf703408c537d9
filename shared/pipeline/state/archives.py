"""State changes of archives, messages and chunks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Store
from shared.core.errors import ClassifiedError, DocumentNotFoundError
from shared.core.ids import removal_id
from shared.models.base import ProcessingStatus
from shared.models.sources import Archive, ArchiveStatus, OperationStatus, Removal
from shared.models.threads import Chunk, Message
from shared.pipeline.state.attempts import RESET_ATTEMPTS, error_text


async def mark_archive_processed(
    store: Store,
    archive_id: str,
    session: Session,
    *,
    message_count: int,
    thread_count: int,
    skipped_count: int,
    skipped: list[dict[str, Any]],
) -> None:
    """Mark the archive processed. Precondition: all its messages are stored and announced."""
    done: dict[str, Any] = {
        "status": ArchiveStatus.PROCESSED.value,
        "message_count": message_count,
        "thread_count": thread_count,
        "skipped_count": skipped_count,
        "skipped": skipped,
        "lastError": None,
    }
    await store.patch(Archive, Patch(archive_id, set=done), session)


async def mark_deleting(store: Store, archive_id: str, session: Session) -> bool:
    """Stop the work of all stages on the archive. Return False if it is gone. Precondition: a stored removal.

    The flag is permanent, because the removal ends with the deletion of the archive's document.
    """
    try:
        await store.patch(Archive, Patch(archive_id, set={"removing": True}), session)
    except DocumentNotFoundError:
        return False
    return True


DONE = frozenset({OperationStatus.SUCCEEDED, OperationStatus.FAILED})


async def find_removal(store: Store, kind: str, target: str) -> Removal | None:
    """Return the deletion of the target, running or finished."""
    id_ = removal_id(kind, target)
    return await store.find(Removal, id_, Session())


async def was_removed(store: Store, archive_id: str, session: Session) -> bool:
    """Return whether the archive is being or was deleted. False if it is unknown or was stored again."""
    archive = await store.find(Archive, archive_id, session)
    if archive is not None:
        return archive.removing
    return await find_removal(store, "archive", archive_id) is not None


async def mark_processed(
    store: Store, messages: Sequence[Message], sets: Mapping[str, tuple[str, int]], session: Session
) -> set[str]:
    """Mark the messages processed if text and labels are as read. Return the ids of the other messages.

    `sets` has the name and size of each chunk set. Precondition: all chunks of the sets are stored.
    """
    done = {"status": ProcessingStatus.PROCESSED.value, "lastError": None}
    patches = []
    for message in messages:
        name, count = sets[message.id]
        as_read = f"{_is('text_version', message.text_version)} AND {_label_as_read(message)}"
        named = {**done, "chunk_set": name, "chunk_count": count}
        patches.append(Patch(message.id, set=named, condition=as_read))
    return await store.patch_all(Message, patches, session)


def _label_as_read(document: Message | Chunk) -> str:
    return _is("label_version", document.label_version)


def _is(name: str, number: int) -> str:
    return f"c.{name} = {number:d}" if number else f"(NOT IS_DEFINED(c.{name}) OR c.{name} = 0)"


NOT_EMBEDDED = {"embedding_generated": False, "embedding_model": None}


def is_chunk_finished(chunk: Chunk, model: str) -> bool:
    """Return whether the chunk is embedded with this model or has failed permanently."""
    embedded = chunk.embedding_generated and chunk.embedding_model == model
    return embedded or chunk.status is ProcessingStatus.FAILED_MAX_RETRIES


def mark_embedded(chunk: Chunk, *, model: str) -> Patch:
    """Mark the chunk embedded if its labels are as read. Precondition: the index has its labeled vector."""
    outcome = {
        "embedding_generated": True,
        "embedding_model": model,
        "status": ProcessingStatus.PROCESSED.value,
        "lastError": None,
    }
    return Patch(chunk.id, set=outcome, condition=_label_as_read(chunk))


def mark_chunk_failed(chunk: Chunk, failure: ClassifiedError) -> Patch:
    """Mark the chunk failed. Precondition: the model or the index refuses it permanently."""
    outcome = {"status": ProcessingStatus.FAILED_MAX_RETRIES.value, "lastError": error_text(failure)}
    return Patch(chunk.id, set=outcome, condition=_label_as_read(chunk))


def mark_reembedded(chunk: Chunk, *, model: str) -> Patch:
    """Set the chunk's model. Precondition: the index of that model has the chunk's vector."""
    return Patch(chunk.id, set={"embedding_model": model}, condition=_label_as_read(chunk))


def update_labels(id_: str, labels: Mapping[str, Any], *, is_pending: bool) -> Patch:
    """Set the labels of a chunk unless it has later ones. Precondition: the labels are those of its message.

    If `is_pending` is false, the caller updates the index.
    """
    newer = f"(NOT IS_DEFINED(c.label_version) OR c.label_version < {labels['label_version']:d})"
    return Patch(id_, set={**labels, **(RESET_ATTEMPTS if is_pending else {})}, condition=newer)


async def recover_chunks(store: Store, chunks: Iterable[Chunk], session: Session) -> None:
    """Clear the error of an earlier delivery that embedded the chunks but failed to announce them.

    Precondition: the chunks are announced.
    """
    recovered = [chunk for chunk in chunks if chunk.status is ProcessingStatus.PROCESSED and chunk.lastError]
    patches = [Patch(chunk.id, set={"lastError": None}, condition="true") for chunk in recovered]
    await store.patch_all(Chunk, patches, session)
