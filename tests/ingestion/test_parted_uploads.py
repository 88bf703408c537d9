"""Large files in parts: stored, continued after an interruption, assembled, ingested once."""

import pytest

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Session
from shared.core.errors import DocumentNotFoundError
from shared.ingestion import uploads
from shared.ingestion.errors import ArchiveTooLargeError
from shared.ingestion.fetch_runs import run_operation
from shared.ingestion.uploads import PartedUpload, WrongPartError, join_and_request, store_part, stored_parts
from shared.models.sources import Operation, OperationStatus
from tests.ingestion.environment import Place

pytestmark = pytest.mark.asyncio(loop_scope="module")
SMALL = 1000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", SMALL)


def upload_of(place: Place, content: bytes) -> PartedUpload:
    return PartedUpload(f"list-{place.tag}", "big.mbox", len(content), 1)


async def send(place: Place, upload: PartedUpload, content: bytes, *numbers: int) -> None:
    for number in numbers:
        await store_part(place.clients, upload, number, content[number * SMALL : (number + 1) * SMALL])


async def test_a_file_in_parts_goes_on_where_it_broke_and_is_taken_in_as_it_was(place: Place) -> None:
    content = place.mbox(*map(str, range(40)))
    upload = upload_of(place, content)
    assert upload.count > 4
    assert await stored_parts(place.clients, upload) == []
    await send(place, upload, content, 0, 2, 2)
    assert await stored_parts(place.clients, upload) == [0, 2]
    with pytest.raises(WrongPartError, match=f"{upload.count - 2} of {upload.count} parts are missing"):
        await join_and_request(place.clients, upload, "test")
    await send(place, upload, content, *(set(range(upload.count)) - {0, 2}))
    operation = await join_and_request(place.clients, upload, "test")
    for _ in range(2):  # a repeated delivery changes nothing
        done = await run_operation(operation, place.clients)
        assert done.status is OperationStatus.SUCCEEDED
    (taken,) = done.archives
    archive = await place.archive(taken.archive_id)
    assert await place.blob(archive) == content
    assert (archive.source, archive.source_type) == (upload.source, "upload")
    assert len(await place.announced(1)) == 1
    with pytest.raises(DocumentNotFoundError):
        await place.clients.blobs.read_part(ARCHIVES_CONTAINER, upload.path, 0, 1)


async def test_what_is_no_archive_is_said_in_the_operation_and_its_blob_goes(place: Place) -> None:
    content = f"a shopping list {place.tag} ".encode() * 100
    upload = upload_of(place, content)
    await send(place, upload, content, *range(upload.count))
    operation = await join_and_request(place.clients, upload, "test")
    done = await run_operation(operation, place.clients)
    assert (done.status, "mail" in (done.error or "")) == (OperationStatus.FAILED, True)
    stored = await place.clients.store.read(Operation, operation, Session())
    assert stored.archives == []
    with pytest.raises(DocumentNotFoundError):
        await place.clients.blobs.read_part(ARCHIVES_CONTAINER, upload.path, 0, 1)


async def test_a_part_that_is_not_of_the_file_is_refused(place: Place) -> None:
    upload = PartedUpload(f"list-{place.tag}", "big.mbox", 2500, 1)
    for number, content in ((3, b"x"), (-1, b"x" * SMALL), (0, b"x"), (2, b"x" * SMALL)):
        with pytest.raises(WrongPartError):
            await store_part(place.clients, upload, number, content)
    assert await stored_parts(place.clients, upload) == []


async def test_a_file_that_is_too_large_is_refused_before_it_is_sent(place: Place) -> None:
    small = place.fresh(ARCHIVE_MAX_BYTES=2000)
    with pytest.raises(ArchiveTooLargeError, match="ARCHIVE_MAX_BYTES"):
        await stored_parts(small.clients, PartedUpload("x", "big.mbox", 2001, 1))
