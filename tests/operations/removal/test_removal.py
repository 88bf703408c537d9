"""Deleted archives and sources lose everything derived from them, on the local cloud."""

from datetime import timedelta
from typing import Any

import pytest
from azure.cosmos import CosmosClient

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Patch, Session
from shared.core.errors import DocumentNotFoundError
from shared.core.ids import thread_id
from shared.ingestion.errors import ArchiveRemovedError, SourceRemovedError
from shared.ingestion.fetcher import LocalFile
from shared.ingestion.storing import Incoming, Origin, store_archive
from shared.ingestion.uploads import Upload, store_upload
from shared.models.containers import read_document
from shared.models.reports import Summary
from shared.models.sources import Archive, OperationStatus, Removal, Source
from shared.models.threads import Thread
from shared.operations.removal.requests import request_removal, resume_removals
from shared.operations.removal.run import RemovalRun, run_removal
from shared.thread_store.moving import ThreadMovedError
from stages.chunking import CHUNKING
from stages.embedding import EMBEDDING
from stages.parsing import PARSING
from stages.summarization import SUMMARIZATION
from tests.operations.removal.finished import (
    APART,
    BRIDGE,
    FIRST,
    LONG,
    NOW,
    RECEIPT,
    SECOND,
    SHARED,
    STEPS,
    Clock,
    drain,
    everything,
    finish,
    put_failure,
    take_all_in,
)
from tests.stages.mail_in import MailIn, archive_of, ingested, mail, mail_in
from tests.stages.test_reporting import meanwhile, request
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.documents import CREATED
from tests.support.events import event_of
from tests.support.services import RunningService
from tests.support.toy_stages import Crash

LUNCH = thread_id("<m5@example.org>", "list")


async def remove(place: MailIn, kind: str, target: str, **options: Any) -> Removal:
    asked = await request_removal(place.clients, kind, target, requested_by="test", now=NOW)
    assert asked is not None
    return await run_removal(asked.id, with_clock(place.clients, Clock()), RemovalRun(**options))


