"""Delivers reports to webhooks: at least once, with a bounded number of attempts, outside of the stages.

The deliveries are planned on the report itself (an outbox). An attempt is counted before it is made, so that
a crash cannot repeat it for ever; a receiver recognises a repeat by its delivery id.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.outbound import AddressPolicy
from shared.core.concurrency import gather_limited
from shared.core.times import stored_time
from shared.documents.queries.reports import DUE_DELIVERIES
from shared.documents.reports import DeliveryStatus, Report, ReportDelivery
from shared.pipeline.event_builders import report_delivery_failed
from shared.pipeline.events import Event
from shared.pipeline.lifecycle.deliveries import (
    delivery_arrived,
    delivery_attempted,
    delivery_failed,
    delivery_given_up,
    delivery_superseded,
)
from shared.pipeline.retry import exponential
from shared.publishing.webhooks.sending import NotDeliveredError, SendOptions, send
from shared.settings.app import Settings
from shared.settings.outgoing import Webhook, parse_webhooks

log = logging.getLogger(__name__)
MAX_A_RUN = 200
AT_ONCE = 8
FIRST_DELAY, LONGEST_DELAY = (
    30.0,
    3600.0,
)  # doubled each time: the last attempt is about an hour after the first
MAX_ATTEMPTS = 8
TIMEOUT_SECONDS = 10.0  # of one attempt: a receiver takes a report and works on it later
# In a row, in one run: a receiver that is down is not asked again for every one of a thousand reports.
FAILURES_UNTIL_LEFT_ALONE = 3


def planned_deliveries(settings: Settings, report: Report, now: datetime) -> list[ReportDelivery]:
    return [
        ReportDelivery(channel=hook.name, next_attempt_at=now)
        for hook in _webhooks(settings)
        if hook.wants(report.summary_type, report.source)
    ]


def _webhooks(settings: Settings) -> Sequence[Webhook]:
    return parse_webhooks(settings.WEBHOOKS.get_secret_value() if settings.WEBHOOKS else "")


async def deliver_due(
    clients: Clients,
    now: datetime,
    *,
    policy: AddressPolicy | None = None,
    limit: int = MAX_A_RUN,
    patience: float = TIMEOUT_SECONDS,
) -> int:
    """Attempt all due deliveries. Returns how many arrived."""
    due = clients.store.query(DUE_DELIVERIES, Session(), now=stored_time(now), limit=limit)
    reports = [(row["id"], row["scope"]) async for row in due]
    run = _DeliveryRun(clients, now, policy or _policy(clients), patience)
    await gather_limited((run.deliver(id_, scope) for id_, scope in reports), AT_ONCE)
    return run.delivered


def _policy(clients: Clients) -> AddressPolicy:
    return AddressPolicy.parse(clients.settings.WEBHOOK_ALLOWED_HOSTS, setting="WEBHOOK_ALLOWED_HOSTS")


@dataclass
class _DeliveryRun:
    clients: Clients
    now: datetime
    policy: AddressPolicy
    patience: float  # seconds of one attempt
    delivered: int = 0
    _failures: dict[str, int] = field(default_factory=dict)

    async def deliver(self, id_: str, scope: str) -> None:
        report = await self.clients.store.find(Report, id_, scope, Session())
        for index, delivery in enumerate(report.deliveries if report else []):
            if report and delivery.status is DeliveryStatus.PENDING and self._is_due(delivery):
                report = await self._attempt(report, index) or report

    def _is_due(self, delivery: ReportDelivery) -> bool:
        return delivery.next_attempt_at is None or delivery.next_attempt_at <= self.now

    async def _attempt(self, report: Report, index: int) -> Report | None:
        """The report after the attempt; None if no attempt was made."""
        delivery = report.deliveries[index]
        hooks = {hook.name: hook for hook in _webhooks(self.clients.settings)}
        hook = hooks.get(delivery.channel)
        if hook is None:
            return await self._give_up(report, index, "the webhook is no longer in the settings")
        if report.outdated:
            return await delivery_superseded(self.clients.store, report, index)
        if delivery.attempts >= MAX_ATTEMPTS:
            return await self._give_up(report, index, delivery.error or "its last attempt was cut off")
        if self._failures.get(hook.name, 0) >= FAILURES_UNTIL_LEFT_ALONE:
            return None
        claimed = await self._claim(report, index)
        return await self._send(hook, claimed, index) if claimed else None

    async def _claim(self, report: Report, index: int) -> Report | None:
        """Count the attempt before it is made; None if another instance claimed it first."""
        attempts = report.deliveries[index].attempts + 1
        retry_at = self.now + timedelta(seconds=self._delay(attempts))
        return await delivery_attempted(self.clients.store, report, index, now=self.now, retry_at=retry_at)

    def _delay(self, attempts: int) -> float:
        return exponential(FIRST_DELAY, attempts, LONGEST_DELAY)

    async def _send(self, hook: Webhook, report: Report, index: int) -> Report:
        settings = self.clients.settings
        options = SendOptions(self.now, self.patience, settings.PUBLIC_URL)
        try:
            await send(hook, report, self.policy, options=options)
        except NotDeliveredError as error:
            self._failures[hook.name] = self._failures.get(hook.name, 0) + 1
            return await self._failed(report, index, error)
        self._failures.pop(hook.name, None)
        self.delivered += 1
        return await delivery_arrived(self.clients.store, report, index, self.now)

    async def _failed(self, report: Report, index: int, error: NotDeliveredError) -> Report:
        delivery = report.deliveries[index]
        log.warning("Report %s did not reach webhook %s: %s", report.id, delivery.channel, error)
        if error.for_good or delivery.attempts >= MAX_ATTEMPTS:
            return await self._give_up(report, index, str(error))
        wait = max(self._delay(delivery.attempts), error.retry_after or 0.0)
        retry_at = self.now + timedelta(seconds=wait)
        return await delivery_failed(self.clients.store, report, index, error=str(error), retry_at=retry_at)

    async def _give_up(self, report: Report, index: int, why: str) -> Report:
        """Announce it first: if a crash makes this repeat, the broker drops the duplicate event."""
        delivery = report.deliveries[index]
        failed = report_delivery_failed(
            report,
            channel=delivery.channel,
            error_type=NotDeliveredError.__name__,
            error_message=why,
            retries=max(delivery.attempts - 1, 0),
        )
        await self.clients.bus.publish([Event.of(failed, now=self.now)])
        return await delivery_given_up(self.clients.store, report, index, why)
