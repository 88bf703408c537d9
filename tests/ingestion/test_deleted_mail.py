"""Mail of a deleted archive does not return when its fetched file grows. An upload brings it back."""

from pathlib import Path

from shared.azure.cosmos.session import Session
from shared.ingestion.fetcher import LocalFile
from shared.ingestion.storing import Incoming, Origin, store_archive
from shared.ingestion.suppressing import suppress_deleted
from shared.models.sources import Archive
from tests.stages.mail_in import NOW, archive_of, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

FIRST = mail(0, subject="A plan", body="Words that were deleted.") + mail(1, parent=0)
GROWN = FIRST + mail(2, parent=1, body="One mail more.")


def incoming(folder: Path, content: bytes, source_type: str) -> Incoming:
    path = folder / f"{source_type}-{len(content)}"
    path.write_bytes(content)
    file = LocalFile(path, archive_of(content).file_hash, len(content), "list.mbox")
    return Incoming(file, Origin("list", source_type, "https://lists.example/list.mbox", NOW))


async def test_deleted_mails_do_not_return_with_a_file_that_grew(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(FIRST)
        archive = await place.clients.store.read(Archive, archive_of(FIRST).id, Session())
        await suppress_deleted(place.clients, archive.model_copy(update={"source_type": "http"}))
        fetched = await store_archive(incoming(tmp_path, GROWN, "http"), place.clients)
        content = await place.clients.blobs.read_part(
            "archives", fetched.archive.file_path, 0, fetched.archive.file_size_bytes
        )
        assert b"One mail more." in content
        assert b"deleted" not in content
        uploaded = await store_archive(incoming(tmp_path, GROWN, "upload"), place.clients)
        assert uploaded.archive.file_hash == archive_of(GROWN).file_hash
