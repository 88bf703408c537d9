"""How long a report took from the upload that called for it, and whether that met the objective.

Only a report that brings news is measured: the first of its thread since an archive of it came in. One that
is made again, by an operator, with another template or after a correction, waited for nobody.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.telemetry.metrics import Metrics, pipeline_metrics
from shared.core.ids import day_of_audit
from shared.documents.queries.reports import LAST_OTHER_REPORT
from shared.documents.reports import Report
from shared.documents.sources import Archive
from shared.documents.threads import Thread


async def measure_report(
    clients: Clients,
    report: Report,
    thread: Thread | None,
    archives: Iterable[Archive],
    session: Session,
    *,
    metrics: Metrics | None = None,
) -> timedelta | None:
    """Record how long this new report took; None where it brings no news."""
    arrived = max((archive.ingestion_date for archive in archives), default=None)
    if thread is None or arrived is None or _was_asked_for(thread, since=arrived):
        return None
    others = clients.store.query(LAST_OTHER_REPORT, session, partition_value=report.scope, id=report.id)
    published = [datetime.fromisoformat(str(time)) async for time in others]
    if published and published[0] >= arrived:
        return None
    taken = report.published_at - arrived
    instruments = metrics or pipeline_metrics()
    instruments.report_latency.record(max(taken.total_seconds(), 0.0))
    met = taken <= timedelta(minutes=clients.settings.SLO_REPORT_MINUTES)
    instruments.report_objective.add(1, {"met": str(met).lower()})
    return taken


def _was_asked_for(thread: Thread, *, since: datetime) -> bool:
    """Whether an operation has it read anew since then; to the day, as the operation's id has it."""
    day = day_of_audit(thread.edition) if thread.edition else None
    return day is not None and day >= f"{since:%Y-%m-%d}"
