"""What has to be done from time to time, by one timer: each chore looks for itself whether anything is due.

Flex Consumption bills an execution for a second at least, so that seven timers cost more than what they do.
A chore that fails does not keep the others from their turn; one that is missed is made up for by the next
run, for what is due stands in the documents and not in the schedule.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.servicebus.administration import queue_counts
from shared.clients.telemetry.metrics import pipeline_metrics, span
from shared.core.errors import PipelineError
from shared.core.schedule import parse_cron
from shared.documents.queries.operations import LATEST_START
from shared.ingestion.fetch_runs import request_due_fetches
from shared.pipeline.topology import QUEUES
from shared.publishing.subscriptions import send_due_digests
from shared.publishing.webhooks import wake_for_next_delivery
from shared.summarization.digests import refresh_due
from shared.upkeep.integrity.run import KIND, TIMER, IntegrityError, VerifyOptions, verify
from shared.upkeep.oversight.health import enabled_queues, measure_ages, say_consumers
from shared.upkeep.placing import resume_placements
from shared.upkeep.removal.requests import resume_removals

log = logging.getLogger(__name__)
Chore = Callable[[Clients, datetime], Awaitable[None]]
CHECKED = parse_cron("0 17 3 * * *")  # every night: the consistency checks
# Where no check is known of yet, the first one waits for its night.
FIRST_CHECK_GRACE = timedelta(hours=1)


class HousekeepingError(PipelineError):
    """Some chores failed; the log has each with its error."""


async def keep_house(clients: Clients, chores: Mapping[str, Chore] | None = None) -> None:
    """Every chore in turn; then the failures, if there were any."""
    failed: list[str] = []
    for name, chore in (CHORES if chores is None else chores).items():
        try:
            await chore(clients, clients.runtime.now())
        except Exception as error:
            log.exception("Housekeeping: %s failed", name)
            failed.append(f"{name}: {type(error).__name__}")
    if failed:
        raise HousekeepingError("; ".join(failed))


async def _fetch_sources(clients: Clients, now: datetime) -> None:
    asked = await request_due_fetches(clients, now)
    if asked:
        log.info("%d sources are due: %s", len(asked), ", ".join(asked))


async def _wake_overdue_deliveries(clients: Clients, now: datetime) -> None:
    """A delivery has a message that wakes it; this one finds those whose message was lost."""
    await wake_for_next_delivery(clients, no_later_than=now)


async def _refresh_digests(clients: Clients, now: datetime) -> None:
    """Every few minutes, so that a thousand threads of one week make one digest and not a thousand."""
    made = await refresh_due(clients, now)
    if made:
        log.info("%d digests were touched and made again", len(made))


async def _send_digests(clients: Clients, now: datetime) -> None:
    sent = await send_due_digests(clients, now)
    if sent:
        log.info("%d digests were sent by e-mail", sent)


async def _resume_removals(clients: Clients, now: datetime) -> None:
    asked = await resume_removals(clients, now)
    if asked:
        log.warning("%d deletions broke off and go on: %s", len(asked), ", ".join(asked))


async def _resume_placements(clients: Clients, _now: datetime) -> None:
    resumed = await resume_placements(clients)
    if resumed:
        log.warning("%d placements of messages broke off, and were carried out", len(resumed))


async def _say_consumers(clients: Clients, _now: datetime) -> None:
    """Which queues this app takes messages from: Service Bus tells nobody."""
    await say_consumers(clients, enabled_queues())


async def _measure_queues(clients: Clients, _now: datetime) -> None:
    """Only where the broker keeps no metrics of its own: in Azure the namespace's say how long queues are."""
    if clients.settings.SERVICEBUS_ADMIN_ENDPOINT is None:
        return
    counts = await queue_counts(clients.settings, QUEUES, clients.calls("servicebus"))
    metrics = pipeline_metrics()
    for queue, found in (counts or {}).items():
        metrics.queue_depth.set(found.active, {"service": queue})
        metrics.dead_letters.set(found.dead_lettered, {"service": queue})


async def _measure_ages(clients: Clients, now: datetime) -> None:
    """How long messages wait, what is late, and the bounds of both: no service has these."""
    await measure_ages(clients, now)


async def _check_integrity(clients: Clients, now: datetime) -> None:
    """Once a night, with repair; after a crash not again that night."""
    rows = clients.store.query(LATEST_START, Session(), partition_value=KIND, requested_by=TIMER)
    known = [datetime.fromisoformat(row["started_at"]) async for row in rows]
    if CHECKED.next_after(known[0] if known else now - FIRST_CHECK_GRACE) > now:
        return
    with span("integrity"):
        done = await verify(clients, VerifyOptions(repair=True))
    if done.errors:
        raise IntegrityError("; ".join(done.errors))


# The quick ones first: the consistency checks may take long.
CHORES: dict[str, Chore] = {
    "sources due": _fetch_sources,
    "deliveries overdue": _wake_overdue_deliveries,
    "digests due": _refresh_digests,
    "digests by e-mail": _send_digests,
    "removals silent": _resume_removals,
    "placements unfinished": _resume_placements,
    "consumers": _say_consumers,
    "queue depths": _measure_queues,
    "ages": _measure_ages,
    "integrity": _check_integrity,
}
