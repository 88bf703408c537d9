"""Deliver reports to webhooks at least once, with a limited number of attempts, outside of the stages.

The report itself stores its planned deliveries (an outbox), and a scheduled message starts the due attempts.
An attempt is counted before it is made, so that a crash cannot repeat it without end. The receiver recognizes
a repeat by its delivery id.
"""

import hashlib
import hmac
import json
import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from shared.azure.access import ANYBODY, readable_sources
from shared.azure.classify import classify, retry_after_seconds
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.outbound import (
    AddressPolicy,
    FetchError,
    ForbiddenAddressError,
    SourceError,
    check_encrypted,
    check_http_url,
    checked_connector,
)
from shared.azure.telemetry.metrics import pipeline_metrics
from shared.core.concurrency import gather_limited
from shared.core.errors import ErrorKind
from shared.core.ids import delivery_id
from shared.core.lazy_import import lazy
from shared.core.times import stored_time
from shared.mail.masking import mask_json
from shared.models.queries.reports import DUE_DELIVERIES, NEXT_DELIVERY
from shared.models.reports import DeliveryStatus, Report, ReportDelivery
from shared.pipeline.event_types import ReportDeliveryFailed
from shared.pipeline.events import Event
from shared.pipeline.retry import exponential
from shared.pipeline.state.deliveries import (
    count_delivery_attempt,
    mark_delivered,
    mark_delivery_failed,
    record_failed_delivery,
)
from shared.pipeline.topology import DELIVERIES
from shared.settings.app import Settings
from shared.settings.outgoing import Webhook, parse_webhooks

if TYPE_CHECKING:
    import aiohttp
else:  # The stage that plans deliveries imports this module and sends nothing.
    aiohttp = lazy("aiohttp")

_SUCCESS = range(200, 300)
_REDIRECTS = range(300, 400)


