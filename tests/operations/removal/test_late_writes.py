"""Twenty minutes after its end a deletion checks for writes that were still in flight."""

from datetime import timedelta
from typing import Any

import pytest

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.models.containers import read_document
from shared.models.reports import Report, Summary
from shared.models.sources import Archive, OperationStatus, Removal
from shared.models.threads import Chunk
from shared.operations.removal.requests import request_removal, resume_removals
from shared.operations.removal.run import AnotherRunError, RemovalRun, run_removal
from shared.operations.removal.thread_part import LATE_AFTER
from stages.parsing import PARSING
from tests.operations.removal.finished import FIRST, NOW, Clock, drain, everything, take_all_in
from tests.stages.mail_in import MailIn, archive_of, ingested, mail_in
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.documents import CREATED
from tests.support.events import event_of
from tests.support.services import RunningService

LATER = NOW + LATE_AFTER + timedelta(minutes=5)


async def _removed(place: MailIn, archive: str, **options: Any) -> Removal:
    asked = await request_removal(place.clients, "archive", archive, requested_by="test", now=NOW)
    assert asked is not None
    return await run_removal(asked.id, with_clock(place.clients, Clock()), RemovalRun(**options))


async def _looked_again(place: MailIn) -> Removal:
    assert await resume_removals(place.clients, NOW + timedelta(minutes=10)) == []
    (again,) = await resume_removals(place.clients, LATER)
    return await run_removal(again, with_clock(place.clients, Clock(LATER)))


async def test_what_arrives_after_a_deletion_goes_when_it_looks_again(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive, store = await take_all_in(place, FIRST), place.clients.store
        chunk = read_document(Chunk, (await place.stored("chunks"))[0])
        summary = read_document(Summary, (await place.stored("summaries"))[0])
        report = read_document(Report, (await place.stored("reports"))[0])
        path = archive_of(FIRST).file_path
        assert (await _removed(place, archive)).status is OperationStatus.SUCCEEDED
        await store.upsert_all([chunk], Session())
        await store.upsert(summary.model_copy(update={"created_at": NOW}), Session())
        await store.upsert(report.model_copy(update={"published_at": NOW}), Session())
        await place.clients.blobs.upload(ARCHIVES_CONTAINER, path, FIRST)
        for container in ("chunks", "summaries", "reports"):
            assert len(await place.stored(container)) == 1
        looked = await _looked_again(place)
        assert (looked.status, looked.looked_again_at is not None) == (OperationStatus.SUCCEEDED, True)
        found = await everything(place)
        assert not any(found.values()), found
        with pytest.raises(DocumentNotFoundError):
            async for _ in place.clients.blobs.read(ARCHIVES_CONTAINER, path):
                pass
        assert await resume_removals(place.clients, LATER + LATE_AFTER * 2) == []
        await drain(place)


async def test_an_archive_that_has_come_in_again_is_left_alone(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        await _removed(place, archive)
        await take_all_in(place, FIRST, arrived=NOW)
        before = await everything(place)
        assert before["messages"]
        assert (await _looked_again(place)).looked_again_at is not None
        assert await everything(place) == before
        await drain(place)


async def test_the_document_of_a_deleted_archive_that_arrives_late_goes_when_its_blob_is_missed(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        await _removed(place, archive)
        late = archive_of(FIRST, arrived=NOW - timedelta(hours=1))
        await place.clients.store.upsert(late, Session())
        assert await place.run(PARSING, event_of(ingested(late))) == []
        assert await place.clients.store.find(Archive, archive, Session()) is None
        uploaded = archive_of(FIRST, arrived=NOW + timedelta(hours=1))
        await place.clients.store.upsert(uploaded, Session())
        with pytest.raises(DocumentNotFoundError):  # created after the deletion: a missing blob is a failure
            await place.run(PARSING, event_of(ingested(uploaded)))
        await drain(place)


async def test_a_run_ends_where_another_one_has_changed_the_deletion(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        others: list[OperationStatus] = []

        async def overtake() -> None:
            (stored,) = await place.stored("removals")
            other = read_document(Removal, stored)
            await place.clients.store.upsert(other.model_copy(update={"updated_at": CREATED}), Session())
            others.append(other.status)

        asked = await request_removal(place.clients, "archive", archive, requested_by="test", now=NOW)
        assert asked is not None
        clients = with_clock(place.clients, Clock())
        real = clients.index.delete

        async def delete(ids: list[str]) -> None:
            if not others:
                await overtake()
            await real(ids)

        clients.index.delete = delete  # type: ignore[method-assign, assignment]
        with pytest.raises(AnotherRunError):
            await run_removal(asked.id, clients)
        assert others == [OperationStatus.RUNNING]
        assert (await run_removal(asked.id, clients)).status is OperationStatus.SUCCEEDED
        await drain(place)
