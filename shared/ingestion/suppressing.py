"""What must not come in again: written before anything is erased, and when an archive is deleted."""

from collections.abc import Iterable

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.concurrency import batches_of
from shared.documents.erasure import ErasureMode, Suppression
from shared.documents.queries.threads import ERASABLE_OF_ARCHIVE
from shared.documents.sources import Archive, SourceType

MESSAGES_A_DOCUMENT = 10_000


async def suppress(
    clients: Clients,
    operation: str,
    source: str,
    mode: ErasureMode,
    messages: Iterable[str],
    *,
    people: Iterable[str] = (),
    quotes: Iterable[str] = (),
) -> None:
    """The same call again changes nothing. Lines of quotes are as many as the erased mails have."""
    known, lines = sorted(set(messages)), sorted(set(quotes))
    parts = max(1, -(-max(len(known), len(lines)) // MESSAGES_A_DOCUMENT))
    of_messages, of_lines = (batches_of(found, MESSAGES_A_DOCUMENT) for found in (known, lines))
    for number in range(parts):
        document = Suppression(
            id=f"{operation}-{number}",
            source=source,
            mode=mode,
            operation=operation,
            messages=of_messages[number] if number < len(of_messages) else [],
            quotes=of_lines[number] if number < len(of_lines) else [],
            people=sorted(set(people)) if number == 0 else [],
            created_at=clients.runtime.now(),
        )
        await clients.store.upsert(document, Session())


async def suppress_deleted(clients: Clients, archive: Archive) -> None:
    """The mails that only this archive has, where it was fetched: its file may grow, and come again."""
    if archive.source_type == SourceType.UPLOAD:
        return
    rows = clients.store.query(ERASABLE_OF_ARCHIVE, Session(), archive=archive.id)
    own = [row["post_id"] async for row in rows if set(row["archive_ids"]) == {archive.id}]
    if own:
        await suppress(clients, f"deleted-{archive.id}", archive.source, ErasureMode.DELETED, own)
