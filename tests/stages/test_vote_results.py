"""A vote with its result in another thread is linked on both sides, in either order of reading."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from shared.azure.cosmos.session import Session
from shared.models.reports import Summary
from shared.models.sources import Source
from shared.models.values import OutcomeKind, Tier
from tests.stages.mail_in import NOW, mail, mail_in
from tests.stages.reported import ReportedThreads
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
ABOUT = "Release Example 1.2"
VOTE = mail(
    0, subject=f"[VOTE] {ABOUT}", body="Please vote on this release.\n\n[ ] +1 release it\n[ ] -1 do not"
)
PLUS = mail(1, parent=0, subject=f"Re: [VOTE] {ABOUT}", body="+1\n")
RESULT = mail(
    6,  # by the person who called the vote
    subject=f"[RESULT] [VOTE] {ABOUT}",
    body="Hello,\n\nThe vote has passed with the following result: one +1, no -1.\n",
)


@pytest_asyncio.fixture(loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[ReportedThreads]:
    async with mail_in(cloud, bus_service) as ready:
        source = Source(
            id="list", name="list", source_type="upload", url="upload", preset="apache", created_at=NOW
        )
        await ready.clients.store.create(source, Session())
        yield ReportedThreads(ready)


async def check(place: ReportedThreads) -> Summary:
    vote, result = await place.thread(0), await place.thread(6)
    assert (vote.result_thread, result.vote_thread) == (result.id, vote.id)
    assert vote.outcome is not None
    assert (vote.outcome.kind, vote.outcome.tier) == (OutcomeKind.ACCEPTED, Tier.SAID)
    summary = await place.summary(0)
    assert summary.reading is not None
    assert [one.message_id for one in summary.reading.outcome.evidence] == [place.id_of(6)]
    assert summary.reading.open_call is None
    assert (await place.report(0)).outcome == vote.outcome
    return summary


async def test_the_result_comes_after_the_vote_was_read(place: ReportedThreads) -> None:
    await place.take_in(VOTE, PLUS)
    await place.request(0)
    assert await place.work_off(1) == 1
    before = await place.thread(0)
    assert before.outcome is not None
    assert before.outcome.tier is Tier.REMARK
    assert before.open_call is not None
    await place.take_in(RESULT)
    await place.request(6)
    assert await place.work_off(1) == 1  # the result, after which the vote is read again
    assert await place.work_off(1) == 1
    await check(place)
    assert await place.work_off(0) == 0


async def test_the_vote_comes_after_the_result_was_read(place: ReportedThreads) -> None:
    await place.take_in(RESULT)
    await place.request(6)
    assert await place.work_off(1) == 1
    await place.take_in(VOTE, PLUS)
    await place.request(0)
    assert await place.work_off(1) == 1
    await check(place)
    assert await place.work_off(0) == 0


async def test_a_result_of_another_list_is_none(place: ReportedThreads) -> None:
    await place.take_in(VOTE, PLUS)
    await place.take_in(RESULT, name="other")
    await place.request(0, 6)
    assert await place.work_off(2) == 2
    vote, result = await place.thread(0), await place.thread(6)
    assert (vote.result_thread, result.vote_thread) == (None, None)
