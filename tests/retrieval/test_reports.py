"""What is read for pages and answers, where threads have moved."""

import pytest

from shared.clients.cosmos.session import Patch, Session
from shared.core.errors import NotFoundError
from shared.core.ids import thread_id
from shared.documents.reports import Report
from shared.retrieval.threads import cited_in, find_by_id, report_detail, resolved_thread, summary_of
from stages.reporting import REPORTING
from tests.stages.mail_in import mail, mail_in
from tests.stages.test_reporting import ROOT, THREAD, summarized
from tests.support.cloud import AppCloud
from tests.support.services import RunningService


async def test_a_merged_thread_is_read_where_it_is_now(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        old = thread_id("<m8@example.org>", "list")
        await place.take_in(THREAD)
        await place.take_in(
            mail(9, parent=8, subject="Another matter", body="We agree on the other one as well.")
        )
        assert (await resolved_thread(place.clients, old)).id == old
        await place.take_in(mail(8, parent=0, subject="Another matter"))
        assert (await resolved_thread(place.clients, old)).id == ROOT
        with pytest.raises(NotFoundError, match="no thread with this id"):
            await resolved_thread(place.clients, "0" * 16)


async def test_citations_of_an_outdated_report_are_found_where_their_messages_are_now(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        (published,) = await place.run(REPORTING, await summarized(place))
        id_ = published.data.report_id
        report = await find_by_id(place.clients, Report, id_)
        summary = await summary_of(place.clients, report)
        assert summary is not None
        current = await cited_in(place.clients, report, summary)
        await place.clients.store.patch(Report, Patch(id_, partition=ROOT, set={"outdated": True}), Session())
        outdated = await cited_in(place.clients, await find_by_id(place.clients, Report, id_), summary)
        assert [report.page for report in outdated] == [report.page for report in current]
        assert current[0].page == f"/threads/{ROOT}?report={id_}&at={current[0].message_key}#c1"
        assert (await report_detail(place.clients, id_)).outdated
