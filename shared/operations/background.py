"""Operations that run in the background: the record is stored, and its id is sent to a queue."""

import json
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.dead_letter_mover import OperationObserver, RateLimiter
from shared.core.concurrency import gather_limited
from shared.core.errors import DocumentNotFoundError, InvalidEventError, PermanentError
from shared.core.ids import MESSAGE_KEY
from shared.models.queries.threads import LEFT_BY_EDITION, LEFT_BY_EDITION_OF_SOURCE
from shared.models.records import Audit, AuditStatus
from shared.models.sources import NAME_PATTERN
from shared.operations.audit import Job, Operator, find_audit, send_operation
from shared.operations.deadletters.operations import request_operation, run_operation
from shared.operations.requeue import request_summary
from shared.pipeline.state.threads import request_reread
from shared.thread_store.moving import resolve_thread

RESUMMARIZE = "resummarize"
RATE, LARGEST_RATE = 20.0, 500.0


class ThreadSelection(BaseModel):
    """The chosen threads (one, all of a source, or all) and the largest number per second."""

    model_config = ConfigDict(extra="forbid")

    thread: str | None = Field(default=None, pattern=MESSAGE_KEY)
    source: str | None = Field(default=None, pattern=NAME_PATTERN)
    all: bool = False
    rate: float = Field(default=RATE, gt=0, le=LARGEST_RATE)

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum((self.thread is not None, self.source is not None, self.all)) != 1:
            raise ValueError("name one of thread, source and all")
        return self


class NotResummarizingError(PermanentError):
    """The operation is not a resummarization."""


async def request_resummarizing(
    clients: Clients, selection: ThreadSelection, actor: Operator, *, in_background: bool
) -> Audit:
    asked = selection.model_dump(exclude_none=True, exclude_defaults=True)
    audit = await request_operation(clients, RESUMMARIZE, asked, actor, rate=selection.rate)
    if in_background:
        await send_operation(clients, audit.id, audit.id)
    return audit


async def threads_left(clients: Clients, selection: ThreadSelection, edition: str) -> list[str]:
    if selection.thread is not None:
        return [await resolve_thread(clients, selection.thread, Session())]
    query = LEFT_BY_EDITION if selection.source is None else LEFT_BY_EDITION_OF_SOURCE
    of_source = {} if selection.source is None else {"source": selection.source}
    rows = clients.store.query(query, Session(), edition=edition, **of_source)
    return sorted([str(row) async for row in rows])


async def run_resummarizing(
    clients: Clients, operation: str, *, watch: OperationObserver | None = None
) -> Audit:
    """Run the operation or its remaining part. An operation that has succeeded is not run again."""
    audit, watch = await find_audit(clients.store, operation), watch or OperationObserver()
    if audit.action != RESUMMARIZE:
        raise NotResummarizingError(f"{audit.id} is a {audit.action}, not a {RESUMMARIZE}")
    if audit.status is AuditStatus.SUCCEEDED:
        return audit
    return await _Resummarizing(clients, audit, watch).run()


class _Resummarizing(Job):
    def __init__(self, clients: Clients, audit: Audit, watch: OperationObserver) -> None:
        super().__init__(clients, audit, watch)
        self._selection = ThreadSelection.model_validate(audit.selection)
        self._counts = {"requested": audit.counts.get("requested", 0), "waiting": 0, "gone": 0, "left": 0}
        self._pace = RateLimiter(self._selection.rate, clients.runtime, stopped=watch.stopped)

    def counts(self) -> dict[str, int]:
        return dict(self._counts)

    async def work(self) -> tuple[AuditStatus, str | None]:
        left = await threads_left(self.clients, self._selection, self.audit.id)
        self.watch.planned(len(left))
        done = 0
        while done < len(left) and not self.watch.stopped():
            batch = left[done : done + await self._pace.take(len(left) - done)]
            await gather_limited(self._request(thread_id) for thread_id in batch)
            done += len(batch)
            self._counts["left"] = len(left) - done
            self.watch.progress(done)
            await self.save_periodically()
        self._counts["left"] = len(left) - done
        if done < len(left):
            return AuditStatus.INTERRUPTED, f"{len(left) - done} remain because the operation was stopped"
        return AuditStatus.SUCCEEDED, None

    async def _request(self, thread_id: str) -> None:
        session = Session()
        try:
            is_new = await request_reread(self.clients.store, thread_id, self.audit.id, session)
        except DocumentNotFoundError:
            self._counts["gone"] += 1
            return
        # A resumed run requests a summary again. The broker or the id of the summary absorbs the repeat.
        requested = await request_summary(self.clients, thread_id, session)
        self._counts["requested"] += is_new and requested
        self._counts["waiting"] += not requested


RUN_SECONDS = 1200.0  # then the operation is sent again and continues in another run


async def run_requested(body: bytes, clients: Clients) -> Audit:
    try:
        operation = str(json.loads(body)["operation_id"])
    except (ValueError, KeyError, TypeError):
        raise InvalidEventError("not a request for an operation: operation_id is missing") from None
    runtime = clients.runtime
    until = runtime.monotonic() + RUN_SECONDS
    watch = OperationObserver(stopped=lambda: runtime.monotonic() > until)
    action = (await find_audit(clients.store, operation)).action
    run = run_resummarizing if action == RESUMMARIZE else run_operation
    ended = await run(clients, operation, watch=watch)
    if ended.status is AuditStatus.INTERRUPTED:
        await send_operation(clients, ended.id, f"{ended.id}-{runtime.now().timestamp():.0f}")
    return ended
