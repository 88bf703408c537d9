"""A thread's transitions: their writes, and the preconditions under which they refuse to write."""

from datetime import timedelta
from typing import Any

import pytest

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.models.reports import Summary
from shared.models.threads import Thread
from shared.pipeline.state.summaries import set_report
from shared.pipeline.state.threads import (
    NO_SUMMARY,
    claim_version,
    describe_thread,
    mark_requested,
    raise_revision,
    raise_revisions,
    redirect_thread,
    requested_version,
    set_summary,
)
from tests.support.cosmos_engine import changes_to, stored_fields
from tests.support.documents import CREATED, new_report, new_summary, new_thread

EARLIER, LATER = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
VERSION, NEXT_VERSION = "0123456789abcdef", "fedcba9876543210"
NOW = "2026-01-02T03:04:05.000000Z"
TRIED: dict[str, Any] = {
    "attemptCount": 3, "lastAttemptTime": CREATED, "lastError": "E", "requeued_at": CREATED,
}  # fmt: skip
UNTRIED = {"attemptCount": 0, "lastAttemptTime": None, "lastError": None, "requeued_at": None}


async def _claim(store: Store, *, by: str, version: str = VERSION, after: timedelta = timedelta(0)) -> bool:
    thread = await store.read(Thread, "t1", Session())
    return await claim_version(store, thread, version, claimer=by, now=CREATED + after, session=Session())


async def _thread(store: Store) -> Thread:
    return await store.read(Thread, "t1", Session())


async def test_only_the_report_of_the_threads_own_summary_is_its_report(store: Store) -> None:
    thread = new_thread(summary_id=LATER, summary_number=2)

    async def report(summary: str, number: int) -> None:
        told = await set_report(store, new_report(new_summary(summary), summary_number=number), Session())
        assert told is (number == 2)

    assert await changes_to(store, thread, lambda: report(EARLIER, 1)) == {}
    assert await changes_to(store, thread, lambda: report(LATER, 2)) == {"report_id": f"rpt-{LATER}"}


async def _summarized(store: Store, thread: Thread, summary: Summary) -> int | None:
    return await set_summary(store, thread, summary, Session(), now=CREATED)


async def test_a_summary_makes_a_thread_done(store: Store) -> None:
    thread = new_thread(message_count=2, **TRIED)
    summary = new_summary(LATER, metadata={"has_consensus": True, "consensus_type": "mixed"})
    assert await changes_to(store, thread, lambda: _summarized(store, thread, summary)) == {
        "summary_id": LATER,
        "summary_number": CREATED.timestamp() * 1000,
        "has_consensus": True,
        "consensus_type": "mixed",
        "status": "processed",
        "lastError": None,
    }


async def test_a_summary_that_is_named_again_keeps_its_number(store: Store) -> None:
    thread = new_thread(summary_id=LATER, summary_number=2)
    await store.upsert(thread, Session())
    assert await _summarized(store, thread, new_summary(LATER)) == 2


async def test_a_thread_that_has_named_another_summary_since_names_no_earlier_one(store: Store) -> None:
    await store.upsert(new_thread(summary_id=LATER, summary_number=2), Session())
    assert await _summarized(store, new_thread(summary_number=1), new_summary(EARLIER)) is None
    assert (await _thread(store)).summary_id == LATER


async def test_a_thread_that_has_changed_since_it_was_read_keeps_waiting(store: Store) -> None:
    summary = new_summary(EARLIER, metadata={"has_consensus": True, "consensus_type": "mixed"})
    read = new_thread(revision=1)
    changes = await changes_to(
        store, new_thread(revision=2, **TRIED), lambda: _summarized(store, read, summary)
    )
    assert changes.pop("summary_number")
    assert changes == {"summary_id": EARLIER, "has_consensus": True, "consensus_type": "mixed"}


async def test_a_claim_holds_for_its_event_until_it_expires_or_the_version_is_requested(
    store: Store,
) -> None:
    await store.upsert(new_thread(), Session())
    assert await _claim(store, by="one")
    assert await _claim(store, by="one", after=timedelta(minutes=1))  # the same event, delivered again
    assert not await _claim(store, by="other", after=timedelta(minutes=31))
    assert await _claim(store, by="other", after=timedelta(minutes=31, seconds=1))
    await mark_requested(store, "t1", VERSION, Session(), ends_claim=True)
    assert not await _claim(store, by="one", after=timedelta(days=30))
    assert await _claim(store, by="one", version=NEXT_VERSION, after=timedelta(days=30))