@pytest.mark.requirement("R-1005")
async def test_without_an_archive_everything_is_as_if_it_had_never_come_in(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as fresh:
        await take_all_in(fresh, SECOND)
        expected = await everything(fresh)
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        await take_all_in(place, SECOND)
        await put_failure(place, archive)
        done = await remove(place, "archive", archive)
        assert (done.status, done.error) == (OperationStatus.SUCCEEDED, None)
        assert done.counts == RECEIPT
        assert set(done.left.values()) == {0}
        root = thread_id("<m0@example.org>", "list")
        receiver = await place.place.receiver("summarization")
        (asked,) = await receiver.receive_messages(max_message_count=5, max_wait_time=10)
        assert root in str(asked)
        await receiver.complete_message(asked)
        await finish(place)
        assert await everything(place) == expected
        with pytest.raises(DocumentNotFoundError):
            async for _ in place.clients.blobs.read(ARCHIVES_CONTAINER, archive_of(FIRST).file_path):
                pass
        await drain(place)


async def test_a_summary_that_was_written_meanwhile_goes_too_and_the_receipt_says_that_nothing_is_left(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        settings = place.clients.settings
        assert settings.COSMOS_KEY is not None
        (lunch,) = [summary for summary in await place.stored("summaries") if summary["thread_id"] == LUNCH]
        with CosmosClient(settings.COSMOS_ENDPOINT, settings.COSMOS_KEY.get_secret_value()) as client:
            summaries = client.get_database_client(settings.COSMOS_DATABASE).get_container_client("summaries")

            def summarise(step: str) -> None:
                if step == "thread":
                    late = {"id": "late", "summary_id": "late", "created_at": "2026-03-11T12:00:00.000000Z"}
                    summaries.upsert_item({**lunch, **late})

            done = await remove(place, "archive", archive, progress=summarise)
        assert (done.status, done.left["summaries"]) == (OperationStatus.SUCCEEDED, 0)
        assert await place.stored("summaries") == []
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_killed_at_every_step_it_goes_on_to_the_same_end_and_the_same_receipt(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    crashed: list[str] = []

    def crash(step: str) -> None:
        if step not in crashed:
            crashed.append(step)
            raise Crash

    async with mail_in(cloud, bus_service) as fresh:
        await take_all_in(fresh, SECOND)
        expected = await everything(fresh)
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        await take_all_in(place, SECOND)
        await put_failure(place, archive)
        for _ in range(len(STEPS)):
            with pytest.raises(Crash):
                await remove(place, "archive", archive, progress=crash)
        done = await remove(place, "archive", archive, progress=crash)
        assert sorted(crashed) == sorted(STEPS)
        assert done.status is OperationStatus.SUCCEEDED
        assert done.counts == RECEIPT
        await finish(place)
        assert await everything(place) == expected
        await drain(place)


async def test_a_summary_that_read_its_thread_before_the_deletion_is_not_kept(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        await take_all_in(place, SECOND)
        root = thread_id("<m0@example.org>", "list")
        meanwhile(monkeypatch, lambda: remove(place, "archive", archive))
        with pytest.raises(ThreadMovedError):
            await place.run(SUMMARIZATION, event_of(request("late", thread_ids=[root])))
        assert [summary for summary in await place.stored("summaries") if summary["thread_id"] == root] == []
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_a_thread_that_only_a_removed_message_held_together_comes_apart(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as fresh:
        await take_all_in(fresh, APART)
        expected = await everything(fresh)
    async with mail_in(cloud, bus_service) as place:
        await take_all_in(place, APART)
        bridge = await take_all_in(place, BRIDGE)
        assert len({message["thread_id"] for message in await place.stored("messages")}) == 1
        await remove(place, "archive", bridge)
        await finish(place)
        found = await everything(place)
        for name in ("messages", "chunks", "vectors", "summaries", "reports"):
            assert found[name] == expected[name], name
        assert [thread["id"] for thread in found["threads"]] == [
            thread["id"] for thread in expected["threads"]
        ]
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_the_index_over_threads_forgets_what_had_become_one_thread(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        apart = await take_all_in(place, APART)
        bridge = await take_all_in(place, BRIDGE)
        for archive in (apart, bridge):
            done = await remove(place, "archive", archive)
            assert set(done.left.values()) == {0}
        found = await everything(place)
        assert not any(found.values()), found
        await drain(place)


async def test_of_the_entries_only_version_and_tombstone_are_left(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        assert {entry["kind"] for entry in await place.stored("entries")} == {"id", "subject", "version"}
        done = await remove(place, "archive", archive)
        assert (done.status, done.left["entries"]) == (OperationStatus.SUCCEEDED, 0)
        assert {entry["kind"] for entry in await place.stored("entries")} == {"gone", "version"}
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_a_source_goes_with_all_its_archives(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        source = Source(
            created_at=CREATED, id="first", name="first", source_type="http", url="https://example.org/x.mbox"
        )
        await place.clients.store.create(source, Session())
        await take_all_in(place, FIRST, "first")
        await take_all_in(place, SECOND, "second")
        done = await remove(place, "source", "first")
        assert (done.counts["sources"], done.counts["archives"], done.counts["messages"]) == (1, 1, 3)
        assert await place.stored("sources") == []
        assert {thread["source"] for thread in await place.stored("threads")} == {"second"}
        again = await request_removal(place.clients, "source", "first", requested_by="test", now=NOW)
        assert again is None
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_a_long_deletion_is_done_in_several_runs(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        assert (await remove(place, "archive", archive, seconds=-1)).status is OperationStatus.RUNNING
        assert len(await place.stored("messages")) == 3
        assert await resume_removals(place.clients, NOW) == []
        (resumed,) = await resume_removals(place.clients, NOW + timedelta(hours=1))
        done = await run_removal(resumed, place.clients)
        assert (done.status, done.counts["messages"]) == (OperationStatus.SUCCEEDED, 3)
        found = await everything(place)
        assert not any(found.values()), found
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_events_of_a_deleted_archive_bring_nothing_back(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        arrived = await place.ingest(FIRST)
        (parsed,) = await place.run(PARSING, arrived)
        (prepared,) = await place.run(CHUNKING, parsed)
        archive = arrived.data.archive_id
        await place.clients.store.patch(Archive, Patch(archive, set={"removing": True}), Session())
        assert await place.run(PARSING, arrived) == []  # marked, and not deleted yet
        assert await place.run(EMBEDDING, prepared) == []
        assert {chunk["status"] for chunk in await place.stored("chunks")} == {"pending"}
        await remove(place, "archive", archive)
        assert await place.run(PARSING, arrived) == []
        assert await place.run(CHUNKING, parsed) == []
        # An embedding that started before the deletion writes this.
        late = {"chunk_id": prepared.data.chunk_ids[0], "archive_id": archive, "embedding": [1.0, 0, 0, 0]}
        await place.clients.index.upsert([late])
        assert await place.run(EMBEDDING, prepared) == []
        assert not any((await everything(place)).values())
        unknown = event_of(ingested(archive_of(b"never seen")))
        with pytest.raises(DocumentNotFoundError):  # a race, as in any other case
            await place.run(PARSING, unknown)
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_chunking_goes_on_with_what_another_archive_has(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        (first,) = await place.run(PARSING, await place.ingest(FIRST))
        await place.run(PARSING, await place.ingest(SECOND))
        await remove(place, "archive", archive_of(FIRST).id)
        (prepared,) = await place.run(CHUNKING, first)
        assert len(prepared.data.chunk_ids) == 1
        (kept,) = [message for message in await place.stored("messages") if message["status"] == "processed"]
        assert kept["message_id"] == "<m1@example.org>"
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_nothing_comes_into_a_source_that_is_being_deleted_and_afterwards_it_does(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Any
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await take_all_in(place, FIRST)
        full = archive_of(FIRST)
        (tmp_path / "x.mbox").write_bytes(FIRST)
        file = LocalFile(tmp_path / "x.mbox", full.file_hash, len(FIRST), "x.mbox")
        incoming = Incoming(file, Origin("list", "upload", "upload", NOW))
        asked = await request_removal(place.clients, "source", "list", requested_by="test", now=NOW)
        assert asked is not None
        with pytest.raises(SourceRemovedError, match="is being deleted"):
            await store_archive(incoming, place.clients)
        await run_removal(asked.id, place.clients)
        stored = await store_archive(incoming, place.clients)
        assert (stored.archive.id, stored.duplicate) == (archive, False)
        receiver = await place.place.receiver("parsing")
        (event,) = await receiver.receive_messages(max_message_count=5, max_wait_time=10)
        await receiver.complete_message(event)
        await drain(place)


async def test_an_archive_that_is_being_deleted_is_refused_until_that_is_done(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        # This test needs an archive of its own, because the broker drops the event of another test's archive.
        content = FIRST + mail(91, subject="Only here", body="Nobody else sends this.")
        archive = await take_all_in(place, content)
        asked = await request_removal(place.clients, "archive", archive, requested_by="test", now=NOW)
        assert asked is not None
        upload = Upload(content, "x.mbox", "list")
        with pytest.raises(ArchiveRemovedError, match="is being deleted: upload it again"):
            await store_upload(upload, place.clients)
        await run_removal(asked.id, place.clients)
        stored = await store_upload(upload, place.clients)
        assert (stored.archive.id, stored.duplicate, stored.announced) == (archive, False, True)
        receiver = await place.place.receiver("parsing")
        (event,) = await receiver.receive_messages(max_message_count=5, max_wait_time=10)
        await receiver.complete_message(event)
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_digests_that_told_of_a_removed_thread_are_made_again_without_it(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        lunch = mail(5, subject="Lunch", body=f"Where do we eat? {LONG}")
        await take_all_in(place, SECOND)
        archive = await take_all_in(place, lunch)
        store = place.clients.store
        (told,) = [summary for summary in await place.stored("summaries") if summary["thread_id"] == LUNCH]
        scope = "weekly:list:2024-W01"
        digest = read_document(
            Summary,
            {**told, "id": "d", "summary_id": "d", "scope": scope, "thread_id": None, "thread_ids": [LUNCH]},
        )
        await store.create(digest, Session())
        done = await remove(place, "archive", archive)
        assert done.counts["summaries"] == 2
        assert scope not in {summary["scope"] for summary in await place.stored("summaries")}
        touched = {
            stored_digest["scope"]
            for stored_digest in await place.stored("digests")
            if stored_digest["touches"] > stored_digest["made"]
        }
        assert scope in touched
        await drain(place)


@pytest.mark.requirement("R-1005")
async def test_a_thread_that_changes_no_member_keeps_its_summary(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await take_all_in(place, FIRST)
        twice = await take_all_in(place, SHARED)
        before = await place.stored("summaries")
        done = await remove(place, "archive", twice)
        assert (done.counts["messages"], done.counts["messages_kept"]) == (0, 1)
        assert await place.stored("summaries") == before
        root = thread_id("<m0@example.org>", "list")
        thread = await place.clients.store.read(Thread, root, Session())
        assert (thread.archive_ids, thread.sources) == ([archive_of(FIRST).id], ["list"])
        await drain(place)
