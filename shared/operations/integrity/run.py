"""A run of the consistency checks over all documents, with or without repair."""

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import SweepMetrics, sweep_metrics
from shared.core.errors import PipelineError
from shared.models.records import Run, RunStatus
from shared.operations.integrity.check_record import (
    check_archives,
    check_citations,
    check_evidence,
    check_thread_facts,
)
from shared.operations.integrity.checks import (
    Finding,
    FindingKind,
    check_entries,
    check_files,
    check_orphans,
    check_reports,
    check_summaries,
    check_threads,
    check_vectors,
)
from shared.operations.integrity.repair import Repairer

log = logging.getLogger(__name__)
KIND = "verify"
TIMER = "timer"
MAX_EXAMPLES = 100
GRACE = timedelta(hours=1)  # a stage may still be working on newer changes

Check = Callable[[Clients, int], AsyncIterator[Finding]]
CHECKS: dict[str, Check] = {
    "threads": check_threads,
    "homeless": check_orphans,
    "vectors": check_vectors,
    "summaries": check_summaries,
    "reports": check_reports,
    "entries": check_entries,
    "files": check_files,
}
RECORD_CHECKS: dict[str, Check] = {
    "archives": check_archives,
    "thread_facts": check_thread_facts,
    "citations": check_citations,
    "evidence": check_evidence,
}
RECORD_KINDS = frozenset(
    {
        FindingKind.ARCHIVE_CHANGED,
        FindingKind.MESSAGE_CHANGED,
        FindingKind.MESSAGE_MISSING,
        FindingKind.MESSAGE_ADDED,
        FindingKind.MESSAGE_MOVED,
        FindingKind.THREAD_CHANGED,
        FindingKind.EVIDENCE_CHANGED,
    }
)


class IntegrityError(PipelineError):
    """A consistency check failed. The document of the run has the error."""


@dataclass(frozen=True)
class VerifyOptions:
    repair: bool = False
    archives: bool = False
    """Also parse the archives again and compare all documents with them. Only on request."""
    grace: timedelta = GRACE
    requested_by: str = TIMER
    found: Callable[[Finding], None] = field(default=lambda _finding: None)
    metrics: SweepMetrics = field(default_factory=sweep_metrics)


async def verify(clients: Clients, options: VerifyOptions | None = None) -> Run:
    return await _Verification(clients, options or VerifyOptions()).run()


def _checks(options: VerifyOptions) -> dict[str, Check]:
    return CHECKS | RECORD_CHECKS if options.archives else CHECKS


def _kinds(options: VerifyOptions) -> list[FindingKind]:
    return [kind for kind in FindingKind if options.archives or kind not in RECORD_KINDS]


class _Verification:
    def __init__(self, clients: Clients, options: VerifyOptions) -> None:
        self._clients = clients
        self._options = options
        self._repairer = Repairer(clients)
        started = clients.runtime.now()
        self._run = Run(
            id=f"{started:%Y%m%dT%H%M%S}-{clients.runtime.new_id()[:8]}",
            kind=KIND,
            requested_by=options.requested_by,
            dry_run=not options.repair,
            started_at=started,
            created_at=started,
            counts={kind.value: {"found": 0, "repaired": 0} for kind in _kinds(options)},
        )

    async def run(self) -> Run:
        await self._clients.store.upsert(self._run, Session())
        before = int((self._run.started_at - self._options.grace).timestamp())
        for name, check in _checks(self._options).items():
            try:
                async for finding in check(self._clients, before):
                    await self._record(finding)
            except Exception as error:
                log.exception("the consistency check of %s failed", name)
                failure = classify(error)
                self._run.errors.append(f"{name}: {failure.error_type}: {failure.message}"[:500])
        return await self._finish()

    async def _record(self, finding: Finding) -> None:
        counts = self._run.counts[finding.kind]
        counts["found"] += 1
        if len(self._run.examples) < MAX_EXAMPLES:
            self._run.examples.append(finding.shown())
        log.warning("%s: %s/%s: %s", finding.kind, finding.container, finding.id, finding.detail)
        self._options.found(finding)
        if self._options.repair:
            counts["repaired"] += int(await self._repairer.repair(finding))

    async def _finish(self) -> Run:
        self._run.status = RunStatus.FAILED if self._run.errors else RunStatus.SUCCEEDED
        self._run.finished_at = self._clients.runtime.now()
        await self._clients.store.upsert(self._run, Session())
        for kind, counts in self._run.counts.items():
            self._options.metrics.inconsistencies.set(counts["found"], {"kind": kind})
        return self._run
