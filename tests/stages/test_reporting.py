"""From an archive to a published report, on the local cloud."""

import asyncio
import io
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evaluation.consensus import prediction_of
from evaluation.consensus_corpus import read_profile, thread_mail_of
from shared.azure.cosmos.session import Patch, Session
from shared.core.ids import scope_id, thread_id
from shared.mail.models import ParsedMail
from shared.mail.parse import parse_archive
from shared.models.reports import Report, Summary
from shared.models.sources import Source
from shared.models.threads import Chunk, Thread
from shared.pipeline import progress
from shared.pipeline.event_types import SummarizationRequested
from shared.pipeline.events import Event
from shared.pipeline.readiness import ready_thread
from shared.reading.reader import read_thread
from shared.summaries.citations import verify_stored
from shared.summaries.models import ThreadContext
from shared.summarization.summarizers import UnknownBackendError
from shared.summarization.thread_context import load_context
from stages import reporting, summarization
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import NOW, MailIn, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.documents import CREATED
from tests.support.events import event_of
from tests.support.measured import Measured
from tests.support.services import ROOT as PROJECT
from tests.support.services import RunningService
from tools.run_archives.client import definitions_at

SAMPLES = PROJECT / "samples"

ROOT = thread_id("<m0@example.org>", "list")
THREAD = b"".join(
    [
        mail(0, subject="Require TLS 1.3", body="I propose that we require TLS 1.3 for all new deployments."),
        mail(1, parent=0, body="I support this proposal.\n\n> I propose that we require TLS 1.3"),
        mail(2, parent=0, body="I object to this proposal. Many embedded devices cannot run it."),
        mail(3, parent=2, body="+1 to adoption. <script>alert(1)</script> [click](javascript:alert(1))"),
    ]
)


def request(version: str = "v1", **changes: Any) -> SummarizationRequested:
    values: dict[str, Any] = {
        "thread_ids": [ROOT],
        "top_k": 12,
        "llm_backend": "extractive",
        "llm_model": "extractive-v1",
        "context_window_tokens": 3000,
        "prompt_template": "consensus-summary-v1",
        "content_hashes": [version],
    }
    return SummarizationRequested(**{**values, **changes})


async def summarized(place: MailIn, version: str = "v1") -> Event[Any]:
    (event,) = await place.run(SUMMARIZATION, event_of(request(version)))
    return event


async def stored_report(place: MailIn) -> Report:
    return await place.clients.store.read(Report, scope_id(ROOT), Session(), partition=ROOT)


async def settled_version(place: MailIn) -> str:
    """Return the version of the thread after all its chunks are embedded."""
    store, embedded = place.clients.store, {"embedding_generated": True, "status": "processed"}
    for chunk in await place.stored("chunks"):
        await store.patch(Chunk, Patch(chunk["id"], set=embedded), Session())
    ready = await ready_thread(place.clients, ROOT, Session())
    assert ready is not None
    return ready.version


