"""From an archive to a published report, on the local cloud."""

from typing import Any

import pytest

from shared.documents import Report, Summary, Thread
from shared.events import Event, SummarizationRequested
from shared.ids import thread_id
from shared.session import Session
from shared.summaries import verify_stored
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION, UnknownBackendError
from tests.pipeline.mail_in import MailIn, mail, mail_in
from tests.support.cloud import LocalCloud
from tests.support.services import RunningService

ROOT = thread_id("<m0@example.org>")
THREAD = b"".join(
    [
        mail(0, subject="Require TLS 1.3", body="I propose that we require TLS 1.3 for all new deployments."),
        mail(1, parent=0, body="I support this proposal.\n\n> I propose that we require TLS 1.3"),
        mail(2, parent=0, body="I object. Many embedded devices cannot run it."),
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
    (event,) = await place.run(SUMMARIZATION, Event.of(request(version)))
    return event


async def test_a_thread_becomes_a_report_whose_citations_all_verify(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        complete = await summarized(place)
        store = place.clients.store
        summary = await store.read(Summary, complete.data.summary_id, ROOT, Session())
        texts = {each["id"]: each["text"] for each in await place.stored("chunks")}
        assert summary.citations
        assert verify_stored(summary.citations, texts) == []
        assert "I object" in summary.content_markdown
        thread = await store.read(Thread, ROOT, ROOT, Session())
        assert (thread.summary_id, thread.status) == (summary.id, "processed")
        (published,) = await place.run(REPORTING, complete)
        report = await store.read(Report, published.data.report_id, ROOT, Session())
        assert (report.summary_id, report.id) == (summary.id, f"rpt-{summary.id}")


async def test_hostile_mail_injects_nothing_into_the_html(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        complete = await summarized(place)
        summary = await place.clients.store.read(Summary, complete.data.summary_id, ROOT, Session())
        assert "<script" not in summary.content_html
        assert 'href="javascript' not in summary.content_html


async def test_one_summary_and_one_report_for_each_version_however_often(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        for _ in range(3):
            await place.run(REPORTING, await summarized(place))
        assert (len(await place.stored("summaries")), len(await place.stored("reports"))) == (1, 1)
        second = await summarized(place, "v2")
        states = {each["id"]: each["metadata"]["outdated"] for each in await place.stored("summaries")}
        assert states.pop(second.data.summary_id) is False
        assert list(states.values()) == [True]


async def test_objections_in_the_second_half_of_a_long_thread_appear(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    mails = [mail(0, body="I propose a new registry.")]
    mails += [
        mail(i, parent=i - 1, body=f"Some thoughts, number {i}, on the registry.") for i in range(1, 29)
    ]
    mails.append(mail(29, parent=28, body="I strongly object to the registry as it stands."))
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(b"".join(mails))
        complete = await summarized(place)
        summary = await place.clients.store.read(Summary, complete.data.summary_id, ROOT, Session())
        assert "strongly object" in summary.content_markdown


async def test_a_backend_that_the_app_does_not_have_is_refused(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        with pytest.raises(UnknownBackendError, match="llm_backend 'oracle'"):
            await place.run(SUMMARIZATION, Event.of(request(llm_backend="oracle")))
