"""The progress of an archive through the stages, from indexed counts of its stored documents.

An archive is complete when all its chunks and threads are processed or failed. A failed document is a gap.
"""

import asyncio
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import Metrics, pipeline_metrics
from shared.core.ids import day_of_audit
from shared.models.queries.named_query import NamedQuery
from shared.models.queries.several_containers import ARCHIVE_PROGRESS_COUNTS
from shared.models.reports import Report
from shared.models.sources import Archive, ArchiveStatus
from shared.models.threads import Thread
from shared.pipeline.topology import CHUNKING, EMBEDDING, ORCHESTRATION, PARSING, REPORTING, SUMMARIZATION


@dataclass(frozen=True)
class StageProgress:
    name: str
    unit: str
    done: int
    total: int
    failed: int = 0

    @property
    def settled(self) -> bool:
        """Whether all stored documents are processed or failed. Earlier stages may still add documents."""
        return self.done + self.failed >= self.total

    @property
    def share(self) -> float:
        """The settled share, from 0 to 1."""
        return min((self.done + self.failed) / self.total, 1.0) if self.total else 0.0


@dataclass(frozen=True)
class ArchiveProgress:
    archive_id: str
    status: str
    skipped: int
    stages: tuple[StageProgress, ...]

    @property
    def complete(self) -> bool:
        """Whether all its documents are processed or failed, or the archive itself failed permanently."""
        if self.status == ArchiveStatus.FAILED_MAX_RETRIES:
            return True
        # A thread with a report may have a new message that is not processed yet.
        settled = all(self.stage(row.name).settled for row in (CHUNKING, EMBEDDING, REPORTING))
        return self.status == ArchiveStatus.PROCESSED and settled

    @property
    def failed(self) -> bool:
        """Whether the archive could not be read. The sweep or an operator may retry it."""
        return self.status in {ArchiveStatus.FAILED, ArchiveStatus.FAILED_MAX_RETRIES}

    @property
    def percent(self) -> int:
        """The percentage over all stages. It is 100 only if the archive is complete."""
        if self.complete:
            return 100
        share, all_before = float(self.stages[0].done), bool(self.stages[0].done)
        for stage in self.stages[1:]:
            share += stage.share if stage.total else float(all_before)
            all_before = all_before and stage.settled
        return min(int(100 * share / len(self.stages)), 99)

    @property
    def gaps(self) -> list[str]:
        """Descriptions of the documents that failed permanently."""
        found = [_gap(self.skipped, "message", "could not be read in the archive")]
        problems = {
            PARSING.name: "could not be parsed",
            CHUNKING.name: "could not be chunked",
            EMBEDDING.name: "could not be embedded (missing in semantic search)",
            REPORTING.name: "could not be reported (no current report)",
        }
        for name, problem in problems.items():
            found.append(_gap(self.stage(name).failed, self.stage(name).unit, problem))
        return [gap for gap in found if gap]

    def stage(self, name: str) -> StageProgress:
        return next(stage for stage in self.stages if stage.name == name)

    def to_json(self) -> dict[str, Any]:
        return {
            "complete": self.complete,
            "failed": self.failed,
            "percent": self.percent,
            "messages": self.stage(CHUNKING.name).total,
            "chunks": self.stage(EMBEDDING.name).total,
            "threads": self.stage(REPORTING.name).total,
            "stages": [asdict(stage) for stage in self.stages],
            "gaps": self.gaps,
        }


async def archive_progress(clients: Clients, archive_id: str) -> ArchiveProgress:
    archive = await clients.store.read(Archive, archive_id, Session())
    return await progress_of(archive, clients)


async def progress_of(archive: Archive, clients: Clients) -> ArchiveProgress:
    counted = await asyncio.gather(
        *(_counted(query, archive.id, clients) for query in ARCHIVE_PROGRESS_COUNTS)
    )
    n = {
        query.name.removeprefix("archive_"): count
        for query, count in zip(ARCHIVE_PROGRESS_COUNTS, counted, strict=True)
    }
    threads, given_up = n["threads"], n["threads_given_up"]
    parsed = archive.status is ArchiveStatus.PROCESSED
    failed = archive.status in {ArchiveStatus.FAILED, ArchiveStatus.FAILED_MAX_RETRIES}
    stages = (
        StageProgress(PARSING.name, "archive", int(parsed), 1, int(failed)),
        StageProgress(CHUNKING.name, "message", n["messages_chunked"], n["messages"], n["messages_given_up"]),
        StageProgress(EMBEDDING.name, "chunk", n["chunks_embedded"], n["chunks"], n["chunks_given_up"]),
        StageProgress(ORCHESTRATION.name, "thread", n["threads_asked_for"], threads, given_up),
        StageProgress(SUMMARIZATION.name, "thread", n["threads_summarized"], threads, given_up),
        StageProgress(REPORTING.name, "thread", n["threads_reported"], threads, given_up),
    )
    return ArchiveProgress(archive.id, archive.status.value, archive.skipped_count, stages)


async def _counted(query: NamedQuery, archive_id: str, clients: Clients) -> int:
    found: list[Any] = [row async for row in clients.store.query(query, Session(), archive=archive_id)]
    return sum(found)


def _gap(count: int, unit: str, problem: str) -> str:
    return f"{count} {unit if count == 1 else unit + 's'} {problem}" if count else ""


def measure_report(
    report: Report,
    before: Report | None,
    thread: Thread,
    objective: timedelta,
    *,
    metrics: Metrics | None = None,
) -> timedelta | None:
    """Record the time from the archive's arrival to this report, or None if the report has no new mail.

    `before` is the report that it replaced.
    """
    arrived = max((archive.arrived_at for archive in report.evidence if archive.arrived_at), default=None)
    if arrived is None or _was_requested(thread, since=arrived):
        return None
    if before is not None and before.published_at >= arrived:
        return None
    latency = report.published_at - arrived
    instruments = metrics or pipeline_metrics()
    instruments.report_latency.record(max(latency.total_seconds(), 0.0))
    instruments.report_objective.add(1, {"met": str(latency <= objective).lower()})
    return latency


def _was_requested(thread: Thread, *, since: datetime) -> bool:
    """Return whether an operation requested a rereading on or after that day. Its id has only the day."""
    day = day_of_audit(thread.edition) if thread.edition else None
    return day is not None and day >= f"{since:%Y-%m-%d}"
