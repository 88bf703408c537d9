"""The preconditions of a thread's transitions: what they refuse to write."""

from datetime import timedelta

import pytest

from shared.clients.cosmos.session import Session
from shared.documents.threads import Thread
from shared.pipeline.lifecycle.threads import (
    summary_requested,
    thread_claimed,
    thread_reported,
    thread_summarized,
)
from tests.stages.mail_in import MailIn, mail_in
from tests.support.cloud import LocalCloud
from tests.support.documents import CREATED, new_report, new_summary, new_thread
from tests.support.services import RunningService

EARLIER, LATER = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
VERSION = "0123456789abcdef"


async def _thread(place: MailIn) -> Thread:
    return await place.clients.store.read(Thread, "t1", "t1", Session())


async def _claim(place: MailIn, *, by: str, after: timedelta = timedelta(0)) -> bool:
    store = place.clients.store
    return await thread_claimed(
        store, await _thread(place), VERSION, claimer=by, now=CREATED + after, session=Session()
    )


async def test_only_the_report_of_the_threads_own_summary_is_its_report(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        store = place.clients.store
        await store.upsert(new_thread(summary_id=LATER), Session())
        await thread_reported(store, new_report(new_summary(EARLIER)), Session())
        assert (await _thread(place)).report_id is None
        await thread_reported(store, new_report(new_summary(LATER)), Session())
        assert (await _thread(place)).report_id == f"rpt-{LATER}"


async def test_a_thread_that_has_grown_since_it_was_read_keeps_waiting(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        store = place.clients.store
        await store.upsert(new_thread(message_count=2), Session())
        await thread_summarized(store, new_thread(message_count=1), new_summary(EARLIER), Session())
        grown = await _thread(place)
        assert (grown.summary_id, grown.status) == (EARLIER, "pending")
        await thread_summarized(store, grown, new_summary(LATER), Session())
        assert ((await _thread(place)).summary_id, (await _thread(place)).status) == (LATER, "processed")


async def test_a_claim_holds_for_its_event_until_it_expires_or_the_version_is_requested(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        store = place.clients.store
        await store.upsert(new_thread(), Session())
        assert await _claim(place, by="one")
        assert await _claim(place, by="one", after=timedelta(minutes=1))  # the same event, delivered again
        assert not await _claim(place, by="other", after=timedelta(minutes=31))
        assert await _claim(place, by="other", after=timedelta(minutes=31, seconds=1))
        await summary_requested(store, "t1", VERSION, Session(), ends_claim=True)
        assert not await _claim(place, by="one", after=timedelta(days=30))


@pytest.mark.parametrize(("status", "attempts"), [("pending", 3), ("failed_max_retries", 0)])
async def test_a_new_version_of_a_thread_that_was_given_up_starts_its_attempts_again(
    cloud: LocalCloud, bus_service: RunningService, status: str, attempts: int
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.clients.store.upsert(new_thread(status=status, attemptCount=3), Session())
        assert await _claim(place, by="one")
        claimed = await _thread(place)
        assert (claimed.status, claimed.attemptCount) == ("pending", attempts)
