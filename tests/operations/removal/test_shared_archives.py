"""The same file for two sources, a message in two archives, and uploads that meet a deletion."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Session
from shared.azure.search.fields import Filters
from shared.core.ids import archive_id, file_hash
from shared.ingestion import storing
from shared.ingestion.errors import ArchiveRemovedError, SourceRemovedError
from shared.ingestion.storing import Stored
from shared.ingestion.uploads import Upload, store_upload
from shared.models.sources import Archive, OperationStatus, Removal
from shared.operations.removal.requests import request_removal
from shared.operations.removal.run import RemovalRun, run_removal
from tests.operations.removal.finished import FIRST, NOW, SECOND, Clock, drain, everything, take_all_in
from tests.stages.mail_in import MailIn, archive_of, mail, mail_in
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.services import RunningService
from tests.support.toy_stages import Crash

MAILS_OF_FIRST = {"<m0@example.org>", "<m1@example.org>", "<m5@example.org>"}


async def mails(place: MailIn, **filters: Any) -> set[str]:
    hits = await place.clients.index.search("*", filters=Filters(**filters), top=100)
    return {hit.payload["message_id"] for hit in hits}


async def blob(place: MailIn, archive: Archive) -> bytes:
    return b"".join([part async for part in place.clients.blobs.read(ARCHIVES_CONTAINER, archive.file_path)])


async def remove(place: MailIn, kind: str, target: str, run: RemovalRun | None = None) -> Removal:
    asked = await request_removal(place.clients, kind, target, requested_by="test", now=NOW)
    assert asked is not None
    return await run_removal(asked.id, with_clock(place.clients, Clock()), run)


async def test_the_same_file_of_two_sources_is_kept_until_both_are_deleted(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as fresh:
        await take_all_in(fresh, FIRST, "two")
        expected = await everything(fresh)
    async with mail_in(cloud, bus_service) as place:
        first, second = await take_all_in(place, FIRST, "one"), await take_all_in(place, FIRST, "two")
        assert first != second
        for archive, source in ((first, "one"), (second, "two")):
            assert await mails(place, archive_id=archive) == MAILS_OF_FIRST
            assert await mails(place, archive_id=archive, source=source) == MAILS_OF_FIRST
        assert await mails(place, archive_id=first, source="two") == set()
        assert {tuple(message["sources"]) for message in await place.stored("messages")} == {("one", "two")}
        done = await remove(place, "source", "one")
        assert (done.status, done.counts["messages"]) == (OperationStatus.SUCCEEDED, 3)
        assert await everything(place) == expected
        assert await blob(place, archive_of(FIRST, "two")) == FIRST
        await remove(place, "source", "two")
        assert not any((await everything(place)).values())
        await drain(place)


async def test_a_mail_of_two_archives_is_found_by_each_and_by_the_other_when_one_is_deleted(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        first, second = await take_all_in(place, FIRST), await take_all_in(place, SECOND)
        shared = "<m1@example.org>"
        assert await mails(place, archive_id=first) == MAILS_OF_FIRST
        assert {shared, "<m2@example.org>", "<m7@example.org>"} == await mails(place, archive_id=second)
        await remove(place, "archive", first)
        assert await mails(place, archive_id=first) == set()
        assert shared in await mails(place, archive_id=second)
        await drain(place)


Intruder = Callable[[MailIn, bytes], Awaitable[None]]


async def _take(place: MailIn, content: bytes) -> Stored:
    return await store_upload(Upload(content, "x.mbox", "list"), place.clients)


async def _deleted(place: MailIn, content: bytes) -> None:
    await _take(place, content)
    await remove(place, "archive", archive_id(file_hash(content), "list"))


def _stop_at(step: str) -> RemovalRun:
    def crash(reached: str) -> None:
        if reached == step:
            raise Crash

    return RemovalRun(progress=crash)


async def _archive_half_deleted(place: MailIn, content: bytes) -> None:
    """Stop a deletion after it removed the document and before it recorded that."""
    stored = await _take(place, content)
    with pytest.raises(Crash):
        await remove(place, "archive", stored.archive.id, _stop_at("archive"))


async def _source_half_deleted(place: MailIn, content: bytes) -> None:
    await _take(place, content)
    with pytest.raises(Crash):
        await remove(place, "source", "list", _stop_at("archive"))


def after_the_blob(monkeypatch: pytest.MonkeyPatch, intruder: Intruder, place: MailIn) -> list[str]:
    """Run the intruder once, between an upload's blob and its document."""
    happened: list[str] = []
    upload = storing._upload

    async def intruded(incoming: Any, archive: Archive, clients: Any) -> None:
        await upload(incoming, archive, clients)
        if not happened:
            happened.append(archive.id)
            await intruder(place, incoming.file.path.read_bytes())

    monkeypatch.setattr(storing, "_upload", intruded)
    return happened


def own_content(number: int) -> bytes:
    """Build an archive for this test alone, because the broker drops repeated events."""
    return FIRST + mail(number, subject="Only here", body="Nobody else sends this.")


async def empty(place: MailIn) -> None:
    receiver = await place.place.receiver("parsing")
    for event in await receiver.receive_messages(max_message_count=5, max_wait_time=10):
        await receiver.complete_message(event)
    await drain(place)


async def test_an_upload_whose_blob_a_deletion_took_has_it_again_when_it_is_acknowledged(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        content = own_content(92)
        happened = after_the_blob(monkeypatch, _deleted, place)
        stored = await _take(place, content)
        assert happened == [stored.archive.id]
        assert await blob(place, stored.archive) == content
        archive = await place.clients.store.read(Archive, stored.archive.id, Session())
        assert not archive.removing
        await empty(place)


@pytest.mark.parametrize(
    ("intruder", "refused", "kind"),
    [
        (_archive_half_deleted, ArchiveRemovedError, "archive"),
        (_source_half_deleted, SourceRemovedError, "source"),
    ],
)
async def test_an_upload_that_meets_a_deletion_under_way_is_refused_and_works_afterwards(
    cloud: AppCloud,
    bus_service: RunningService,
    monkeypatch: pytest.MonkeyPatch,
    intruder: Intruder,
    refused: type[Exception],
    kind: str,
) -> None:
    async with mail_in(cloud, bus_service) as place:
        content = own_content(93 if kind == "archive" else 94)
        happened = after_the_blob(monkeypatch, intruder, place)
        # Its document was written, and is removed again.
        with pytest.raises(refused, match="is being deleted"):
            await _take(place, content)
        (id_,) = happened
        assert await place.stored("archives") == []
        with pytest.raises(refused, match="is being deleted"):  # no document reports the deletion
            await _take(place, content)
        done = await remove(place, kind, id_ if kind == "archive" else "list")
        assert done.status is OperationStatus.SUCCEEDED
        stored = await _take(place, content)
        assert (stored.archive.id, stored.duplicate) == (id_, False)
        assert await blob(place, stored.archive) == content
        await empty(place)
