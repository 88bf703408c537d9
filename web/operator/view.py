"""The data of the operator page, cached for a few seconds and shared by concurrent visitors."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from shared.azure.connections import Clients
from shared.models.records import Audit, AuditStatus
from shared.operations.deadletters.diagnosis import Group, diagnosed_dead_letters, group_dead_letters
from shared.operations.due_documents import DueDocument
from shared.operations.oversight.status import DocumentsStatus, StageStatus, SystemStatus, read_status
from shared.operations.oversight.stuck_documents import failed_documents, stuck_documents

FRESH_SECONDS = 3.0
STALE_SECONDS = 5.0  # unresponsive services are reported after this time
MOST_PER_QUEUE = 5000  # read at most, because more do not change the operator's task
SHOWN_DOCUMENTS = 20
SHOWN_OPERATIONS = 10
UNDER_WAY = frozenset({AuditStatus.ASKED, AuditStatus.RUNNING})


@dataclass(frozen=True)
class View:
    status: SystemStatus
    groups: list[Group]
    stuck: list[DueDocument]
    failed: list[DueDocument]

    @property
    def done(self) -> dict[str, StageStatus]:
        return {stage.stage: stage for stage in self.status.stages}

    @property
    def kept(self) -> dict[str, DocumentsStatus]:
        return {counts.stage: counts for counts in self.status.documents}

    @property
    def partial(self) -> bool:
        return any(queue.dead > MOST_PER_QUEUE for queue in self.status.queues)


def running_on(status: SystemStatus, group: str) -> Audit | None:
    for audit in status.operations:
        if audit.status in UNDER_WAY and group in audit.selection.get("groups", []):
            return audit
    return None


_read: WeakKeyDictionary[Clients, tuple[float, asyncio.Task[View]]] = WeakKeyDictionary()


async def view_of(clients: Clients, *, fresh: bool = False) -> View:
    """Return the cached view. It is kept for four times its reading time, within limits."""
    until, task = _read.get(clients, (0.0, None))
    if task is None or fresh or time.monotonic() > until or (task.done() and task.exception() is not None):
        task = asyncio.create_task(_read_once(clients))
        _read[clients] = (float("inf"), task)
    return await asyncio.shield(task)


async def _read_once(clients: Clients) -> View:
    """Read the view and set its expiry. The task is shielded from visitors who disconnect."""
    started = time.monotonic()
    view = await _read_view(clients)
    ended, task = time.monotonic(), asyncio.current_task()
    if task is not None and _read[clients][1] is task:  # a fresh read may have replaced it
        _read[clients] = (ended + min(STALE_SECONDS, max(FRESH_SECONDS, 4 * (ended - started))), task)
    return view


async def _read_view(clients: Clients) -> View:
    status = await read_status(clients, operations=SHOWN_OPERATIONS, app_since=clients.connected_at)
    if "documents" in status.unanswered:  # causes are documents as well
        return View(status, [], [], [])
    stuck, failed = await asyncio.gather(_first(stuck_documents(clients)), _first(failed_documents(clients)))
    queues = [
        queue.queue for queue in status.queues if queue.dead
    ]  # opening a link to an empty queue takes time
    dead_letters = await diagnosed_dead_letters(clients, queues, most=MOST_PER_QUEUE, judged=True)
    return View(status, group_dead_letters(dead_letters), stuck, failed)


async def _first(found: AsyncIterator[DueDocument]) -> list[DueDocument]:
    documents: list[DueDocument] = []
    async for document in found:
        documents.append(document)
        if len(documents) == SHOWN_DOCUMENTS:
            break
    return documents
