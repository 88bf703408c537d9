"""The deliveries of a report to its webhooks."""

from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.models.reports import Report, ReportDelivery
from shared.pipeline.state.deliveries import (
    count_delivery_attempt,
    mark_delivered,
    mark_delivery_failed,
    record_failed_delivery,
)
from tests.support.cosmos_engine import changes_to, stored_fields
from tests.support.documents import CREATED, new_report, new_summary

NOW, SOON, LATER = CREATED, CREATED + timedelta(minutes=5), CREATED + timedelta(hours=1)

SUMMARY, OTHER = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"


def text(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S.%fZ}"


def pending(channel: str, **fields: Any) -> ReportDelivery:
    values = {
        "summary_id": SUMMARY,
        "attempts": 1,
        "last_attempt_at": NOW,
        "next_attempt_at": SOON,
        "error": "E",
    }
    return ReportDelivery(channel=channel, **{**values, **fields})


def report_with(*deliveries: ReportDelivery, **fields: Any) -> Report:
    # Each field that follows from the deliveries starts with a value that is always wrong.
    stale: dict[str, Any] = {"delivery_channels": ["?"], "notified": None, "next_delivery_at": NOW}
    report = new_report(new_summary(SUMMARY), deliveries=list(deliveries), **fields)
    return report.model_copy(update=stale)


async def _deliveries(store: Store, report: Report, change: Awaitable[Any]) -> tuple[dict[str, Any], ...]:
    """Return the changes to the report without its deliveries, and then the changes to each delivery."""

    async def act() -> None:
        await change

    changes = await changes_to(store, report, act)
    stored = changes.pop("deliveries", None) or (await stored_fields(store, report))["deliveries"]
    before = report.to_cosmos()["deliveries"]
    return changes, *(
        {name: value for name, value in new.items() if value != old[name]}
        for old, new in zip(before, stored, strict=True)
    )


async def test_an_attempt_is_counted_before_it_is_made(store: Store) -> None:
    report = report_with(pending("a"), pending("b", next_attempt_at=NOW))
    attempt = count_delivery_attempt(store, report, 1, now=SOON, retry_at=LATER)
    assert await _deliveries(store, report, attempt) == (
        {"delivery_channels": [], "notified": False, "next_delivery_at": text(SOON)},
        {},
        {"attempts": 2, "last_attempt_at": text(SOON), "next_attempt_at": text(LATER)},
    )


async def test_who_counts_an_attempt_gets_the_report_as_it_is_now(store: Store) -> None:
    report = report_with(pending("a"))
    await store.upsert(report.model_copy(update={"title": "Since then"}), Session())
    counted = await count_delivery_attempt(store, report, 0, now=SOON, retry_at=LATER)
    assert counted is not None
    assert (counted.title, counted.deliveries[0].attempts) == ("Since then", 2)


@pytest.mark.parametrize("attempts", [0, 2])
async def test_an_attempt_that_somebody_else_has_counted_is_not_ours(store: Store, attempts: int) -> None:
    await store.upsert(report_with(pending("b", attempts=1), pending("a", attempts=attempts)), Session())
    seen = report_with(pending("b", attempts=1), pending("a", attempts=1))
    assert await count_delivery_attempt(store, seen, 1, now=SOON, retry_at=LATER) is None


async def test_a_report_that_all_webhooks_have_is_notified(store: Store) -> None:
    report = report_with(pending("a"), pending("b", status="delivered", next_attempt_at=None))
    assert await _deliveries(store, report, mark_delivered(store, report, 0, LATER)) == (
        {"delivery_channels": ["a", "b"], "notified": True, "next_delivery_at": None},
        {"status": "delivered", "delivered_at": text(LATER), "next_attempt_at": None, "error": None},
        {},
    )


async def test_a_report_that_one_webhook_has_waits_for_the_others(store: Store) -> None:
    report = report_with(
        pending("a"), pending("b", next_attempt_at=LATER), pending("c", next_attempt_at=SOON)
    )
    changes, *_ = await _deliveries(store, report, mark_delivered(store, report, 0, LATER))
    assert changes == {"delivery_channels": ["a"], "notified": False, "next_delivery_at": text(SOON)}


async def test_a_failed_delivery_stays_pending_with_its_next_time(store: Store) -> None:
    report = report_with(pending("a"), pending("b", status="failed"))
    failed = record_failed_delivery(store, report, 0, error="503", retry_at=LATER)
    assert await _deliveries(store, report, failed) == (
        {"delivery_channels": [], "notified": False, "next_delivery_at": text(LATER)},
        {"error": "503", "next_attempt_at": text(LATER)},
        {},
    )


async def test_a_delivery_that_is_given_up_is_not_due_again(store: Store) -> None:
    report = report_with(pending("a"))
    assert await _deliveries(store, report, mark_delivery_failed(store, report, 0, "410")) == (
        {"delivery_channels": [], "notified": False, "next_delivery_at": None},
        {"status": "failed", "error": "410", "next_attempt_at": None},
    )


async def test_the_outcome_of_a_delivery_is_not_noted_on_the_report_that_replaced_its_own(
    store: Store,
) -> None:
    report = report_with(pending("a"))
    later = report_with(pending("a", summary_id=OTHER))

    async def arrive() -> None:
        await mark_delivered(store, report, 0, LATER)

    assert await changes_to(store, later, arrive) == {}


async def test_no_attempt_is_counted_on_the_report_that_replaced_its_own(store: Store) -> None:
    report = report_with(pending("a"))
    await store.upsert(report_with(pending("a", summary_id=OTHER)), Session())
    assert await count_delivery_attempt(store, report, 0, now=SOON, retry_at=LATER) is None


async def test_what_others_write_on_a_report_stays(store: Store) -> None:
    """Two deliveries of one report run at once, and neither undoes the other's outcome."""
    report = report_with(pending("a"), pending("b"))
    await store.upsert(report, Session())
    await mark_delivered(store, report, 0, LATER)
    after = await mark_delivered(store, report, 1, LATER)
    assert [delivery.status for delivery in after.deliveries] == ["delivered", "delivered"]
