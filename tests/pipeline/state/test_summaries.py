"""The current summary and report of a scope."""

from typing import Any

import pytest

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.models.reports import Digest, Report, Summary
from shared.pipeline.state.summaries import (
    delete_orphan_report,
    next_number,
    store_report,
    withdraw_report,
)
from tests.support.documents import CREATED, new_report, new_summary, new_thread


async def _report(store: Store) -> Report | None:
    probe = new_report(new_summary("a"))
    return await store.find(Report, probe.id, Session(), partition=probe.scope)


@pytest.mark.parametrize(("before", "number", "left"), [(5, 6, "new"), (6, 6, "old"), (7, 6, "old")])
async def test_a_report_replaces_only_one_with_a_lower_number(
    store: Store, before: int, number: int, left: str
) -> None:
    await store.upsert(new_report(new_summary("old"), summary_number=before), Session())
    stored = await store_report(store, new_report(new_summary("new"), summary_number=number), Session())
    assert (stored is None) is (left == "old")
    found = await _report(store)
    assert found is not None
    assert found.summary_id == left


async def test_a_report_that_is_stored_again_stays_with_its_deliveries(store: Store) -> None:
    held = new_report(new_summary("a"), summary_number=5, notified=True)
    await store.upsert(held, Session())
    stored = await store_report(store, new_report(new_summary("a"), summary_number=5), Session())
    assert stored is not None
    assert stored[0].notified


@pytest.mark.parametrize(("named", "stays"), [("a", True), ("b", True), (None, False)])
async def test_only_the_report_of_a_scope_without_a_summary_is_withdrawn(
    store: Store, named: str | None, stays: bool
) -> None:
    await store.upsert(new_thread("t1", summary_id=named), Session())
    await store.upsert(new_report(new_summary("a")), Session())
    await withdraw_report(store, "t1", "t1", Session())
    assert (await _report(store) is not None) is stays


async def test_a_digest_that_names_no_summary_has_no_report(store: Store) -> None:
    report = new_report(new_summary("a"), thread_id=None)
    await store.upsert(Digest(id=report.id, scope=report.scope, created_at=CREATED), Session())
    await store.upsert(report, Session())
    await withdraw_report(store, report.scope, None, Session())
    assert await _report(store) is None


def test_numbers_go_on_from_the_clock() -> None:
    now = int(CREATED.timestamp() * 1000)
    assert next_number(0, CREATED) == now
    # A summary in the same millisecond, or on a host whose clock is behind.
    assert next_number(now, CREATED) == now + 1


async def test_a_report_goes_when_its_summary_is_gone_and_stays_when_that_is_there(store: Store) -> None:
    made = new_summary("a")
    await store.upsert(new_report(made), Session())
    await store.upsert(made, Session())
    assert not await delete_orphan_report(store, made.id, made.scope, Session())
    assert await _report(store) is not None
    await store.delete(Summary, made.id, Session(), partition=made.scope)
    for _ in range(2):
        assert await delete_orphan_report(store, made.id, made.scope, Session())
        assert await _report(store) is None


async def test_the_report_of_another_summary_stays(store: Store) -> None:
    await store.upsert(new_report(new_summary("b")), Session())
    assert await delete_orphan_report(store, "a", "t1", Session())
    assert await _report(store) is not None


async def test_a_deletion_that_arrives_late_leaves_a_report_that_was_published_since(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Summary and report are replaced after the deletion read the old report and before its write arrives."""
    made, delete, arrived = new_summary("a"), store.delete, list[bool]()
    await store.upsert(new_report(made), Session())

    async def late(*place: Any, **condition: Any) -> bool:
        await store.upsert(made, Session())
        await store.upsert(new_report(made), Session())
        arrived.append(await delete(*place, **condition))
        return arrived[-1]

    monkeypatch.setattr(store, "delete", late)
    assert not await delete_orphan_report(store, made.id, made.scope, Session())
    assert arrived == [False]
    assert await _report(store) is not None
