"""Periodic tasks that share one timer, because each execution is billed. Each checks whether it is due."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.servicebus.administration import queue_counts
from shared.azure.telemetry.metrics import pipeline_metrics, span
from shared.core.errors import PipelineError
from shared.core.schedule import parse_cron
from shared.ingestion.fetch_runs import request_due_fetches
from shared.models.queries.operations import LATEST_START
from shared.operations.erasure.run import expire
from shared.operations.integrity.run import KIND, TIMER, IntegrityError, VerifyOptions, verify
from shared.operations.oversight.health import enabled_queues, measure_ages, record_consumers
from shared.operations.placing import resume_placements
from shared.operations.removal.requests import resume_removals
from shared.pipeline.topology import QUEUES
from shared.publishing.subscriptions import send_due_digests
from shared.publishing.webhooks import wake_for_next_delivery
from shared.summarization.digests import refresh_due

log = logging.getLogger(__name__)
Chore = Callable[[Clients, datetime], Awaitable[object]]
CHECKED = parse_cron("0 17 3 * * *")  # the consistency checks run every night
# The first check waits for the night even if no earlier check is recorded.
FIRST_CHECK_GRACE = timedelta(hours=1)


class HousekeepingError(PipelineError):
    """Some tasks failed. The log has the error of each."""


async def run_housekeeping(clients: Clients, chores: Mapping[str, Chore] | None = None) -> None:
    failed: list[str] = []
    for name, chore in (CHORES if chores is None else chores).items():
        try:
            await chore(clients, clients.runtime.now())
        except Exception as error:
            log.exception("Housekeeping: %s failed", name)
            failed.append(f"{name}: {type(error).__name__}")
    if failed:
        raise HousekeepingError("; ".join(failed))


def _logged(
    level: int, message: str, work: Callable[[Clients, datetime], Awaitable[list[str] | int]]
) -> Chore:
    async def chore(clients: Clients, now: datetime) -> None:
        if done := await work(clients, now):
            named = [", ".join(done)] if isinstance(done, list) and "%s" in message else []
            log.log(level, message, len(done) if isinstance(done, list) else done, *named)

    return chore


async def _measure_queues(clients: Clients, _now: datetime) -> None:
    """Record queue lengths, only with a broker that has no metrics. In Azure the namespace has them."""
    if clients.settings.SERVICEBUS_ADMIN_ENDPOINT is None:
        return
    counts = await queue_counts(clients.settings, QUEUES, clients.calls("servicebus"))
    metrics = pipeline_metrics()
    for queue, found in (counts or {}).items():
        metrics.queue_depth.set(found.active, {"service": queue})
        metrics.dead_letters.set(found.dead_lettered, {"service": queue})


async def _check_integrity(clients: Clients, now: datetime) -> None:
    """Run the checks with repair and the retention once a night. A crash does not repeat them that night."""
    rows = clients.store.query(LATEST_START, Session(), partition=KIND, requested_by=TIMER)
    known = [datetime.fromisoformat(row["started_at"]) async for row in rows]
    if CHECKED.next_after(known[0] if known else now - FIRST_CHECK_GRACE) > now:
        return
    with span("integrity"):
        done = await verify(clients, VerifyOptions(repair=True))
    if expired := await expire(clients):
        log.info("mail older than its source keeps was erased from %s", ", ".join(expired))
    if done.errors:
        raise IntegrityError("; ".join(done.errors))


# Quick tasks first: the consistency checks may take long.
CHORES: dict[str, Chore] = {
    "sources due": _logged(logging.INFO, "%d sources are due: %s", request_due_fetches),
    # A delivery has a message that starts it. This finds deliveries whose message was lost.
    "deliveries overdue": lambda clients, now: wake_for_next_delivery(clients, no_later_than=now),
    # Collected, so that a thousand threads of one week create one digest.
    "digests due": _logged(logging.INFO, "%d digests were due and made again", refresh_due),
    "digests by e-mail": _logged(logging.INFO, "%d digests were sent by e-mail", send_due_digests),
    "removals silent": _logged(logging.WARNING, "%d interrupted deletions were resumed: %s", resume_removals),
    "placements unfinished": _logged(
        logging.WARNING,
        "%d interrupted placements of messages were completed",
        lambda clients, _now: resume_placements(clients),
    ),
    "consumers": lambda clients, _now: record_consumers(clients, enabled_queues()),
    "queue depths": _measure_queues,
    "ages": measure_ages,
    "integrity": _check_integrity,
}
