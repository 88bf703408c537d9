"""Why an archive is not done: which documents, which stage, which error, what happens next and when."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.queries.several_containers import unfinished_of_archive
from shared.pipeline.progress import ArchiveProgress, archive_progress
from shared.upkeep.requeue.due_document import COLLECTIONS, Collection
from shared.upkeep.requeue.policy import Policy

MOST = 5000  # documents of a collection that are looked at
GIVEN_UP = ("failed_max_retries", "failed")


@dataclass
class Obstacle:
    """Documents that are held up by the same thing."""

    collection: str
    stage: str
    state: str
    error: str | None
    next: str
    at: datetime | None = None  # when that happens, at the earliest
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        return {**vars(self), "at": self.at.isoformat() if self.at else None}


@dataclass(frozen=True)
class WhyNotDone:
    progress: ArchiveProgress
    obstacles: list[Obstacle]

    def shown(self) -> dict[str, Any]:
        return {
            "archive_id": self.progress.archive_id,
            "status": self.progress.status,
            "complete": self.progress.complete,
            "percent": self.progress.percent,
            "obstacles": [obstacle.shown() for obstacle in self.obstacles],
        }


async def why_not_done(clients: Clients, archive_id: str) -> WhyNotDone:
    progress = await archive_progress(clients, archive_id)
    found = await asyncio.gather(*(_obstacles(clients, collection, archive_id) for collection in COLLECTIONS))
    return WhyNotDone(progress, [obstacle for some in found for obstacle in some])


async def _obstacles(clients: Clients, collection: Collection, archive_id: str) -> list[Obstacle]:
    policy = Policy.from_settings(clients.settings)
    grouped: dict[tuple[str, str | None, str], Obstacle] = {}
    seen = 0
    async for row in clients.store.query(unfinished_of_archive(collection), Session(), archive=archive_id):
        obstacle = _judged(collection, row, policy)
        known = grouped.setdefault((obstacle.state, obstacle.error, obstacle.next), obstacle)
        known.count += 1
        known.examples = [*known.examples, str(row["id"])][:3]
        known.at = min(filter(None, (known.at, obstacle.at)), default=None)
        seen += 1
        if seen == MOST:
            break
    return sorted(grouped.values(), key=lambda obstacle: -obstacle.count)


def _judged(collection: Collection, row: dict[str, Any], policy: Policy) -> Obstacle:
    attempts, error = int(row.get("attemptCount") or 0), row.get("lastError")
    state, following, at = _next(row, attempts, policy, policy.max_attempts[collection.name])
    shortened = None if error is None else str(error).partition("\n")[0][:200]
    return Obstacle(collection.name, collection.stage, state, shortened, following, at)


def _next(row: dict[str, Any], attempts: int, policy: Policy, most: int) -> tuple[str, str, datetime | None]:
    """Its state, what happens next, and when at the earliest: as the sweep decides."""
    if row["status"] in GIVEN_UP:
        return "given up", "nothing by itself: fix the cause, then `documents retry`", None
    last, requeued = row.get("lastAttemptTime"), row.get("requeued_at")
    heard = max((str(time) for time in (last, requeued) if time), default=None)
    if heard is None:
        since = datetime.fromisoformat(row["created_at"])
        return "not attempted yet", "the sweep sends it again", since + policy.grace
    if row.get("lastError") and requeued is None:
        due = datetime.fromisoformat(heard) + policy.delay(attempts)
        following = "the sweep gives it up" if attempts >= most else "the sweep tries it again"
        return f"failed, attempt {attempts} of {most}", following, due
    again = "if nothing is heard, the sweep tries it again"
    return f"under way, attempt {attempts}", again, datetime.fromisoformat(heard) + policy.silence(attempts)
