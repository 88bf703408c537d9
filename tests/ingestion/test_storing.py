"""An archive from its file to the blob, the document and the event: once, whatever happens in between."""

import gzip
from typing import Any

import pytest

from localcloud.testing import Faults
from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.calls import as_request
from shared.azure.cosmos.session import Patch, Session
from shared.core.ids import archive_id, file_hash
from shared.ingestion import storing
from shared.ingestion.errors import (
    ArchiveTooLargeError,
    CorruptArchiveError,
    HashCollisionError,
    UnsupportedArchiveError,
)
from shared.models.records import FailureRecord
from shared.models.sources import Archive, ArchiveStatus
from shared.pipeline.retry import GaveUpError
from tests.ingestion.environment import Place
from tests.support.cloud import AppCloud
from tests.support.measured import Measured
from tests.support.toy_stages import Crash

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.requirement("R-301")
async def test_an_upload_ends_as_a_blob_a_pending_document_and_an_event(place: Place) -> None:
    content = gzip.compress(place.mbox("one", "two"))
    stored = await place.upload(content, "../2026 01.mbox.gz")
    assert (stored.duplicate, stored.announced) == (False, True)
    archive = await place.archive(archive_id(file_hash(content), f"list-{place.tag}"))
    assert archive.status is ArchiveStatus.PENDING
    assert (archive.file_hash, archive.file_size_bytes) == (file_hash(content), len(content))
    assert (archive.format, archive.source_type) == ("mbox.gz", "upload")
    assert archive.file_path == f"{archive.id}/2026_01.mbox.gz"
    assert await place.blob(archive) == content
    (event,) = await place.announced(1)
    assert event.data.archive_id == archive.id
    assert (event.data.source_name, event.data.source_type) == (f"list-{place.tag}", "upload")
    assert (event.data.file_path, event.data.file_size_bytes) == (archive.file_path, len(content))
    assert event.data.file_hash_sha256 == archive.file_hash
    assert "archives" in event.session