async def test_a_claim_that_arrives_after_the_thread_lost_its_last_message_again_is_refused(
    store: Store,
) -> None:
    """The version that was requested last is the same as when the claimer read the thread."""
    read = new_thread(content_hash="older", revision=3)
    await store.upsert(new_thread(content_hash="older", revision=5), Session())
    assert not await claim_version(store, read, VERSION, claimer="late", now=CREATED, session=Session())
    assert (await _thread(store)).requesting is None


async def test_another_version_is_claimed_beside_the_claim_of_the_first(store: Store) -> None:
    await store.upsert(new_thread(content_hash="older"), Session())
    assert await _claim(store, by="one")
    assert await _claim(store, by="other", version=NEXT_VERSION, after=timedelta(minutes=2))
    assert (await _thread(store)).requesting == {
        "version": NEXT_VERSION,
        "event": "other",
        "at": "2026-01-02T03:06:05.000000Z",
        "since": NOW,  # of the first claim that no request ended: the wait of its readers
    }


async def test_a_first_claim_is_all_that_changes(store: Store) -> None:
    changes = await changes_to(store, new_thread(**TRIED), lambda: _claim(store, by="one"))
    assert changes == {"requesting": {"version": VERSION, "event": "one", "at": NOW, "since": NOW}}


@pytest.mark.parametrize("status", ["failed_max_retries", "processed"])
async def test_a_new_version_of_a_thread_that_was_done_or_given_up_starts_its_attempts_again(
    store: Store, status: str
) -> None:
    thread = new_thread(status=status, **TRIED)
    changes = await changes_to(store, thread, lambda: _claim(store, by="one"))
    changes.pop("requesting")
    assert changes == {"status": "pending", **UNTRIED}


@pytest.mark.parametrize(
    ("version", "event", "is_reopened"),
    [(VERSION, "one", False), (VERSION, "other", True), ("older", "one", True)],
)
async def test_who_finds_its_own_claim_does_not_start_the_attempts_again(
    store: Store, version: str, event: str, is_reopened: bool
) -> None:
    claim = {"version": version, "event": event, "at": "2025-01-01T00:00:00.000000Z"}
    thread = new_thread(status="processed", requesting=claim, **TRIED)
    changes = await changes_to(store, thread, lambda: _claim(store, by="one"))
    assert ("status" in changes) is is_reopened


@pytest.mark.parametrize("ends_claim", [True, False])
async def test_a_request_is_noted_with_its_version(store: Store, ends_claim: bool) -> None:
    thread = new_thread(requesting={"version": VERSION, "event": "one"})
    changes = await changes_to(
        store, thread, lambda: mark_requested(store, "t1", VERSION, Session(), ends_claim=ends_claim)
    )
    assert changes == {"content_hash": VERSION, **({"requesting": None} if ends_claim else {})}
    assert requested_version(VERSION, ends_claim=ends_claim) == changes


async def test_a_thread_that_changed_starts_its_attempts_again_and_keeps_its_requested_version(
    store: Store,
) -> None:
    thread = new_thread(status="processed", content_hash=VERSION, **TRIED)
    expected = {"status": "pending", **UNTRIED}
    assert raise_revision(thread).model_dump(include={*expected}) == expected
    assert raise_revision(thread).content_hash == VERSION
    assert await changes_to(store, thread, lambda: raise_revisions(store, ["t1"], Session())) == {
        **expected,
        "revision": 1,
    }
    assert raise_revision(thread).revision == 1


async def test_of_a_merged_thread_a_redirect_stays(store: Store) -> None:
    thread = new_thread(summary_id=LATER, summary_number=7, inexact=True, threading={"roots": ["m"]}, **TRIED)
    changes = await changes_to(
        store, thread, lambda: store.upsert(redirect_thread(thread, into="t2"), Session())
    )
    assert changes == {
        "merged_into": "t2", "summary_id": None, "summary_number": 8, "threading": {}, "inexact": False,
        "status": "processed",
    }  # fmt: skip


async def test_what_a_thread_says_of_its_messages_is_set_for_the_revision_that_was_read(store: Store) -> None:
    thread = new_thread(inexact=True, revision=3, created_at=CREATED)
    facts = {"subject": "A proposal"}
    changes = await changes_to(store, thread, lambda: describe_thread(store, thread, facts, Session()))
    assert changes == {"subject": "A proposal", "inexact": False}
    later = thread.model_copy(update={"revision": 4})
    assert await changes_to(store, later, lambda: describe_thread(store, thread, facts, Session())) == {}


async def test_no_summary_is_a_field_of_a_stored_thread(store: Store) -> None:
    await store.upsert(new_thread(), Session())
    fields = await stored_fields(store, new_thread())
    assert {name: fields[name] for name in NO_SUMMARY} == {"summary_id": None}
