"""Mark digests as stale after a change of one of their threads.

A document for each digest counts the changes, and a refresh notes the count at its start. So any number of
changes between two refreshes costs one write.
"""

from collections.abc import Iterable
from datetime import datetime

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.models.queries.threads import MESSAGE_DATES
from shared.models.reports import Digest
from shared.models.threads import Thread
from shared.pipeline.state.summaries import mark_digest_stale
from shared.summaries.digest_scopes import DigestScope, scopes_of_thread


async def touch_digests(clients: Clients, thread: Thread, session: Session) -> list[DigestScope]:
    """Mark every digest that the thread belongs to as stale."""
    dates = [
        datetime.fromisoformat(row["date"])
        async for row in clients.store.query(MESSAGE_DATES, session, thread=thread.id)
    ]
    sources = thread.sources or [source for source in [thread.source] if source]
    scopes = scopes_of_thread(sources, thread.draft_mentions, dates)
    await touch(clients, scopes)
    return scopes


async def touch(clients: Clients, scopes: Iterable[DigestScope]) -> None:
    store, now = clients.store, clients.runtime.now()
    for scope in sorted(set(scopes), key=lambda scope: scope.name):
        try:
            await mark_digest_stale(store, scope.id)
        except DocumentNotFoundError:
            await store.create(Digest(id=scope.id, scope=scope.name, created_at=now), Session())
            await mark_digest_stale(store, scope.id)