@pytest.mark.requirement("R-503")
async def test_a_thread_becomes_a_report_whose_citations_all_verify(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        complete = await summarized(place, await settled_version(place))
        store = place.clients.store
        summary = await store.read(Summary, complete.data.summary_id, Session(), partition=ROOT)
        texts = {chunk["id"]: chunk["text"] for chunk in await place.stored("chunks")}
        assert summary.citations
        assert verify_stored(summary.citations, texts) == []
        assert "I object" in summary.content_markdown
        thread = await store.read(Thread, ROOT, Session())
        assert (thread.summary_id, thread.status) == (summary.id, "processed")
        (published,) = await place.run(REPORTING, complete)
        report = await stored_report(place)
        assert (report.summary_id, report.report_id) == (summary.id, published.data.report_id)
        assert published.data.report_id == f"rpt-{summary.id}"
        assert report.summary_number == thread.summary_number == complete.data.summary_number


async def test_hostile_mail_injects_nothing_into_the_html(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        complete = await summarized(place)
        summary = await place.clients.store.read(Summary, complete.data.summary_id, Session(), partition=ROOT)
        assert "<script" not in summary.content_html
        assert 'href="javascript' not in summary.content_html
        targets = re.findall(r'href="#(citation-\d+)"', summary.content_html)
        places = re.findall(r'<li id="(citation-\d+)">', summary.content_html)
        assert len(places) == len(summary.citations) > 0
        assert set(targets) <= set(places)
        assert "&lt;a id" not in summary.content_html


@pytest.mark.requirement("R-506")
async def test_one_summary_and_one_report_for_each_version_however_often(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        for _ in range(3):
            await place.run(REPORTING, await summarized(place))
        assert (len(await place.stored("summaries")), len(await place.stored("reports"))) == (1, 1)


async def test_the_latest_summary_and_its_report_are_current_whatever_is_repeated(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        first = await summarized(place)
        await place.run(REPORTING, first)
        place.now += timedelta(minutes=1)
        second = await summarized(place, "v2")
        await place.run(REPORTING, second)
        for repeated in (first, second, first):  # an old event is delivered again, and late
            place.now += timedelta(minutes=1)
            await place.run(SUMMARIZATION, event_of(request("v1" if repeated is first else "v2")))
            await place.run(REPORTING, repeated)
            assert await current(place) == {"summaries": [second.data.summary_id]} | {
                "reports": [f"rpt-{second.data.summary_id}"]
            }
        thread = await place.clients.store.read(Thread, ROOT, Session())
        assert thread.summary_id == second.data.summary_id


@pytest.mark.requirement("R-910")
async def test_only_a_report_that_brings_news_is_timed_against_the_objective(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        measured = Measured()
        monkeypatch.setattr(progress, "pipeline_metrics", lambda: measured.metrics)

        async def reported(version: str, minutes: int) -> dict[tuple[str, ...], Any]:
            place.now = NOW + timedelta(minutes=minutes)
            await place.run(REPORTING, await summarized(place, version))
            return measured.take("report_objective_total")

        await place.take_in(THREAD)
        assert await reported("v1", 59) == {("true",): 1}
        assert measured.take("report_latency_seconds") == {(): 59 * 60}
        assert await reported("v1", 60) == {("true",): 1}  # the same report again
        assert await reported("v2", 900) == {("true",): 1}  # summarized again without new mail
        await place.take_in(THREAD + mail(4, parent=0), arrived=NOW + timedelta(minutes=1000))
        assert await reported("v3", 1061) == {("true",): 1, ("false",): 1}
        await place.take_in(THREAD + mail(4, parent=0) + b"\n", arrived=NOW + timedelta(minutes=1100))
        again = Patch(ROOT, set={"edition": f"{NOW + timedelta(days=1):%Y%m%d}-0123abcd"})
        await place.clients.store.patch(Thread, again, Session())
        assert await reported("v4", 9000) == {("true",): 1, ("false",): 1}  # an operator had it read again


async def current(place: MailIn) -> dict[str, list[str]]:
    """Return the ids of the summaries that threads name, and of all reports."""
    threads = [thread["summary_id"] for thread in await place.stored("threads")]
    reports = [report["report_id"] for report in await place.stored("reports")]
    return {"summaries": [id_ for id_ in threads if id_], "reports": reports}


async def test_a_thread_that_is_merged_leaves_no_current_summary_or_report_behind(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        await place.take_in(mail(9, parent=8, subject="Another matter", body="I propose a registry."))
        other = thread_id("<m8@example.org>", "list")
        (complete,) = await place.run(SUMMARIZATION, event_of(request(thread_ids=[other])))
        await place.run(REPORTING, complete)
        await place.take_in(mail(8, parent=0, subject="It links the two"))
        assert await current(place) == {"summaries": [], "reports": []}
        await place.run(REPORTING, complete)  # the event is delivered again
        assert await current(place) == {"summaries": [], "reports": []}
        again = await place.run(SUMMARIZATION, event_of(request(thread_ids=[other])))
        assert [event.data.thread_id for event in again] == [ROOT]


async def test_the_event_of_a_summary_that_is_not_current_makes_no_report(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        first = await summarized(place)
        place.now += timedelta(minutes=1)
        second = await summarized(place, "v2")
        assert await place.run(REPORTING, first) == []
        assert (await current(place))["reports"] == []
        await place.run(REPORTING, second)
        assert await place.run(REPORTING, first) == []
        assert (await current(place))["reports"] == [f"rpt-{second.data.summary_id}"]


def just_before(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, happen: Callable[[], Awaitable[Any]]
) -> None:
    """Run the action once, just before the stage runs that step."""
    step = getattr(module, name)

    async def after(*given: Any, **options: Any) -> Any:
        monkeypatch.undo()
        await happen()
        return await step(*given, **options)

    monkeypatch.setattr(module, name, after)


async def test_a_report_that_is_stored_after_that_of_a_later_summary_does_not_replace_it(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        first = await summarized(place)

        async def overtake() -> None:
            place.now += timedelta(minutes=1)
            await place.run(REPORTING, await summarized(place, "v2"))

        just_before(monkeypatch, reporting, "store_report", overtake)
        assert await place.run(REPORTING, first) == []
        summaries = await current(place)
        assert summaries["reports"] == [f"rpt-{summaries['summaries'][0]}"]
        assert summaries["summaries"] != [first.data.summary_id]


async def test_a_report_that_is_stored_after_its_thread_was_merged_is_withdrawn(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        await place.take_in(mail(9, parent=8, subject="Another matter", body="I propose a registry."))
        other = thread_id("<m8@example.org>", "list")
        (complete,) = await place.run(SUMMARIZATION, event_of(request(thread_ids=[other])))
        linking = mail(8, parent=0, subject="It links the two")
        just_before(monkeypatch, reporting, "store_report", lambda: place.take_in(linking))
        await place.run(REPORTING, complete)
        assert (await current(place))["reports"] == []


async def test_a_report_that_is_stored_after_its_summary_was_deleted_goes(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        complete = await summarized(place)
        id_, store = complete.data.summary_id, place.clients.store
        gone = lambda: store.delete(Summary, id_, Session(), partition=ROOT)  # noqa: E731
        just_before(monkeypatch, reporting, "store_report", gone)
        assert await place.run(REPORTING, complete) == []
        assert (await current(place))["reports"] == []


def meanwhile(monkeypatch: pytest.MonkeyPatch, happen: Callable[[], Awaitable[Any]]) -> None:
    """Run the action once, after the next summary has read its thread."""

    async def reading(*given: Any, **options: Any) -> ThreadContext:
        context = await load_context(*given, **options)
        monkeypatch.undo()
        await happen()
        return context

    monkeypatch.setattr(summarization, "load_context", reading)


async def test_of_two_summaries_that_race_the_one_that_read_more_is_current(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)

        async def overtake() -> None:
            place.now += timedelta(minutes=1)
            await summarized(place, "v2")
            place.now += timedelta(minutes=1)

        meanwhile(monkeypatch, overtake)
        assert await place.run(SUMMARIZATION, event_of(request("v1"))) == []
        thread = await place.clients.store.read(Thread, ROOT, Session())
        named = await place.clients.store.read(Summary, str(thread.summary_id), Session(), partition=ROOT)
        assert named.content_hash == "v2"


async def test_a_thread_that_grows_while_its_summary_is_made_is_not_done_with_it(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        meanwhile(monkeypatch, lambda: place.take_in(mail(4, parent=2, body="I still object to this.")))
        early = await summarized(place, "v1")
        thread = await place.clients.store.read(Thread, ROOT, Session())
        assert (thread.summary_id, thread.status) == (early.data.summary_id, "pending")
        place.now += timedelta(minutes=1)
        whole = await summarized(place, await settled_version(place))
        thread = await place.clients.store.read(Thread, ROOT, Session())
        assert (thread.summary_id, thread.status) == (whole.data.summary_id, "processed")


async def test_a_version_that_comes_back_makes_its_summary_current_again(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """A failed chunk that is embedded later gives the thread its earlier version."""
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        events = {}
        store, versions = place.clients.store, {}
        await settled_version(place)
        for edition in ("e1", "e2", "e1"):
            place.now += timedelta(minutes=1)
            await store.patch(Thread, Patch(ROOT, set={"edition": edition}), Session())
            thread = await store.read(Thread, ROOT, Session())
            context = await load_context(place.clients, thread, Session(), window=3000)
            versions[edition] = context.version
            asked = {"content_hash": context.version, "status": "pending"}
            await store.patch(Thread, Patch(ROOT, set=asked), Session())
            events[edition] = await summarized(place, context.version)
            await place.run(REPORTING, events[edition])
        assert versions["e1"] != versions["e2"]
        now = events["e1"].data.summary_id
        assert await current(place) == {"summaries": [now], "reports": [f"rpt-{now}"]}
        thread = await place.clients.store.read(Thread, ROOT, Session())
        assert (thread.summary_id, thread.report_id, thread.status) == (now, f"rpt-{now}", "processed")


async def test_a_summary_is_made_only_of_the_version_that_was_asked_for(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """The thread has other content than a late request, so a summary under the request's id would be wrong."""
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        asked = Patch(ROOT, set={"content_hash": "another version"})
        await place.clients.store.patch(Thread, asked, Session())
        assert await place.run(SUMMARIZATION, event_of(request("another version"))) == []
        assert await place.stored("summaries") == []
        thread = await place.clients.store.read(Thread, ROOT, Session())
        assert (thread.summary_id, thread.status) == (None, "pending")


@pytest.mark.requirement("R-207", "R-208")
async def test_claims_and_stances_are_stored_with_their_places(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        complete = await summarized(place)
        summary = await place.clients.store.read(Summary, complete.data.summary_id, Session(), partition=ROOT)
        assert summary.claims
        for claim in summary.claims:
            assert all(summary.citations[position].quote for position in claim.citations)
        bodies = {message["id"]: message["body_normalized"] for message in await place.stored("messages")}
        for stance in summary.stances:
            assert bodies[stance.message_key][stance.start : stance.end] == stance.quote
        assert Counter(stance.stance for stance in summary.stances) == summary.counts
        assert summary.counts == {"support": 1, "objection": 1}


async def test_a_report_has_what_readers_filter_by(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD + mail(5, parent=0, body="See RFC 8446 and draft-ietf-tls-esni-18."))
        complete = await summarized(place)
        await place.run(REPORTING, complete)
        report = await stored_report(place)
        assert {participant.email for participant in report.participants} == {
            "ada@example.org",
            "bo@example.org",
            "cy@example.org",
        }
        assert report.draft_mentions == ["RFC8446", "draft-ietf-tls-esni"]
        assert (report.source, report.scope, report.thread_ids) == ("list", ROOT, [ROOT])
        assert report.consensus_type == "mixed"
        assert report.first_message_date == datetime(2024, 1, 1, 10, tzinfo=UTC)
        assert report.last_message_date == datetime(2024, 1, 6, 10, tzinfo=UTC)


async def test_a_thread_of_forty_messages_is_summarised_from_all_of_it(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    said = {0: "I propose a new registry.", 3: "I support the registry.", 38: "I strongly object to it."}
    said |= {21: "I object to the registry, as nobody will keep it.", 29: "I object to the registry, too."}
    mails = [
        mail(
            number,
            parent=number - 1 if number else None,
            subject="Re: A registry" if number else "A registry",
            body=said.get(number, f"Some thoughts, number {number}, on the registry and its upkeep."),
        ).replace(b"<ada@", b"<ada%d@" % number)
        for number in range(40)
    ]
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(b"".join(mails))
        complete = await summarized(place)
        summary = await place.clients.store.read(Summary, complete.data.summary_id, Session(), partition=ROOT)
        for objection in ("nobody will keep it", "strongly object"):
            assert objection in summary.content_markdown
        assert not {"agreed", "dissent"} & {claim.section for claim in summary.claims[1:]}
        numbers = [int(re.findall(r"<m(\d+)@", citation.message_id)[0]) for citation in summary.citations]
        assert {0, 21, 29, 38} <= set(numbers)


@pytest.mark.requirement("R-506")
async def test_workers_that_race_make_one_summary_and_one_report(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        announced = await asyncio.gather(*(summarized(place) for _ in range(6)))
        assert len({event.message_id for event in announced}) == 1
        published = await asyncio.gather(*(place.run(REPORTING, event) for event in announced))
        assert len({event.message_id for (event,) in published}) == 1
        assert (len(await place.stored("summaries")), len(await place.stored("reports"))) == (1, 1)


CALL = "This is a call for adoption of the draft on TLS 1.3. Please say whether you support it."
RULING = "The call has ended. I declare consensus to adopt the draft."


def of_list(**fields: Any) -> Source:
    return Source(created_at=CREATED, id="list", name="list", source_type="upload", url="", **fields)


@pytest.mark.parametrize(
    ("fields", "ruled"),
    [
        ({}, False),
        ({"settings": {"chairs": ["cy@example.org"]}}, False),
        ({"settings": {"chairs": ["BO@example.org"]}}, True),
        ({"roles": [{"person": "bo@example.org", "role": "chair"}]}, True),
        ({"roles": [{"person": "bo@example.org", "role": "chair", "until": "2023-12-31"}]}, False),
    ],
)
@pytest.mark.requirement("R-510")
async def test_only_those_whom_the_source_names_rule(
    cloud: AppCloud, bus_service: RunningService, fields: dict[str, Any], *, ruled: bool
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.clients.store.create(of_list(preset="ietf", **fields), Session())
        call = mail(0, subject="Call for adoption: TLS 1.3", body=CALL)
        await place.take_in(call + mail(4, parent=0, body=RULING))
        complete = await summarized(place)
        summary = await place.clients.store.read(Summary, complete.data.summary_id, Session(), partition=ROOT)
        thread = await place.clients.store.read(Thread, ROOT, Session())
        await place.run(REPORTING, complete)
        report = await stored_report(place)
        assert summary.reading
        assert report.outcome == thread.outcome == summary.reading.shown_outcome
        assert (report.outcome.tier == "said", report.outcome.basis == "ruled") == (ruled, ruled)
        assert summary.metadata.has_consensus is report.has_consensus is ruled
        assert ("Bo" in report.outcome.sentence) is ruled
        assert (report.outcome.sentence == "No decision found.") is not ruled


@pytest.mark.requirement("R-510")
async def test_what_is_stored_is_what_the_evaluation_reads_of_the_same_mails(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    archive = (SAMPLES / "tally.mbox").read_bytes()
    (definition,) = [source for source in definitions_at(SAMPLES) if source["name"] == "tally"]
    mails = {
        parsed.node: parsed for parsed in parse_archive(io.BytesIO(archive)) if isinstance(parsed, ParsedMail)
    }
    async with mail_in(cloud, bus_service) as place:
        source = of_list(preset=definition["preset"], roles=definition["roles"])
        await place.clients.store.create(source, Session())
        await place.take_in(archive, arrived=NOW + timedelta(days=365))
        stored = await place.stored("threads")
        for thread in stored:
            (complete,) = await place.run(SUMMARIZATION, event_of(request(thread_ids=[thread["id"]])))
            found = await place.clients.store.read(
                Summary, complete.data.summary_id, Session(), partition=thread["id"]
            )
            members = [
                message for message in await place.stored("messages") if message["thread_id"] == thread["id"]
            ]
            order = sorted(
                members,
                key=lambda message: (message["message_id"] != thread["root_message_id"], message["date"]),
            )
            labelled = [thread_mail_of(mails[step["message_id"]]) for step in order]
            assert found.reading
            assert prediction_of("t", found.reading.reading()) == prediction_of(
                "t", read_thread(labelled, read_profile(definition))
            )
        assert len(stored) > 5


async def test_a_backend_that_the_app_does_not_have_is_refused(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        with pytest.raises(UnknownBackendError, match="llm_backend 'oracle'"):
            await place.run(SUMMARIZATION, event_of(request(llm_backend="oracle")))
