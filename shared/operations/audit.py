"""Audit records: each operation of an operator leaves one, whether it succeeds or fails."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.azure.servicebus.dead_letter_mover import OperationObserver
from shared.core.errors import PermanentError
from shared.core.ids import audit_id, day_of_audit
from shared.core.runtime import Runtime
from shared.models.queries.operations import LAST_AUDITS
from shared.models.records import Audit, AuditStatus
from shared.pipeline.topology import OPERATIONS

SAVED_EVERY_SECONDS = 5.0


class UnknownOperationError(PermanentError):
    """There is no operation with this id."""


@dataclass(frozen=True)
class Operator:
    """The person or process that requests an operation, and the channel of the request."""

    name: str
    via: str = "command line"


def new_audit(action: str, actor: Operator, selection: Mapping[str, Any], runtime: Runtime) -> Audit:
    now = runtime.now()
    return Audit(
        id=audit_id(now, runtime.new_id()),
        day=f"{now:%Y-%m-%d}",
        action=action,
        actor=actor.name,
        via=actor.via,
        created_at=now,
        started_at=now,
        updated_at=now,
        selection=dict(selection),
    )


async def save_audit(store: Store, audit: Audit, now: datetime, **changes: Any) -> Audit:
    changed = audit.model_copy(update={**changes, "updated_at": now})
    await store.upsert(changed, Session())
    return changed


async def find_audit(store: Store, id_: str) -> Audit:
    day = day_of_audit(id_)
    audit = await store.find(Audit, id_, Session(), partition=day) if day is not None else None
    if audit is None:
        raise UnknownOperationError(f"there is no operation {id_!r}: `status` lists the last ones")
    return audit


async def last_audits(store: Store, limit: int = 10) -> list[Audit]:
    return await store.query_documents(Audit, LAST_AUDITS, Session(), limit=limit)


async def _save_failed(
    clients: Clients, audit: Audit, error: BaseException, counts: Mapping[str, int]
) -> None:
    status = AuditStatus.FAILED if isinstance(error, Exception) else AuditStatus.INTERRUPTED
    failure, now = classify(error), clients.runtime.now()
    outcome = f"{failure.error_type}: {failure.message}"
    await save_audit(
        clients.store, audit, now, status=status, counts=dict(counts), outcome=outcome, finished_at=now
    )


async def send_operation(clients: Clients, operation: str, message_id: str) -> None:
    """Send the operation to the background queue. Its audit record must be stored before."""
    await clients.bus.send_request(OPERATIONS.name, {"operation_id": operation}, message_id)


@asynccontextmanager
async def audited(
    clients: Clients, action: str, actor: Operator, selection: Mapping[str, Any]
) -> AsyncIterator[dict[str, int]]:
    """Record an operation that runs at once, with the counts that it puts into the yielded dict."""
    counts: dict[str, int] = {}
    store, runtime = clients.store, clients.runtime
    audit = await save_audit(store, new_audit(action, actor, selection, runtime), runtime.now())
    try:
        yield counts
    except BaseException as error:
        await _save_failed(clients, audit, error, counts)
        raise
    done, now = AuditStatus.SUCCEEDED, runtime.now()
    await save_audit(store, audit, now, status=done, counts=counts, finished_at=now)


class Job(ABC):
    """One run of an operation that is requested, run, and resumed by its id."""

    def __init__(self, clients: Clients, audit: Audit, watch: OperationObserver) -> None:
        self.clients, self.audit, self.watch = clients, audit, watch
        self._saved = clients.runtime.monotonic()

    @abstractmethod
    async def work(self) -> tuple[AuditStatus, str | None]:
        """Do the remaining work, and return the final status with a message for the operator."""

    @abstractmethod
    def counts(self) -> dict[str, int]: ...

    async def run(self) -> Audit:
        store, runtime = self.clients.store, self.clients.runtime
        self.audit = await save_audit(store, self.audit, runtime.now(), status=AuditStatus.RUNNING)
        self.watch.step("recorded")
        try:
            status, outcome = await self.work()
        except BaseException as error:
            await _save_failed(self.clients, self.audit, error, self.counts())
            raise
        counts, now = self.counts(), runtime.now()
        return await save_audit(
            store, self.audit, now, status=status, counts=counts, outcome=outcome, finished_at=now
        )

    async def save_periodically(self, **running: int) -> None:
        runtime = self.clients.runtime
        if runtime.monotonic() - self._saved >= SAVED_EVERY_SECONDS:
            self._saved = runtime.monotonic()
            await save_audit(
                self.clients.store, self.audit, runtime.now(), counts={**self.counts(), **running}
            )
