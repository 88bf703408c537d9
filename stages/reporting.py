"""Reporting: a summary is published as a report."""

import uuid
from datetime import datetime

import azure.functions as func

from shared.documents import Report, Summary, Thread
from shared.errors import Failure, InvalidEventError
from shared.events import Event, ReportDeliveryFailed, ReportPublished, SummaryComplete
from shared.stage import Outcome, Stage, Subject, Work
from shared.stage.functions import register_stage
from shared.store import Patch

__all__ = ["REPORTING", "blueprint"]

blueprint = func.Blueprint()


async def publish(event: Event[SummaryComplete], work: Work) -> Outcome:
    data = event.data
    if data.summary_id is None:
        raise InvalidEventError(
            "SummaryComplete: data.summary_id: missing; the report is made of the summary"
        )
    summary = await work.clients.store.read(Summary, data.summary_id, data.thread_id, work.session)
    report = _report(summary, work.now())
    await work.clients.store.create(report, work.session)
    await _note_on_thread(report, work)
    return Outcome([_announcement(report)], counts={"reports": 1})


async def _note_on_thread(report: Report, work: Work) -> None:
    """What an archive's progress counts. A thread that has a newer summary by now waits for that one's."""
    patch = Patch(report.thread_id, report.thread_id, set={"report_id": report.id})
    condition = f"c.summary_id = '{uuid.UUID(report.summary_id)}'"
    await work.clients.store.patch(Thread, patch, work.session, condition=condition)


def _report(summary: Summary, now: datetime) -> Report:
    id_ = report_id(summary.id)
    return Report(
        id=id_,
        report_id=id_,
        thread_id=str(summary.thread_id),
        summary_id=summary.id,
        source=summary.metadata.get("source"),
        title=summary.title,
        published_at=now,
        metadata={
            name: summary.metadata.get(name)
            for name in ("has_consensus", "consensus_type", "draft_mentions", "last_message_date")
        },
    )


def report_id(summary_id: str) -> str:
    return f"rpt-{summary_id}"


def _announcement(report: Report) -> ReportPublished:
    return ReportPublished(
        thread_id=report.thread_id,
        report_id=report.id,
        format=report.format,
        notified=report.notified,
        delivery_channels=report.delivery_channels,
        summary_url=f"/api/reports/{report.id}",
    )


def _failed(
    event: Event[SummaryComplete],
    failure: Failure,
    attempts: int,
    now: datetime,  # noqa: ARG001 - this event has no time of its own
) -> ReportDeliveryFailed:
    return ReportDeliveryFailed(
        report_id=report_id(event.data.summary_id or "unknown"),
        thread_id=event.data.thread_id,
        delivery_channel="api",
        error_message=failure.message,
        error_type=failure.error_type,
        retry_count=attempts,
    )


def _subjects(data: SummaryComplete) -> list[Subject]:
    return [Subject(Thread, data.thread_id, data.thread_id)]


REPORTING = Stage("reporting", SummaryComplete, publish, _failed, _subjects)

register_stage(blueprint, REPORTING)
