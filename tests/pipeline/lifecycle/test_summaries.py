"""Which summary and report of a scope is the current one."""

from datetime import timedelta
from typing import Any

import pytest

from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Store
from shared.core.ids import digest_id
from shared.documents.reports import Digest, Report, Summary
from shared.pipeline.lifecycle.summaries import (
    all_outdated,
    digest_flags_settled,
    orphan_deleted,
    summary_revived,
    thread_flags_settled,
)
from tests.support.cosmos_engine import changes_to, stored_fields
from tests.support.documents import CREATED, new_report, new_summary, new_thread

HOUR = timedelta(hours=1)


def summary(id_: str, hours: int, scope: str = "t1", *, outdated: bool = False) -> Summary:
    return new_summary(id_, scope, generated_at=CREATED + hours * HOUR, outdated=outdated)


async def _store(store: Store, *summaries: Summary) -> None:
    for made in summaries:
        await store.upsert(made, Session())
        await store.upsert(new_report(made, outdated=made.outdated), Session())


async def _current(store: Store, *summaries: Summary) -> tuple[set[str], set[str]]:
    """The ids of the summaries that are current, and those whose reports are."""
    by_summary = {made.id for made in summaries if not (await stored_fields(store, made))["outdated"]}
    by_report = {
        made.id for made in summaries if not (await stored_fields(store, new_report(made)))["outdated"]
    }
    return by_summary, by_report


async def _name(store: Store, scope: str, summary_id: str | None) -> None:
    id_ = digest_id(scope)
    await store.upsert(Digest(id=id_, scope=scope, created_at=CREATED, summary_id=summary_id), Session())


@pytest.mark.parametrize("outdated", [True, False])
async def test_the_summary_that_a_digest_names_is_current_though_a_later_one_exists(
    store: Store, outdated: bool
) -> None:
    made = [summary("a", 3, outdated=outdated), summary("b", 9, outdated=not outdated), summary("z", 9, "t2")]
    await _store(store, *made)
    await _name(store, "t1", "a")
    assert await digest_flags_settled(store, "t1", Session()) == "a"
    assert await _current(store, *made) == ({"a", "z"}, {"a", "z"})


async def test_a_digest_with_nothing_to_say_has_no_current_summary(store: Store) -> None:
    made = [summary("a", 1), summary("b", 2)]
    await _store(store, *made)
    await _name(store, "t1", None)
    assert await digest_flags_settled(store, "t1", Session()) is None
    assert await _current(store, *made) == (set(), set())


async def test_the_summary_that_a_thread_names_is_current_though_a_later_one_exists(store: Store) -> None:
    made = [summary("a", 1, outdated=True), summary("b", 2), summary("z", 9, "t2")]
    await _store(store, *made)
    await store.upsert(new_thread("t1", summary_id="a"), Session())
    assert await thread_flags_settled(store, "t1", Session()) == "a"
    assert await _current(store, *made) == ({"a", "z"}, {"a", "z"})


@pytest.mark.parametrize("merged_into", [None, "t9"])
async def test_a_thread_that_is_merged_or_gone_has_no_current_summary(
    store: Store, merged_into: str | None
) -> None:
    made = [summary("a", 1), summary("b", 2)]
    await _store(store, *made)
    if merged_into is not None:
        await store.upsert(new_thread("t1", summary_id="a", merged_into=merged_into), Session())
    assert await thread_flags_settled(store, "t1", Session()) is None
    assert await _current(store, *made) == (set(), set())


async def test_nothing_that_was_said_of_a_thread_that_is_gone_is_current(store: Store) -> None:
    made = [summary("a", 1), summary("b", 2), summary("z", 9, "t2")]
    await _store(store, *made)
    await all_outdated(store, "t1", Session())
    assert await _current(store, *made) == ({"z"}, {"z"})


async def test_a_revived_summary_is_the_latest_again_and_current_once_it_is_named(store: Store) -> None:
    """A revival that arrives late, from a worker that is gone, makes nothing current."""
    made = summary("a", 0, outdated=True)
    report = new_report(made, outdated=True)
    later = "2026-01-02T05:04:05.000000Z"

    async def revive() -> None:
        await summary_revived(store, made, CREATED + 2 * HOUR, Session())

    assert await changes_to(store, made, revive) == {"generated_at": later}
    await store.upsert(made, Session())
    assert await changes_to(store, report, revive) == {"published_at": later}


async def _has_report(store: Store, made: Summary) -> bool:
    return await store.find(Report, new_report(made).id, Session(), partition=made.scope) is not None


async def test_a_report_goes_when_its_summary_is_gone_and_stays_when_that_is_there(store: Store) -> None:
    kept, gone = summary("a", 1), summary("b", 2)
    await _store(store, kept, gone)
    await store.delete(Summary, gone.id, Session(), partition=gone.scope)
    for made, is_gone in ((kept, False), (gone, True)):
        report = new_report(made)
        assert await orphan_deleted(store, report.id, made.id, made.scope, Session()) is is_gone
        assert await _has_report(store, made) is not is_gone
        assert await orphan_deleted(store, report.id, made.id, made.scope, Session()) is is_gone


async def test_a_deletion_that_arrives_late_leaves_a_report_that_was_published_since(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Summary and report are made anew after the deletion has read the old report, before its write arrives."""
    made, delete, arrived = summary("a", 1), store.delete, list[bool]()
    await store.upsert(new_report(made), Session())

    async def late(*place: Any, **condition: Any) -> bool:
        await _store(store, made)
        arrived.append(await delete(*place, **condition))
        return arrived[-1]

    monkeypatch.setattr(store, "delete", late)
    assert not await orphan_deleted(store, new_report(made).id, made.id, made.scope, Session())
    assert arrived == [False]
    assert await _has_report(store, made)
