from typing import Any

import pytest

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.core.errors import ClassifiedError, ErrorKind
from shared.models.reports import Digest
from shared.pipeline.state.summaries import (
    fail_digest,
    finish_digest,
    mark_digest_stale,
    name_digest,
    set_report,
    start_digest,
)
from tests.support.cosmos_engine import changes_to, stored_fields
from tests.support.documents import CREATED, new_report, new_summary


def new_digest(**fields: Any) -> Digest:
    values = {"touches": 3, "working": 1, "made": 1, "lastError": "E", "attemptCount": 2}
    return Digest(id="d1", scope="week", created_at=CREATED, **{**values, **fields})


async def test_each_touch_counts(store: Store) -> None:
    seen = new_digest(working=3)
    assert await changes_to(store, seen, lambda: mark_digest_stale(store, "d1")) == {"touches": 4}
    made = new_digest(made=3)
    assert await changes_to(store, made, lambda: mark_digest_stale(store, "d1")) == {"touches": 4}


async def test_a_touch_is_not_counted_where_one_waits_that_no_refresh_has_seen(store: Store) -> None:
    assert await changes_to(store, new_digest(), lambda: mark_digest_stale(store, "d1")) == {}


async def test_a_refresh_notes_which_touches_it_has_seen(store: Store) -> None:
    digest = new_digest()
    assert await changes_to(store, digest, lambda: start_digest(store, digest)) == {"working": 3}


async def test_a_refresh_that_ended_made_what_it_had_seen(store: Store) -> None:
    digest = new_digest()
    changes = await changes_to(store, digest, lambda: finish_digest(store, digest))
    assert changes == {"made": 3, "lastError": None, "announced": 1}
    await store.upsert(new_digest(touches=9), Session())  # a thread changed during the refresh
    await finish_digest(store, digest)
    stored = await stored_fields(store, digest)
    assert (stored["touches"], stored["made"]) == (9, 3)


@pytest.mark.parametrize(
    ("named", "number", "wins"), [(0, 7, True), (3, 7, True), (4, 7, False), (0, 8, False)]
)
async def test_a_refresh_names_its_summary_unless_one_that_has_seen_more_did(
    store: Store, named: int, number: int, wins: bool
) -> None:
    digest = new_digest(summary_number=7)
    stored = new_digest(named=named, made=named, touches=9, summary_id="s0", summary_number=number)
    await store.upsert(stored, Session())
    given = await name_digest(store, digest, "s1", CREATED, Session())
    assert given == (CREATED.timestamp() * 1000 if wins else None)
    fields = await stored_fields(store, stored)
    assert fields["summary_id"] == ("s1" if wins else "s0")
    assert fields["summary_number"] == (given if wins else number)
    await finish_digest(store, digest)
    assert (await stored_fields(store, stored))["made"] == max(named, 3)


async def test_another_summary_is_neither_announced_nor_reported(store: Store) -> None:
    digest = new_digest(summary_id="s0", summary_number=7, report_id="rpt-s0", announced=2)
    await store.upsert(digest, Session())
    for summary_id, known in (("s0", ("rpt-s0", 2)), ("s1", (None, 0))):
        await name_digest(store, digest, summary_id, CREATED, Session())
        fields = await stored_fields(store, digest)
        assert (fields["report_id"], fields["announced"]) == known


async def test_only_the_report_of_the_digests_own_summary_is_its_report(store: Store) -> None:
    report = new_report(new_summary("s1", "week", thread_id=None), id="d1", summary_number=7)
    for number, noted in ((8, None), (7, "rpt-s1")):
        digest = new_digest(summary_id="s1", summary_number=number)
        await store.upsert(digest, Session())
        assert await set_report(store, report, Session()) is (noted is not None)
        assert (await stored_fields(store, digest))["report_id"] == noted


async def test_a_refresh_that_changes_nothing_keeps_the_number(store: Store) -> None:
    digest = new_digest(summary_id="s1", summary_number=7)
    await store.upsert(digest, Session())
    assert await name_digest(store, digest, "s1", CREATED, Session()) == 7


async def test_a_refresh_that_failed_is_counted_with_its_error(store: Store) -> None:
    failure = ClassifiedError(ErrorKind.TRANSIENT, "Trouble", "later")
    changes = await changes_to(store, new_digest(), lambda: fail_digest(store, "d1", failure, CREATED))
    assert changes == {
        "attemptCount": 3,
        "lastAttemptTime": "2026-01-02T03:04:05.000000Z",
        "lastError": "Trouble: later",
    }


async def test_a_digest_whose_refresh_failed_is_made_again_although_a_later_refresh_made_it(
    store: Store,
) -> None:
    """The last write of the failed refresh may arrive after the later refresh has read."""
    failure = ClassifiedError(ErrorKind.TRANSIENT, "ServiceSilentError", "no answer")
    made = new_digest(working=3, made=3)
    changes = await changes_to(store, made, lambda: fail_digest(store, "d1", failure, CREATED))
    assert changes["touches"] == made.touches + 1
