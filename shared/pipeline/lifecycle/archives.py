"""Changes of an archive's state."""

from typing import Any

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.errors import DocumentNotFoundError
from shared.documents.sources import Archive, ArchiveStatus


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
    await store.patch(Archive, Patch(archive_id, archive_id, set=done), session)


async def archive_removing(store: Store, archive_id: str, session: Session) -> bool:
    """Stop all stages' work on it; False where it is gone. Precondition: its removal is stored.

    The flag is never taken back: the removal ends with the archive's own document.
    """
    try:
        await store.patch(Archive, Patch(archive_id, archive_id, set={"removing": True}), session)
    except DocumentNotFoundError:
        return False
    return True
