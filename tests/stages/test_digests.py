"""Digests of several threads, through the stages, on the local cloud."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.azure.cosmos.session import Patch, Session
from shared.core.errors import InvalidDocumentError
from shared.core.ids import scope_id
from shared.models.reports import Report, Summary
from shared.models.threads import Thread
from shared.operations.integrity.checks import Finding, FindingKind
from shared.operations.integrity.repair import Repairer
from shared.pipeline.event_types import SummarizationRequested
from shared.pipeline.events import Event
from shared.pipeline.state.summaries import delete_orphan_report
from shared.summaries.citations import verify_stored
from shared.summaries.digest_scopes import parse_scope
from shared.summarization.digests import announcement, refresh_digest, refresh_due
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import MailIn, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.services import RunningService

# 1 January 2024 was a Monday: messages 0 to 6 are in its first week, 7 to 13 in its second.
AGREED = [
    mail(0, subject="Adopt draft-ietf-tls-esni-18", body="I propose that we adopt draft-ietf-tls-esni-18."),
    mail(1, parent=0, body="I support adoption of draft-ietf-tls-esni."),
    mail(2, parent=0, body="+1 to adoption."),
]
CONTESTED = [
    mail(4, subject="A registry <script>alert(1)</script>", body="I propose a new registry for RFC 8446."),
    mail(5, parent=4, body="I strongly object to a registry, as nobody will keep it."),
]
LATER = [mail(8, subject="Lunch", body="Where do we eat on Tuesday of that week?")]
FIRST, SECOND, MONTH = "weekly:list:2024-W01", "weekly:list:2024-W02", "consensus:list:2024-01"


async def take_in(place: MailIn, *mails: bytes) -> None:
    """Process messages under this test's own addresses, because the broker drops repeated events."""
    await place.take_in(b"".join(mails).replace(b"@example.org", f"@{place.place.tag}.org".encode()))


async def report_all(place: MailIn, version: str = "v1") -> list[Event[Any]]:
    """Summarize and report all threads, and return the events that reporting received."""
    threads = [thread["id"] for thread in await place.stored("threads") if thread["merged_into"] is None]
    events = []
    for thread in threads:
        request = SummarizationRequested(
            thread_ids=[thread],
            top_k=12,
            llm_backend="extractive",
            llm_model="extractive-v1",
            context_window_tokens=3000,
            prompt_template="consensus-summary-v1",
            content_hashes=[version],
        )
        (complete,) = await place.run(SUMMARIZATION, event_of(request))
        await place.run(REPORTING, complete)
        events.append(complete)
    return events


async def make(place: MailIn) -> list[str]:
    """Refresh digests as the timer does, and report them."""
    made = await refresh_due(place.clients, place.now)
    for named in await place.stored("digests"):
        if named["scope"] in made and named["summary_id"]:
            summary = await digest(place, named["scope"])
            await place.run(REPORTING, event_of(announcement(summary, named["summary_number"])))
    return made


async def digest(place: MailIn, scope: str) -> Summary:
    (current,) = [named["summary_id"] for named in await place.stored("digests") if named["scope"] == scope]
    return await place.clients.store.read(Summary, current, Session(), partition=scope)


async def report_on(place: MailIn, scope: str) -> Report:
    return await place.clients.store.read(Report, scope_id(scope), Session(), partition=scope)


