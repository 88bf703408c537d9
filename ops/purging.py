"""Archives that were given up for good: deleted, with whatever came of them.

Only whole archives are: a message, a chunk or a thread is part of one, and the consistency checks would make
it again. What was given up of those says so where it is shown, and goes with its archive.
"""

from collections.abc import Sequence

from shared.clients.connections import Clients
from shared.documents.sources import Archive, ArchiveStatus
from shared.upkeep.oversight.stuck_documents import BulkResult, SkippedDocument, StuckDocument
from shared.upkeep.removal.requests import request_removal

GIVEN_UP = frozenset({ArchiveStatus.FAILED_MAX_RETRIES, ArchiveStatus.FAILED})


async def purge_documents(
    clients: Clients, documents: Sequence[StuckDocument], *, requested_by: str
) -> BulkResult:
    """Ask for the deletion of each archive that was given up; the others are left, with the reason."""
    left = [
        SkippedDocument(document.id, why) for document in documents if (why := _why_not(document)) is not None
    ]
    kept = {skipped.id for skipped in left}
    changed = 0
    for document in documents:
        if document.id in kept:
            continue
        asked = await request_removal(
            clients, "archive", document.id, requested_by=requested_by, now=clients.runtime.now()
        )
        if asked is None:
            left.append(SkippedDocument(document.id, "it is gone"))
        else:
            changed += 1
    return BulkResult(changed, left)


def _why_not(document: StuckDocument) -> str | None:
    if document.collection.model is not Archive:
        return "it is part of an archive, and goes with that: `archive delete`"
    status = document.stored.get("status")
    return None if status in GIVEN_UP else f"it is {status}, and not given up: `archive delete` deletes any"
