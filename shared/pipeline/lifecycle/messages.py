"""Changes of a message's state."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.times import stored_time
from shared.documents.base import ProcessingStatus
from shared.documents.threads import Message
from shared.pipeline.lifecycle.attempts import RESET_ATTEMPTS


async def messages_processed(
    store: Store, messages: Sequence[Message], *, attempt: int, now: datetime, session: Session
) -> None:
    """Precondition: all their chunks are stored. One that was processed before stays as it is.

    Messages come in batches, so their attempt is counted together with the outcome: one write instead of two.
    """
    done: dict[str, Any] = {
        "status": ProcessingStatus.PROCESSED.value,
        "lastAttemptTime": stored_time(now),
        "lastError": None,
    }
    patches = [
        Patch(
            message.id,
            message.thread_id,
            set={**done, "attemptCount": max(message.attemptCount, attempt)},
        )
        for message in messages
        if message.status is not ProcessingStatus.PROCESSED
    ]
    await store.patch_all(Message, patches, session)


async def messages_reset(store: Store, keys: Iterable[tuple[str, str]], session: Session) -> None:
    """Have these (id, thread) chunked again. Precondition: their chunks may be of another content."""
    await store.patch_all(Message, [Patch(id_, thread, set=RESET_ATTEMPTS) for id_, thread in keys], session)
