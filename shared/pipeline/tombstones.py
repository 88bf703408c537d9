"""What the stages ask about deletions. A removal's id is made of what it removes, so this is a point read."""

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.ids import removal_id
from shared.documents.sources import Archive, OperationStatus, Removal

DONE = frozenset({OperationStatus.SUCCEEDED, OperationStatus.FAILED})


async def find_removal(store: Store, kind: str, target: str) -> Removal | None:
    """The deletion of it, under way or done."""
    id_ = removal_id(kind, target)
    return await store.find(Removal, id_, id_, Session())


async def was_removed(store: Store, archive_id: str, session: Session) -> bool:
    """Whether the archive is being deleted, or was; not if it was never seen, or has come in again."""
    archive = await store.find(Archive, archive_id, archive_id, session)
    if archive is not None:
        return archive.removing
    return await find_removal(store, "archive", archive_id) is not None


async def is_removing(store: Store, archive_id: str, session: Session) -> bool:
    """Whether the archive is being deleted, or is gone. Ask with the threading lock held."""
    archive = await store.find(Archive, archive_id, archive_id, session)
    return archive is None or archive.removing
