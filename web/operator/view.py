"""The data of the operator's page, cached for a few seconds and shared by concurrent visitors."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from shared.azure.connections import Clients
from shared.models.records import Audit, AuditStatus
from shared.operations.deadletters.diagnosis import Group, diagnosed_letters, group_letters
from shared.operations.due_documents import DueDocument
from shared.operations.oversight.status import DocumentsStatus, StageStatus, SystemStatus, read_status
from shared.operations.oversight.stuck_documents import failed_documents, stuck_documents

FRESH_SECONDS = 3.0
STALE_SECONDS = 5.0  # what hangs or refuses is named by then, however long reading takes
LETTERS_A_QUEUE = 5000  # read at most: more do not change what an operator has to do
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
        """Whether there are more dead letters than were looked at."""
        return any(queue.dead > LETTERS_A_QUEUE for queue in self.status.queues)


def running_on(status: SystemStatus, group: str) -> Audit | None:
    for audit in status.operations:
        if audit.status in UNDER_WAY and group in audit.selection.get("groups", []):
            return audit
    return None


_read: WeakKeyDictionary[Clients, tuple[float, asyncio.Task[View]]] = WeakKeyDictionary()


async def view_of(clients: Clients, *, fresh: bool = False) -> View:
    """The cached view. It lives four times as long as reading took, within bounds."""
    until, task = _read.get(clients, (0.0, None))
    if task is None or fresh or time.monotonic() > until or (task.done() and task.exception() is not None):
        task = asyncio.create_task(_read_once(clients))
        _read[clients] = (float("inf"), task)
    return await asyncio.shield(task)


async def _read_once(clients: Clients) -> View:
    """Sets the expiry as well: this task is shielded, so a visitor who disconnects cannot cancel it."""
    started = time.monotonic()
    view = await _read_view(clients)
    ended, task = time.monotonic(), asyncio.current_task()
    if task is not None and _read[clients][1] is task:  # a fresh read may have replaced it
        _read[clients] = (ended + min(STALE_SECONDS, max(FRESH_SECONDS, 4 * (ended - started))), task)
    return view


async def _read_view(clients: Clients) -> View:
    status = await read_status(clients, operations=SHOWN_OPERATIONS, app_since=clients.connected_at)
    if "documents" in status.unanswered:  # causes are documents, too
        return View(status, [], [], [])
    stuck, failed = await asyncio.gather(_first(stuck_documents(clients)), _first(failed_documents(clients)))
    queues = [
        queue.queue for queue in status.queues if queue.dead
    ]  # opening a link to the empty ones costs time
    letters = await diagnosed_letters(clients, queues, most=LETTERS_A_QUEUE, judged=True)
    return View(status, group_letters(letters), stuck, failed)


async def _first(found: AsyncIterator[DueDocument]) -> list[DueDocument]:
    shown: list[DueDocument] = []
    async for document in found:
        shown.append(document)
        if len(shown) == SHOWN_DOCUMENTS:
            break
    return shown