@pytest.mark.requirement("R-302", "R-913")
async def test_the_same_file_twice_has_one_effect_and_says_so(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Measured()
    monkeypatch.setattr(storing, "pipeline_metrics", lambda: measured.metrics)
    content = place.mbox("one")
    first = await place.upload(content)
    assert measured.take("duplicates_detected_total") == {}
    again = await place.upload(content, "another-name.mbox")
    assert again.duplicate
    assert measured.take("duplicates_detected_total") == {("ingestion", "archive"): 1}
    assert again.archive.file_path == first.archive.file_path
    assert len(await place.announced(1)) == 1


@pytest.mark.parametrize("step", ["checked", "uploaded", "recorded", "announced"])
@pytest.mark.requirement("R-302")
async def test_a_crash_after_any_step_and_the_same_file_again_have_one_effect(
    place: Place, step: str
) -> None:
    content = place.mbox("one")

    def crash(reached: str) -> None:
        if reached == step:
            raise Crash

    with pytest.raises(Crash):
        await place.upload(content, progress=crash)
    again = await place.upload(content)
    assert again.duplicate is (step in {"recorded", "announced"})
    assert await place.blob(await place.archive(again.archive.id)) == content
    assert [event.data.archive_id for event in await place.announced(1)] == [again.archive.id]


async def test_a_file_that_was_lost_is_written_again_by_the_same_upload(place: Place) -> None:
    """A failed archive without its file is tried again, because the sweep finds it as new."""
    content = place.mbox("one")
    stored = await place.upload(content)
    await place.clients.blobs.delete(ARCHIVES_CONTAINER, stored.archive.file_path)
    gone = {"status": "failed_max_retries", "attemptCount": 3, "lastError": "DocumentNotFoundError: no blob"}
    await place.clients.store.patch(Archive, Patch(stored.archive.id, set=gone), Session())
    again = await place.upload(content)
    assert (again.duplicate, again.restored) == (True, True)
    archive = await place.archive(stored.archive.id)
    assert await place.blob(archive) == content
    assert (archive.status, archive.attemptCount) == (ArchiveStatus.PENDING, 0)
    assert not (await place.upload(content)).restored


async def test_a_file_that_is_cut_off_is_written_again(place: Place) -> None:
    content = place.mbox("one")
    stored = await place.upload(content)
    await place.clients.blobs.upload(ARCHIVES_CONTAINER, stored.archive.file_path, content[:9])
    assert (await place.upload(content)).restored
    assert await place.blob(stored.archive) == content


async def test_a_request_does_not_wait_for_a_service_that_refuses(place: Place, cloud: AppCloud) -> None:
    """The request fails at once and names the service, so that the sender can send the file again."""
    Faults(cloud.cosmos).plan(
        {"kind": "status", "operation": "docs.*", "args": {"status": 503}, "times": None}
    )
    try:
        with as_request(), pytest.raises(GaveUpError) as raised:
            await place.upload(place.mbox("one"))
    finally:
        Faults(cloud.cosmos).plan()
    assert (raised.value.reason, place.slept) == ("no_time_to_retry", [])


async def test_a_pending_archive_that_was_worked_on_is_not_announced_again(place: Place) -> None:
    content = place.mbox("one")
    archive = (await place.upload(content)).archive
    await place.announced(1)
    attempt = Patch(archive.id, set={"lastAttemptTime": "2026-03-11T10:00:00.000000Z"})
    await place.clients.store.patch(type(archive), attempt, Session())
    again = await place.upload(content)
    assert (again.duplicate, again.announced) == (True, False)


@pytest.mark.parametrize("status", ["processed", "failed", "failed_max_retries"])
async def test_an_archive_that_is_through_is_not_announced_again(place: Place, status: str) -> None:
    content = place.mbox("one")
    archive = (await place.upload(content)).archive
    await place.announced(1)
    await place.clients.store.patch(type(archive), Patch(archive.id, set={"status": status}), Session())
    again = await place.upload(content)
    assert (again.duplicate, again.announced, again.archive.status) == (True, False, status)


async def test_a_file_above_the_limit_is_refused_and_leaves_nothing(place: Place) -> None:
    content = place.mbox("one")
    small = place.fresh(ARCHIVE_MAX_BYTES=len(content) - 1)
    with pytest.raises(ArchiveTooLargeError, match=f"more than {len(content) - 1} bytes; split it"):
        await small.upload(content)
    fits = place.fresh(ARCHIVE_MAX_BYTES=len(content))
    assert not (await fits.upload(content)).duplicate
    await place.announced(1)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"%PDF-1.7", UnsupportedArchiveError, "not a mail archive"),
        (b"<html>not found</html>", UnsupportedArchiveError, "web page"),
        (
            gzip.compress(b"From a@b Thu Jan  1 00:00:00 2026\n" * 99, mtime=0)[:-9],
            CorruptArchiveError,
            "gz data",
        ),
    ],
)
async def test_what_is_no_archive_is_the_senders_to_know_and_leaves_nothing(
    place: Place, content: bytes, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        await place.upload(content)
    assert place.slept == []


def failing_creates(times: int | None) -> dict[str, Any]:
    return {"kind": "status", "operation": "docs.create", "times": times, "args": {"status": 500}}


async def test_a_short_outage_is_waited_out(place: Place, cloud: AppCloud) -> None:
    Faults(cloud.cosmos).plan(failing_creates(1))
    stored = await place.upload(place.mbox("one"))
    assert Faults(cloud.cosmos).hits == 1
    assert not stored.duplicate
    assert len(await place.announced(1)) == 1


async def test_a_write_whose_answer_was_lost_is_still_this_uploads_own(place: Place, cloud: AppCloud) -> None:
    lost = {"kind": "reset_after", "operation": "docs.create", "times": 1}
    Faults(cloud.cosmos).plan(lost)
    stored = await place.upload(place.mbox("one"))
    assert Faults(cloud.cosmos).hits == 1
    assert (stored.duplicate, stored.announced) == (False, True)
    assert len(await place.announced(1)) == 1


async def test_an_outage_that_lasts_is_told_after_bounded_retries(place: Place, cloud: AppCloud) -> None:
    Faults(cloud.cosmos).plan(failing_creates(None))
    with pytest.raises(GaveUpError):
        await place.upload(place.mbox("one"))
    assert place.slept == [5, 10, 20]
    (told,) = await place.failures(1)
    assert (told.event_type, told.data.retry_count) == ("ArchiveIngestionFailed", 4)
    assert told.data.source_url == "upload:list.mbox"
    Faults(cloud.cosmos).plan()
    assert not (await place.upload(place.mbox("one"))).duplicate
    assert len(await place.announced(1)) == 1


async def test_two_files_with_one_id_are_told_apart_by_the_whole_hash(place: Place) -> None:
    content = place.mbox("one")
    archive = (await place.upload(content)).archive
    await place.announced(1)
    patch = Patch(archive.id, set={"file_hash": archive.id + "0" * 48})
    await place.clients.store.patch(type(archive), patch, Session())
    with pytest.raises(GaveUpError, match=f"another archive has its id {archive.id}") as raised:
        await place.upload(content)
    assert isinstance(raised.value.__cause__, HashCollisionError)
    (told,) = await place.failures(1)
    assert (told.data.error_type, told.data.source_name) == ("HashCollisionError", f"list-{place.tag}")
    record = await place.clients.store.read(
        FailureRecord, f"ingestion-list-{place.tag}-1", Session(), partition="ingestion"
    )
    assert record.abandoned_reason == "non_retryable_error"
