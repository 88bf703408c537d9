"""Chores, by one timer, as each execution is billed; each looks whether anything is due."""

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
CHECKED = parse_cron("0 17 3 * * *")  # every night: the consistency checks
# Where no check is known of yet, the first one waits for its night.
FIRST_CHECK_GRACE = timedelta(hours=1)


class HousekeepingError(PipelineError):
    """Some chores failed; the log has each with its error."""


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


def _logged(level: int, says: str, work: Callable[[Clients, datetime], Awaitable[list[str] | int]]) -> Chore:
    async def chore(clients: Clients, now: datetime) -> None:
        if done := await work(clients, now):
            named = [", ".join(done)] if isinstance(done, list) and "%s" in says else []
            log.log(level, says, len(done) if isinstance(done, list) else done, *named)

    return chore


async def _measure_queues(clients: Clients, _now: datetime) -> None:
    """Only where the broker keeps no metrics of its own: in Azure the namespace's say how long queues are."""
    if clients.settings.SERVICEBUS_ADMIN_ENDPOINT is None:
        return
    counts = await queue_counts(clients.settings, QUEUES, clients.calls("servicebus"))
    metrics = pipeline_metrics()
    for queue, found in (counts or {}).items():
        metrics.queue_depth.set(found.active, {"service": queue})
        metrics.dead_letters.set(found.dead_lettered, {"service": queue})


async def _check_integrity(clients: Clients, now: datetime) -> None:
    """Once a night, with repair, and with what is too old; after a crash not again that night."""
    rows = clients.store.query(LATEST_START, Session(), partition=KIND, requested_by=TIMER)
    known = [datetime.fromisoformat(row["started_at"]) async for row in rows]
    if CHECKED.next_after(known[0] if known else now - FIRST_CHECK_GRACE) > now:
        return
    with span("integrity"):
        done = await verify(clients, VerifyOptions(repair=True))
    if expired := await expire(clients):
        log.info("mails that were too old were erased of %s", ", ".join(expired))
    if done.errors:
        raise IntegrityError("; ".join(done.errors))


# The quick ones first: the consistency checks may take long.
CHORES: dict[str, Chore] = {
    "sources due": _logged(logging.INFO, "%d sources are due: %s", request_due_fetches),
    # A delivery has a message that wakes it: this is for those whose message was lost.
    "deliveries overdue": lambda clients, now: wake_for_next_delivery(clients, no_later_than=now),
    # A thousand threads of one week make one digest and not a thousand.
    "digests due": _logged(logging.INFO, "%d digests were due and made again", refresh_due),
    "digests by e-mail": _logged(logging.INFO, "%d digests were sent by e-mail", send_due_digests),
    "removals silent": _logged(logging.WARNING, "%d deletions broke off and go on: %s", resume_removals),
    "placements unfinished": _logged(
        logging.WARNING,
        "%d placements of messages broke off, and were carried out",
        lambda clients, _now: resume_placements(clients),
    ),
    "consumers": lambda clients, _now: record_consumers(clients, enabled_queues()),
    "queue depths": _measure_queues,
    "ages": measure_ages,
    "integrity": _check_integrity,
}
