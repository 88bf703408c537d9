"""Reporting: publish the current summary of a thread or digest as the report of its scope."""

from datetime import timedelta

import azure.functions as func

from shared.models.reports import Summary
from shared.models.threads import Thread
from shared.models.values import SummaryType
from shared.pipeline import topology
from shared.pipeline.event_builders import report_published
from shared.pipeline.event_types import SummaryComplete
from shared.pipeline.events import Event
from shared.pipeline.progress import measure_report
from shared.pipeline.stage import Stage, StageContext, StageResult
from shared.pipeline.state.summaries import (
    delete_orphan_report,
    find_namer,
    set_report,
    store_report,
    withdraw_report,
)
from shared.publishing.webhooks import planned_deliveries, wake_deliveries
from shared.summarization.digest_touching import touch_digests
from shared.summarization.report_document import report_of
from stages.registration import register_stage

blueprint = func.Blueprint()


async def publish_report(event: Event[SummaryComplete], context: StageContext) -> StageResult:
    """Store the report unless another summary is current, and withdraw the report if no summary is."""
    store, session, now, settings = (
        context.clients.store,
        context.session,
        context.now(),
        context.clients.settings,
    )
    scope, summary_id = event.data.thread_id, str(event.data.summary_id)
    summary = await store.read(Summary, summary_id, session, partition=scope)
    owner = await find_namer(store, scope, summary.thread_id, session)
    if owner is None or owner.summary_id != summary.id:
        # If another summary is current, the event of that summary publishes its report.
        await withdraw_report(store, scope, summary.thread_id, session)
        return StageResult()
    if isinstance(owner, Thread):  # the digests that show the thread are refreshed later, in batches
        await touch_digests(context.clients, owner, session)
    report = report_of(summary, now, owner.summary_number)
    report.deliveries = planned_deliveries(settings, report, now)
    report.next_delivery_at = now if report.deliveries else None
    stored = await store_report(store, report, session, is_first=owner.report_id is None)
    # A worker that deletes the summary or merges the thread after this check finds the report.
    if stored is None or await delete_orphan_report(store, summary.id, scope, session):
        return StageResult()
    report, before = stored
    if isinstance(owner, Thread):
        measure_report(report, before, owner, timedelta(minutes=settings.SLO_REPORT_MINUTES))
    if not await set_report(store, report, session):
        await withdraw_report(store, scope, summary.thread_id, session)

    async def wake() -> None:
        if report.next_delivery_at is not None:
            await wake_deliveries(context.clients, report.next_delivery_at)

    return StageResult([report_published(report)], after_announcing=wake, counts={"reports": 1})


def _document_ids(data: SummaryComplete) -> list[str]:
    return [data.thread_id] if data.summary_type == SummaryType.THREAD else []


REPORTING = Stage(topology.REPORTING, publish_report, _document_ids)

register_stage(blueprint, REPORTING)
