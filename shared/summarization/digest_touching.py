"""Marks digests that have to be made again: a document for each counts how often it was touched.

A refresh notes the count that it starts from. So thousands of threads of one week cost one write between two
refreshes.
"""

from collections.abc import Iterable
from datetime import datetime

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.documents.queries.threads import MESSAGE_DATES
from shared.documents.reports import Digest
from shared.documents.threads import Thread
from shared.domain.summaries.digest_scopes import DigestScope, scopes_of_thread
from shared.pipeline.lifecycle.summaries import digest_touched


async def touch_digests(clients: Clients, thread: Thread, session: Session) -> list[DigestScope]:
    """Have every digest that the thread belongs to made again."""
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
            await digest_touched(store, scope.id)
        except DocumentNotFoundError:
            await store.create(Digest(id=scope.id, scope=scope.name, created_at=now), Session())
            await digest_touched(store, scope.id)