@pytest.mark.requirement("R-505")
async def test_threads_become_digests_of_weeks_months_and_drafts_with_verified_citations(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *AGREED, *CONTESTED, *LATER)
        await report_all(place)
        made = await make(place)
        assert sorted(made) == [MONTH, "draft:RFC8446", "draft:draft-ietf-tls-esni", FIRST, SECOND]
        week = await digest(place, FIRST)
        assert (week.summary_type, week.thread_id, len(week.thread_ids)) == ("weekly", None, 2)
        assert "**2 threads**, 5 messages; consensus in 1" in week.content_markdown
        assert "strongly object" in week.content_markdown
        assert "Lunch" not in week.content_markdown
        assert "<script" not in week.content_html
        report = await report_on(place, FIRST)
        dates = [thread.last_message_date for thread in report.threads]
        assert len(dates) == 2
        assert dates == sorted(dates, reverse=True)  # type: ignore[type-var]  # each has one
        assert [thread.thread_id for thread in report.threads] == week.thread_ids
        decided = [thread for thread in report.threads if thread.is_decided]
        assert [thread.outcome.sentence for thread in decided if thread.outcome] == [
            "Accepted: at least 2 in support, not declared."
        ]
        assert decided[0].outcome
        assert decided[0].outcome.sentence.removesuffix(".") in week.content_markdown.replace("\\", "")
        month = await digest(place, MONTH)
        assert "Lunch" not in month.content_markdown  # no position was taken on it
        draft = await digest(place, "draft:draft-ietf-tls-esni")
        assert (draft.summary_type, len(draft.thread_ids)) == ("draft-focused", 1)
        assert "registry" not in draft.content_markdown
        texts = {chunk["id"]: chunk["text"] for chunk in await place.stored("chunks")}
        for scope in made:
            summary = await digest(place, scope)
            assert summary.content_hash
            assert summary.prompt_template
            assert verify_stored(summary.citations, texts) == []
            assert all(citation.thread_id in summary.thread_ids for citation in summary.citations)
            assert all(summary.citations[n] for claim in summary.claims for n in claim.citations)
            assert bool(summary.claims) is (scope != SECOND or "Where do we eat" in summary.content_markdown)
            report = await report_on(place, scope)
            assert (report.summary_type, report.thread_id) == (summary.summary_type, None)


async def test_however_often_events_come_a_digest_is_made_once_a_content(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *AGREED, *CONTESTED)
        events = await report_all(place)
        touched = {digest["id"]: digest["touches"] for digest in await place.stored("digests")}
        assert set(touched.values()) == {1}  # both threads of the week: one touch is enough
        await make(place)
        before = await place.stored("summaries")
        assert await make(place) == []
        for event in [*events, *events]:
            await place.run(REPORTING, event)
        place.now += timedelta(minutes=5)
        again = await refresh_due(place.clients, place.now)
        assert len(again) == len(touched)  # refreshed without a change
        assert await refresh_due(place.clients, place.now) == []
        assert await place.stored("summaries") == before


async def test_a_thread_that_grows_gives_its_digests_one_new_version_and_marks_the_old(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *AGREED)
        await report_all(place)
        await make(place)
        old = await digest(place, FIRST)
        await take_in(place, mail(3, parent=0, body="I object to adoption, as it leaks the name."))
        place.now += timedelta(minutes=5)
        await report_all(place, "v2")
        await make(place)
        new = await digest(place, FIRST)
        assert new.id != old.id
        assert "leaks the name" in new.content_markdown
        assert (await report_on(place, FIRST)).summary_id == new.id


async def test_a_digest_is_announced_to_reporting(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *LATER)
        await report_all(place)
        made = await refresh_digest(place.clients, parse_scope(SECOND), place.now)
        assert made is not None
        arrived = await place.place.take_all("reporting", 1)
        data = next(event.data for event in arrived if event.data.summary_id == made.id)
        assert (data.thread_id, data.summary_type) == (SECOND, "weekly")


async def test_refreshes_at_once_make_one_digest(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *AGREED)
        await report_all(place)
        scope = parse_scope(FIRST)
        made = await asyncio.gather(*(refresh_digest(place.clients, scope, place.now) for _ in range(4)))
        assert len({digest.id for digest in made if digest}) == 1
        assert len([summary for summary in await place.stored("summaries") if summary["scope"] == FIRST]) == 1


async def test_news_that_come_while_a_digest_is_made_have_it_made_again(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *AGREED)
        (event,) = await report_all(place)
        published = place.clients.bus.publish

        async def publish_late(events: Any) -> None:
            await place.run(REPORTING, event)  # the thread changes while its digest is in flight
            await published(events)

        monkeypatch.setattr(place.clients.bus, "publish", publish_late)
        await refresh_digest(place.clients, parse_scope(FIRST), place.now)
        monkeypatch.undo()
        assert FIRST in await refresh_due(place.clients, place.now)
        assert await refresh_due(place.clients, place.now) == []


