"""After a point-in-time restore of the database the runbook's commands reconcile everything else."""

from datetime import UTC, datetime, timedelta
from typing import Any

from azure.cosmos import ContainerProxy, CosmosClient
from azure.storage.blob import BlobServiceClient

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.ingestion.uploads import Upload, store_upload
from shared.models.containers import CONTAINERS
from shared.operations.integrity.run import VerifyOptions, verify
from shared.operations.sweep import sweep
from shared.pipeline.events import parse_event
from stages.chunking import CHUNKING
from stages.parsing import PARSING
from tests.operations.removal.finished import FIRST, SECOND, drain, everything, finish
from tests.stages.mail_in import MailIn, mail_in
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

Snapshot = dict[str, list[dict[str, Any]]]
LATER = "after-the-restored-time"
PROVENANCE = ("evidence", "summary_number", "ingestion_date", "requested_at", "requeued_at")


async def work_off(place: MailIn) -> None:
    """Run what waits for parsing through all stages up to the reports."""
    receiver = await place.place.receiver("parsing")
    (message,) = await receiver.receive_messages(max_message_count=1, max_wait_time=10)
    for parsed in await place.run(PARSING, parse_event(b"".join(message.body))):
        await place.run(CHUNKING, parsed)
    await receiver.complete_message(message)
    await finish(place)


async def upload(place: MailIn, content: bytes, name: str) -> None:
    await store_upload(Upload(content, f"{name}.mbox", "list"), place.clients)
    await work_off(place)


def containers(place: MailIn, client: CosmosClient) -> dict[str, ContainerProxy]:
    database = client.get_database_client(place.clients.settings.COSMOS_DATABASE)
    return {name: database.get_container_client(name) for name in CONTAINERS}


def cosmos_of(place: MailIn) -> CosmosClient:
    settings = place.clients.settings
    assert settings.COSMOS_KEY is not None
    return CosmosClient(settings.COSMOS_ENDPOINT, settings.COSMOS_KEY.get_secret_value())


def backed_up(place: MailIn) -> Snapshot:
    with cosmos_of(place) as client:
        return {name: list(each.read_all_items()) for name, each in containers(place, client).items()}


def restore_to(place: MailIn, snapshot: Snapshot) -> None:
    """Undo all writes and deletions since a time, as Azure's restore of an account does."""
    with cosmos_of(place) as client:
        for name, each in containers(place, client).items():
            partition = each.read()["partitionKey"]["paths"][0].removeprefix("/")
            for item in list(each.read_all_items()):
                each.delete_item(item["id"], partition_key=item[partition])
            for item in snapshot[name]:
                each.upsert_item({key: value for key, value in item.items() if not key.startswith("_")})


async def ingest_files(place: MailIn) -> list[bool]:
    """Ingest every file of the blob storage again, as `archive ingest` does, and return which were duplicates."""
    duplicates = []
    connection = place.clients.settings.STORAGE_CONNECTION
    assert connection is not None
    with BlobServiceClient.from_connection_string(connection.get_secret_value()) as service:
        files = service.get_container_client(ARCHIVES_CONTAINER)
        ours = {archive["file_path"] for archive in await place.stored("archives")}
        for path in sorted(files.list_blob_names(), key=lambda path: path not in ours):
            if path in ours or path.endswith(f"{LATER}.mbox"):  # other tests store files as well
                content = files.download_blob(path).readall()
                sent = await store_upload(Upload(content, path.partition("/")[2], "list"), place.clients)
                duplicates.append(sent.duplicate)
    return duplicates


async def state(place: MailIn) -> dict[str, Any]:
    found = await everything(place)
    for rows in found.values():
        for row in rows:
            if isinstance(row, dict):
                for name in PROVENANCE:
                    row.pop(name, None)
                for copy in row.get("copies", []):
                    copy.pop("arrived")
    return found


async def test_what_came_in_after_the_restored_time_comes_back_from_the_files(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await upload(place, FIRST, "first")
        at_that_time = backed_up(place)
        await upload(place, SECOND, LATER)
        expected = await state(place)
        assert all(expected[kind] for kind in ("archives", "messages", "chunks", "reports", "vectors"))
        restore_to(place, at_that_time)
        damaged = await state(place)
        assert len(damaged["archives"]) == 1
        # Vectors of messages that the database has lost.
        assert len(damaged["vectors"]) == len(expected["vectors"])

        later = datetime.now(UTC) + timedelta(hours=2)  # beyond the grace period for running work
        clients = with_clock(place.clients, lambda: later)
        looked = await verify(clients, VerifyOptions())
        found = {kind: count["found"] for kind, count in looked.counts.items() if count["found"]}
        assert found["vector_without_chunk"] == 2  # m2 and m7
        await verify(clients, VerifyOptions(repair=True))
        assert await ingest_files(place) == [True, False]  # the database knows one of them: a duplicate
        # The topic may still remember the first event. Then the sweep requests the archive.
        await sweep(with_clock(place.clients, lambda: later + timedelta(hours=1)))
        await work_off(place)
        await verify(clients, VerifyOptions(repair=True))
        await finish(place)
        assert await state(place) == expected
        again = await verify(with_clock(place.clients, lambda: later + timedelta(hours=4)), VerifyOptions())
        assert {kind for kind, count in again.counts.items() if count["found"]} == set()
        await drain(place)
