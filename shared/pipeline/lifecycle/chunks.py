"""Changes of a chunk's state. Chunks are written in batches, so most functions return the patch."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.errors import ClassifiedError
from shared.core.times import stored_time
from shared.documents.base import ProcessingStatus
from shared.documents.threads import Chunk
from shared.pipeline.lifecycle.attempts import RESET_ATTEMPTS, error_text

NOT_EMBEDDED = {"embedding_generated": False, "embedding_model": None}


def is_settled(chunk: Chunk, model: str) -> bool:
    """Whether embedding has nothing left to do: embedded with this very model, or given up."""
    embedded = chunk.embedding_generated and chunk.embedding_model == model
    return embedded or chunk.status is ProcessingStatus.FAILED_MAX_RETRIES


def chunk_embedded(chunk: Chunk, *, model: str, attempt: int, now: datetime) -> Patch:
    """Precondition: its vector is in the index."""
    outcome = {
        "embedding_generated": True,
        "embedding_model": model,
        "status": ProcessingStatus.PROCESSED.value,
        "lastError": None,
    }
    return _settled(chunk, outcome, attempt, now)


def chunk_given_up(chunk: Chunk, failure: ClassifiedError, *, attempt: int, now: datetime) -> Patch:
    """Precondition: the model or the index refuses it for good. Its thread gets ready without it."""
    outcome = {"status": ProcessingStatus.FAILED_MAX_RETRIES.value, "lastError": error_text(failure)}
    return _settled(chunk, outcome, attempt, now)


def _settled(chunk: Chunk, outcome: dict[str, Any], attempt: int, now: datetime) -> Patch:
    """Chunks come in batches: their attempt is counted together with the outcome."""
    counted = {"attemptCount": max(chunk.attemptCount, attempt), "lastAttemptTime": stored_time(now)}
    return Patch(chunk.id, chunk.thread_id, set={**outcome, **counted})


def chunk_reembedded(chunk: Chunk, *, model: str) -> Patch:
    """Precondition: it is embedded, and its vector of this model is in the model's own index."""
    return Patch(chunk.id, chunk.thread_id, set={"embedding_model": model})


def chunk_relabelled(chunk: Chunk) -> Patch:
    """Precondition: it is embedded, and what the index has to say of it besides its vector is other now.

    It is pending, so that the index learns of that even if the event is lost.
    """
    return Patch(chunk.id, chunk.thread_id, set=RESET_ATTEMPTS)


async def chunks_recovered(store: Store, chunks: Iterable[Chunk], session: Session) -> None:
    """Forget the error of an earlier delivery that embedded them and then failed to announce it.

    Precondition: they are announced now.
    """
    recovered = [chunk for chunk in chunks if chunk.status is ProcessingStatus.PROCESSED and chunk.lastError]
    patches = [Patch(chunk.id, chunk.thread_id, set={"lastError": None}) for chunk in recovered]
    await store.patch_all(Chunk, patches, session)


async def chunks_reset(store: Store, keys: Iterable[tuple[str, str]], session: Session) -> None:
    """Have these (id, thread) embedded again. Precondition: they may have the vector of another text."""
    undone = {**NOT_EMBEDDED, "status": ProcessingStatus.PENDING.value}
    await store.patch_all(Chunk, [Patch(id_, thread, set=undone) for id_, thread in keys], session)
