"""The reasons why an archive is not done: each with its stage, its error, and the sweep's next action."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.models.base import ProcessingStatus
from shared.operations.oversight.stuck_documents import find_blockers
from tests.support.cloud import AppCloud
from tests.support.documents import CREATED, new_archive, new_chunk, new_message, new_thread
from tests.support.services import RunningService

DONE = ProcessingStatus.PROCESSED


@pytest_asyncio.fixture
async def clients(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[Clients]:
    connected = await Clients.connect(cloud.settings(bus_service))
    await connected.ensure_containers()
    yield connected
    await connected.close()


async def test_each_obstacle_has_its_stage_its_error_and_what_comes_next(clients: Clients) -> None:
    failed: dict[str, Any] = {
        "lastError": "ServiceUnavailableError: down",
        "attemptCount": 2,
        "lastAttemptTime": CREATED,
    }
    documents = [
        new_archive(status="processed"),
        new_message("m1", status=DONE),
        new_message("m2", **failed),
        new_message("m3", **failed),
        new_message("m4", thread="t2", archive_id="a2", archive_ids=["a2"]),  # of another archive
        new_chunk("c1", status="failed_max_retries", lastError="RejectedItemsError: no", attemptCount=1),
        new_chunk("c2", attemptCount=1, lastAttemptTime=CREATED),
        new_thread("t1", archive_ids=["a1"]),
    ]
    await clients.store.upsert_all(documents, Session())
    found = await find_blockers(clients, "a1")
    seen = {
        (
            obstacle.collection,
            obstacle.stage,
            obstacle.state,
            obstacle.error,
            obstacle.next,
            obstacle.count,
        ): obstacle.at
        for obstacle in found.obstacles
    }
    again, silent = "the sweep tries it again", "without a result, the sweep tries it again"
    retried = ("messages", "chunking", "failed, attempt 2 of 3", "ServiceUnavailableError: down", again, 2)
    by_hand = "no automatic retry: fix the cause, then `documents retry`"
    assert seen == {
        retried: CREATED + timedelta(minutes=10),
        ("chunks", "embedding", "failed", "RejectedItemsError: no", by_hand, 1): None,
        ("chunks", "embedding", "under way, attempt 1", None, silent, 1): CREATED + timedelta(hours=24),
        ("threads", "summarization", "not attempted yet", None, "the sweep sends it again", 1): CREATED
        + timedelta(minutes=15),
    }
    assert {id_ for obstacle in found.obstacles for id_ in obstacle.examples} == {
        "m2",
        "m3",
        "c1",
        "c2",
        "t1",
    }
    assert not found.progress.complete


async def test_an_archive_that_is_not_there_is_said_so(clients: Clients) -> None:
    with pytest.raises(DocumentNotFoundError, match="archives/nothing does not exist"):
        await find_blockers(clients, "nothing")