async def test_a_digest_whose_report_does_not_come_is_announced_again_a_few_times(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *LATER)
        await report_all(place)
        now = datetime.now(UTC)  # the service's own clock says when the digest was last written
        assert SECOND in await refresh_due(place.clients, now)
        assert await refresh_due(place.clients, now) == []
        settings = place.clients.settings
        late = now + timedelta(seconds=settings.RETRY_JOB_MAX_DELAY_SECONDS + 60)
        for _ in range(1, settings.RETRY_JOB_MAX_ATTEMPTS_THREADS):
            assert SECOND in await refresh_due(place.clients, late)
        assert await refresh_due(place.clients, late) == []
        assert SECOND not in [report["scope"] for report in await place.stored("reports")]


async def test_a_digest_that_is_reported_is_not_announced_again(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *LATER)
        await report_all(place)
        assert SECOND in await make(place)
        assert await refresh_due(place.clients, datetime.now(UTC) + timedelta(days=1)) == []


async def test_a_digest_that_lost_its_report_is_found_and_repaired(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *LATER)
        await report_all(place)
        assert SECOND in await make(place)
        await place.clients.store.delete(Report, scope_id(SECOND), Session(), partition=SECOND)
        finding = Finding(
            FindingKind.SUMMARY_WITHOUT_REPORT, "summaries", (await digest(place, SECOND)).id, SECOND, "lost"
        )
        assert await Repairer(place.clients).repair(finding)
        assert SECOND in await make(place)
        assert (await report_on(place, SECOND)).summary_id == (await digest(place, SECOND)).id


async def test_a_thread_silent_in_a_week_is_not_in_its_digest(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, AGREED[0], mail(20, parent=0, body="I support this, late as it is."))
        await report_all(place)
        await make(place)
        assert await refresh_digest(place.clients, parse_scope(SECOND), place.now) is None
        assert (await digest(place, "weekly:list:2024-W03")).claims


async def test_a_digest_that_has_lost_its_threads_has_no_report(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *LATER)
        await report_all(place)
        await make(place)
        (thread,) = await place.stored("threads")
        store = place.clients.store
        await store.delete(Thread, thread["id"], Session())
        assert await refresh_digest(place.clients, parse_scope(SECOND), place.now) is None
        assert SECOND not in [report["scope"] for report in await place.stored("reports")]


async def test_a_digest_whose_summary_was_deleted_is_announced_under_another_number(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """The topic drops a number that it has seen."""
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *LATER)
        await report_all(place)
        await make(place)
        made, store = await digest(place, SECOND), place.clients.store
        numbers = [row["summary_number"] for row in await place.stored("digests") if row["scope"] == SECOND]
        await store.delete(Summary, made.id, Session(), partition=SECOND)
        assert await delete_orphan_report(store, made.id, SECOND, Session())
        again = await refresh_digest(place.clients, parse_scope(SECOND), place.now)
        assert again is not None
        assert again.id == made.id
        numbers += [row["summary_number"] for row in await place.stored("digests") if row["scope"] == SECOND]
        assert len(set(numbers)) == 2
        await place.run(REPORTING, event_of(announcement(again, numbers[-1])))
        assert (await report_on(place, SECOND)).summary_number == numbers[-1]


async def test_a_digest_that_cannot_be_made_holds_up_no_other_and_says_why(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_in(place, *AGREED, *LATER)
        await report_all(place)
        broken = next(summary for summary in await place.stored("summaries") if summary["title"] == "Lunch")
        patch = Patch(
            broken["id"], partition=broken["scope"], set={"claims": [{"text": "without citations"}]}
        )
        container = place.clients.store._container("summaries")
        await container.patch_item(patch.id, broken["scope"], patch.operations())
        with pytest.raises(InvalidDocumentError):
            await refresh_due(place.clients, place.now)
        states = {digest["scope"]: digest for digest in await place.stored("digests")}
        assert states[FIRST]["made"] == states[FIRST]["touches"]
        assert states[SECOND]["made"] < states[SECOND]["touches"]
        assert states[SECOND]["lastError"].startswith("InvalidDocumentError: ")
        assert (await digest(place, FIRST)).claims