class NotDeliveredError(Exception):
    """The receiver did not accept it. `for_good` means that a retry would fail in the same way."""

    def __init__(self, message: str, *, retry_after: float | None = None, for_good: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.for_good = for_good


def payload(report: Report, settings: Settings) -> bytes:
    """Return the report's facts and its address, with e-mail addresses masked as on pages."""
    stored = report.to_cosmos()
    facts: dict[str, Any] = {
        name: stored[name]
        for name in (
            "report_id", "summary_id", "summary_type", "scope", "thread_id", "thread_ids", "source", "title",
            "published_at", "has_consensus", "consensus_type", "outcome", "counts",
            "draft_mentions", "first_message_date", "last_message_date",
        )
    }  # fmt: skip
    url = f"{settings.PUBLIC_URL.rstrip('/')}/api/reports/{report.report_id}"
    visible = facts if settings.SHOW_ADDRESSES else mask_json(facts)
    body = {"event": "report.published", **visible, "url": url}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def sign(secret: str, body: bytes, at: int) -> str:
    """Return the HMAC-SHA256 of the time and the body."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


async def send(
    hook: Webhook, report: Report, policy: AddressPolicy, *, now: datetime, seconds: float, settings: Settings
) -> None:
    body = payload(report, settings)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "rough-consensus",
        "X-Rough-Consensus-Event": "report.published",
        "X-Rough-Consensus-Delivery": delivery_id(report.report_id, hook.name),
        "X-Rough-Consensus-Signature": sign(hook.secret.get_secret_value(), body, int(now.timestamp())),
    }
    try:
        url = check_http_url(hook.url, policy)
        check_encrypted(url, policy)
        timeout = aiohttp.ClientTimeout(total=seconds)
        async with (
            aiohttp.ClientSession(
                connector=checked_connector(policy), timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
            ) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            status, retry_after = response.status, retry_after_seconds(response.headers, now=now)
    except (ForbiddenAddressError, SourceError) as error:
        raise NotDeliveredError(str(error), for_good=True) from error
    except (aiohttp.ClientError, FetchError, TimeoutError, OSError) as error:
        raise NotDeliveredError(f"{type(error).__name__}: {error}"[:300]) from error
    if status in _REDIRECTS:
        raise NotDeliveredError(f"it answered {status}: redirects are not followed; set its final address")
    if status not in _SUCCESS:
        raise NotDeliveredError(f"it answered {status}", retry_after=retry_after)


log = logging.getLogger(__name__)
CLOSED = "not all readers may read its source, and the webhook does not name the source"
MAX_A_RUN = 200
AT_ONCE = 8
FIRST_DELAY, LONGEST_DELAY = 30.0, 3600.0  # The delay doubles, so all attempts take about an hour.
MAX_ATTEMPTS = 8
TIMEOUT_SECONDS = 10.0  # Of one attempt. A receiver should accept a report first and process it later.
# Consecutive failures in one run, after which the other reports for the receiver wait for the next run.
FAILURES_UNTIL_LEFT_ALONE = 3


def planned_deliveries(settings: Settings, report: Report, now: datetime) -> list[ReportDelivery]:
    return [
        ReportDelivery(channel=hook.name, summary_id=report.summary_id, next_attempt_at=now)
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
    patience: float = TIMEOUT_SECONDS,
) -> int:
    """Attempt all due deliveries. Return how many were accepted."""
    due = clients.store.query(DUE_DELIVERIES, Session(), now=stored_time(now), limit=MAX_A_RUN)
    reports = [(row["id"], row["scope"]) async for row in due]
    policy = policy or AddressPolicy.parse(
        clients.settings.WEBHOOK_ALLOWED_HOSTS, setting="WEBHOOK_ALLOWED_HOSTS"
    )
    run = _DeliveryRun(clients, now, policy, patience)
    await gather_limited((run.deliver(id_, scope) for id_, scope in reports), AT_ONCE)
    return run.delivered


def _delay(attempts: int) -> float:
    return exponential(FIRST_DELAY, attempts, LONGEST_DELAY)


@dataclass
class _DeliveryRun:
    clients: Clients
    now: datetime
    policy: AddressPolicy
    patience: float  # Seconds for one attempt.
    delivered: int = 0
    _failures: Counter[str] = field(default_factory=Counter)

    async def deliver(self, id_: str, scope: str) -> None:
        report = await self.clients.store.find(Report, id_, Session(), partition=scope)
        for index, delivery in enumerate(report.deliveries if report else []):
            if report and delivery.status is DeliveryStatus.PENDING and self._is_due(delivery):
                report = await self._attempt(report, index) or report

    def _is_due(self, delivery: ReportDelivery) -> bool:
        return delivery.next_attempt_at is None or delivery.next_attempt_at <= self.now

    async def _attempt(self, report: Report, index: int) -> Report | None:
        """Attempt one delivery. Return the changed report, or None without an attempt."""
        delivery = report.deliveries[index]
        hooks = (hook for hook in _webhooks(self.clients.settings) if hook.name == delivery.channel)
        hook = next(hooks, None)
        if hook is None:
            return await self._give_up(report, index, "the webhook is no longer in the settings")
        if report.source not in hook.sources and not await self._is_open(report):
            return await mark_delivery_failed(self.clients.store, report, index, CLOSED)
        if delivery.attempts >= MAX_ATTEMPTS:
            return await self._give_up(report, index, delivery.error or "its last attempt was interrupted")
        if self._failures[hook.name] >= FAILURES_UNTIL_LEFT_ALONE:
            return None
        # The attempt is counted before it is made, and by one instance only.
        retry_at = self.now + timedelta(seconds=_delay(delivery.attempts + 1))
        store = self.clients.store
        claimed = await count_delivery_attempt(store, report, index, now=self.now, retry_at=retry_at)
        return await self._send(hook, claimed, index) if claimed else None

    async def _is_open(self, report: Report) -> bool:
        """Return whether all readers may read the report. Others go only to webhooks that name the source."""
        allowed = await readable_sources(self.clients, ANYBODY)
        return allowed is None or report.source in allowed

    async def _send(self, hook: Webhook, report: Report, index: int) -> Report:
        settings = self.clients.settings
        try:
            await send(hook, report, self.policy, now=self.now, seconds=self.patience, settings=settings)
        except NotDeliveredError as error:
            self._failures[hook.name] += 1
            return await self._failed(report, index, error)
        self._failures.pop(hook.name, None)
        self.delivered += 1
        return await mark_delivered(self.clients.store, report, index, self.now)

    async def _failed(self, report: Report, index: int, error: NotDeliveredError) -> Report:
        delivery = report.deliveries[index]
        log.warning("Report %s did not reach webhook %s: %s", report.report_id, delivery.channel, error)
        if error.for_good or delivery.attempts >= MAX_ATTEMPTS:
            return await self._give_up(report, index, str(error))
        wait = max(_delay(delivery.attempts), error.retry_after or 0.0)
        retry_at = self.now + timedelta(seconds=wait)
        return await record_failed_delivery(
            self.clients.store, report, index, error=str(error), retry_at=retry_at
        )

    async def _give_up(self, report: Report, index: int, why: str) -> Report:
        """Publish the event first, because the broker drops its duplicate if a crash repeats this."""
        delivery = report.deliveries[index]
        failed = ReportDeliveryFailed(
            report_id=report.report_id,
            thread_id=report.thread_id or report.scope,
            delivery_channel=delivery.channel,
            error_type=NotDeliveredError.__name__,
            error_message=why,
            retry_count=max(delivery.attempts - 1, 0),
        )
        await self.clients.bus.publish([Event.of(failed, now=self.now)])
        return await mark_delivery_failed(self.clients.store, report, index, why)


SLOT_SECONDS = 15
AFTER_A_FAILURE = timedelta(minutes=1)


async def wake_deliveries(clients: Clients, at: datetime) -> None:
    """Schedule the due deliveries for soon after `at`. The broker drops a repeat in the same time slot."""
    slots = math.floor(max(at, clients.runtime.now()).timestamp() / SLOT_SECONDS) + 1
    due = datetime.fromtimestamp(slots * SLOT_SECONDS, UTC)
    name = stored_time(due)
    await clients.bus.send_request(DELIVERIES.name, {"due": name}, f"deliveries-{name}", at=due)


async def wake_for_next_delivery(clients: Clients, *, no_later_than: datetime | None = None) -> bool:
    """Schedule the next planned attempt, but not after `no_later_than`. Return whether there is one."""
    rows = clients.store.query(NEXT_DELIVERY, Session())
    times = [datetime.fromisoformat(row["next_delivery_at"]) async for row in rows]
    if not times or (no_later_than is not None and times[0] > no_later_than):
        return False
    await wake_deliveries(clients, times[0])
    return True


async def deliver_and_wake(clients: Clients) -> int:
    """Attempt the due deliveries and schedule the next. Return how many were accepted."""
    now = clients.runtime.now()
    try:
        delivered = await deliver_due(clients, now)
        await wake_for_next_delivery(clients)
    except Exception as error:
        failure = classify(error)
        if failure.kind is ErrorKind.PERMANENT:
            raise
        # An immediate retry would make the message a dead letter before the service is back.
        log.warning("Deliveries wait for a minute: %s", failure.for_logs)
        labels = {"service": DELIVERIES.name, "error_type": failure.error_type}
        pipeline_metrics().failures.add(1, labels)
        await wake_deliveries(clients, now + AFTER_A_FAILURE)
        return 0
    return delivered
