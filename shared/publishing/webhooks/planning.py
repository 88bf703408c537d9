"""Which webhooks a report goes to."""

from collections.abc import Sequence
from datetime import datetime

from shared.documents.reports import Report, ReportDelivery
from shared.settings.app import Settings
from shared.settings.webhooks import Webhook, parse_webhooks

__all__ = ["planned_deliveries", "webhooks_of"]


def planned_deliveries(settings: Settings, report: Report, now: datetime) -> list[ReportDelivery]:
    return [
        ReportDelivery(channel=hook.name, next_attempt_at=now)
        for hook in webhooks_of(settings)
        if hook.wants(report)
    ]


def webhooks_of(settings: Settings) -> Sequence[Webhook]:
    return parse_webhooks(settings.WEBHOOKS.get_secret_value() if settings.WEBHOOKS else "")
