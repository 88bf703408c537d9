"""Changes of a placement's state."""

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.documents.edits import Placement


async def placement_applied(store: Store, placement: Placement, session: Session) -> None:
    """Precondition: the threads are as this version of it says, and their summaries are asked for.

    Where somebody has changed it since it was read, the later word still waits to be applied.
    """
    if not placement.applied:
        await store.replace(placement.model_copy(update={"applied": True}), session)
