"""The lock that lets one worker thread at a time."""

import asyncio
from datetime import timedelta

from shared.clients.cosmos.lease import Lease
from shared.clients.cosmos.session import Session
from shared.documents.locks import Lock
from tests.stages.mail_in import mail_in
from tests.support.cloud import LocalCloud
from tests.support.services import RunningService

SECONDS = 0.3


async def test_work_that_takes_longer_than_the_locks_time_keeps_it(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        store = place.clients.store

        async def expires() -> float:
            return (await store.read(Lock, "slow", "slow", Session())).expires

        async with Lease(store, "slow", lambda: place.now, seconds=SECONDS).held():
            place.now += timedelta(minutes=5)
            async with asyncio.timeout(30):
                while await expires() < place.now.timestamp():  # noqa: ASYNC110 - the store tells nobody
                    await asyncio.sleep(SECONDS / 10)
            async with Lease(store, "slow", lambda: place.now).held_if_free() as held:
                assert not held
        async with Lease(store, "slow", lambda: place.now).held_if_free() as held:
            assert held
