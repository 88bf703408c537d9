"""The data of pages and answers after threads have moved."""

from datetime import timedelta

import pytest

from shared.core.errors import NotFoundError
from shared.core.ids import thread_id
from shared.views.threads import report_detail, resolved_thread
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


async def test_an_earlier_report_is_made_of_its_summary_again(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        (published,) = await place.run(REPORTING, await summarized(place))
        id_ = published.data.report_id
        current = await report_detail(place.clients, id_)
        assert not current.outdated
        page = f"/threads/{ROOT}?report={id_}&at={current.summary.citations[0].message_key}#c1"
        assert current.summary.citations[0].page == page
        place.now += timedelta(minutes=1)
        later = await summarized(place, "v2")
        await place.run(REPORTING, later)
        earlier = await report_detail(place.clients, id_)
        assert earlier.outdated
        same = {"outdated", "published_at", "notified", "summary"}
        assert earlier.model_dump(exclude=same) == current.model_dump(exclude=same)
        assert earlier.summary == current.summary
        with pytest.raises(NotFoundError, match="no report"):
            await report_detail(place.clients, "rpt-00000000-0000-0000-0000-000000000000")
