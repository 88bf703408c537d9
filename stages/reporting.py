"""Reporting: a summary is published as a report."""

from collections.abc import Sequence
from datetime import datetime

import azure.functions as func

from shared.core.ids import person_id, report_id
from shared.documents.reports import Report, ReportedArchive, Summary
from shared.documents.sources import Archive
from shared.documents.threads import Thread
from shared.documents.values import SummaryType
from shared.domain.mail.mentions import draft_base
from shared.pipeline import topology
from shared.pipeline.event_builders import report_published
from shared.pipeline.event_types import SummaryComplete
from shared.pipeline.events import Event
from shared.pipeline.lifecycle.summaries import digest_flags_settled, orphan_deleted, report_flag_settled
from shared.pipeline.lifecycle.threads import thread_reported
from shared.pipeline.progress import measure_report
from shared.pipeline.stage import Stage, StageResult, Work
from shared.publishing.webhooks import planned_deliveries, wake_deliveries
from shared.summarization.digest_touching import touch_digests
from stages.registration import register_stage

blueprint = func.Blueprint()


async def publish(event: Event[SummaryComplete], work: Work) -> StageResult:
    data = event.data
    store, session = work.clients.store, work.session
    summary = await store.read(Summary, str(data.summary_id), session, partition=data.thread_id)
    await _touch_digests(summary, work)
    report = _report(summary, work.now())
    threads, archives = await _evidence(report, work)
    report = _with_evidence(report, archives, work)
    is_new = await store.create(report, session)
    if is_new:
        thread = threads.get(report.thread_id or "")
        await measure_report(work.clients, report, thread, archives, session)
    else:
        report = await store.read(Report, report.id, session, partition=report.scope)
    # The summary may have been deleted before its report was stored.
    if await orphan_deleted(store, report.id, summary.id, report.scope, session):
        return StageResult()
    # A later summary may have come between reading this one and storing its report.
    if summary.thread_id is None:
        await digest_flags_settled(store, summary.scope, session)
    else:
        await report_flag_settled(store, report, summary.thread_id, session, is_new=is_new)
    await thread_reported(store, report, session)

    async def wake() -> None:
        if report.next_delivery_at is not None:
            await wake_deliveries(work.clients, report.next_delivery_at)

    return StageResult([report_published(report)], after_announcing=wake, counts={"reports": 1})


async def _touch_digests(summary: Summary, work: Work) -> None:
    """Mark the digests that show the thread. They are made later, many at a time."""
    if summary.thread_id is None or summary.outdated:
        return
    thread = await work.clients.store.find(Thread, summary.thread_id, work.session)
    if thread is not None and thread.merged_into is None:
        await touch_digests(work.clients, thread, work.session)


def _report(summary: Summary, now: datetime) -> Report:
    id_, known, reading = report_id(summary.id), summary.metadata, summary.reading
    return Report(
        id=id_,
        report_id=id_,
        scope=summary.scope,
        summary_id=summary.id,
        summary_type=summary.summary_type,
        thread_id=summary.thread_id,
        thread_ids=summary.thread_ids,
        threads=known.outcomes,
        source=known.source,
        title=summary.title,
        published_at=now,
        created_at=now,
        participants=known.participants,
        person_ids=sorted({person_id(person.email) for person in known.participants if person.email}),
        draft_mentions=sorted({draft_base(draft) for draft in known.draft_mentions}),
        has_consensus=known.has_consensus,
        consensus_type=known.consensus_type,
        counts=summary.counts,
        outcome=reading.shown_outcome if reading else None,
        open_call=reading.shown_call if reading else None,
        genre=reading.shown_genre if reading else None,
        first_message_date=known.first_message_date,
        last_message_date=known.last_message_date,
        outdated=summary.outdated,
        flags=known.flags,
    )


async def _evidence(report: Report, work: Work) -> tuple[dict[str, Thread], list[Archive]]:
    """Its threads and their archives, as they are now."""
    store, session = work.clients.store, work.session
    threads = await store.find_many(Thread, report.thread_ids, session)
    ids = sorted({id_ for thread in threads.values() for id_ in thread.archive_ids})
    found = await store.find_many(Archive, ids, session)
    return threads, [found[id_] for id_ in ids if id_ in found]


def _with_evidence(report: Report, archives: Sequence[Archive], work: Work) -> Report:
    """Also with its deliveries: webhooks get it later, so that one that is down does not stop the report."""
    evidence = [ReportedArchive(archive_id=archive.id, file_hash=archive.file_hash) for archive in archives]
    report, now = report.model_copy(update={"evidence": evidence}), work.now()
    planned = [] if report.outdated else planned_deliveries(work.clients.settings, report, now)
    due = now if planned else None
    return report.model_copy(update={"deliveries": planned, "next_delivery_at": due})


def _documents(data: SummaryComplete) -> list[str]:
    return [data.thread_id] if data.summary_type == SummaryType.THREAD else []


REPORTING = Stage(topology.REPORTING, publish, _documents)

register_stage(blueprint, REPORTING)
