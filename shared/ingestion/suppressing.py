"""The mails that must not be stored again. They are recorded before an erasure or deletion starts."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.concurrency import batches_of
from shared.ingestion.redaction import SuppressionList
from shared.models.erasure import ErasureMode, Suppression
from shared.models.queries.operations import SUPPRESSIONS_OF_SOURCE
from shared.models.queries.threads import ERASABLE_OF_ARCHIVE
from shared.models.sources import Archive, Source, SourceType

MESSAGES_A_DOCUMENT = 10_000


async def suppression_list(clients: Clients, source: str, source_type: str) -> SuppressionList:
    """Return the erased mails of the source and the date before which its mails are no longer kept."""
    session = Session()
    found = await clients.store.query_documents(Suppression, SUPPRESSIONS_OF_SOURCE, session, source=source)
    defined = await clients.store.find(Source, source, session)
    before = kept_since(defined, clients.runtime.now()) if defined else None
    return SuppressionList.of(found, fetched=source_type != SourceType.UPLOAD, before=before)


def kept_since(source: Source, now: datetime) -> datetime | None:
    """Return the start of a month, so that archives are rewritten at most once a month."""
    if source.keep_days is None:
        return None
    day = now - timedelta(days=source.keep_days)
    return day.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


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
    """Record the suppression in documents of limited size. A repeat changes nothing."""
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
    """Suppress the mails that only this fetched archive has, because its file may be fetched again."""
    if archive.source_type == SourceType.UPLOAD:
        return
    rows = clients.store.query(ERASABLE_OF_ARCHIVE, Session(), archive=archive.id)
    own = [row["post_id"] async for row in rows if set(row["archive_ids"]) == {archive.id}]
    if own:
        await suppress(clients, f"deleted-{archive.id}", archive.source, ErasureMode.DELETED, own)
