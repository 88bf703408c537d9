"""Which queues an app takes messages from. Service Bus does not tell who listens: the app says it itself.

Every five minutes, by the housekeeping. One document has the last time for each queue, whichever instance
or app said it.
"""

import os
from collections.abc import Mapping
from datetime import datetime

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.times import stored_time
from shared.documents.records import Run
from shared.pipeline.topology import QUEUES

KIND = "consumers"
ID = "latest"


def enabled_queues(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Those whose function is not disabled by an app setting, as the Functions host reads it."""
    return [queue for queue in QUEUES if not _disabled(queue, environ)]


def _disabled(function: str, environ: Mapping[str, str]) -> bool:
    names = (f"AzureWebJobs.{function}.Disabled", f"AzureWebJobs_{function}_Disabled")
    return any(environ.get(name, "").lower() in {"true", "1"} for name in names)


async def say_consumers(clients: Clients, queues: list[str]) -> None:
    """Note that these have a consumer now."""
    session, now = Session(), clients.runtime.now()
    found = await clients.store.find(Run, ID, KIND, session)
    seen = {**(found.cursor if found else {}), **dict.fromkeys(queues, stored_time(now))}
    note = Run(
        id=ID,
        kind=KIND,
        requested_by="timer",
        started_at=now,
        created_at=found.created_at if found else now,
        cursor=seen,
    )
    await clients.store.upsert(note, session)


async def last_consumers(clients: Clients) -> dict[str, datetime]:
    """By queue, when one was last known to take its messages."""
    found = await clients.store.find(Run, ID, KIND, Session())
    return {queue: datetime.fromisoformat(time) for queue, time in (found.cursor if found else {}).items()}
