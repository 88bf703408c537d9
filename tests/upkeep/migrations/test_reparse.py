"""A database of version 0.1 becomes one whose messages and threads are those of their sources."""

from typing import Any

from shared.clients.blobs import ARCHIVES_CONTAINER
from shared.clients.cosmos.batches import RawDocument
from shared.clients.cosmos.session import Session
from shared.core.ids import chunk_id, message_key, thread_id
from shared.documents.archives import Archive, ArchiveStatus
from shared.documents.messages import Message
from shared.documents.threads import Thread
from shared.threads.merging import resolve_thread
from shared.upkeep.migrations.reparse import reparse
from stages.chunking import CHUNKING
from stages.parsing import PARSING
from tests.stages.mail_in import MailIn, archive_of, ingested, mail, mail_in
from tests.support.cloud import LocalCloud
from tests.support.events import event_of
from tests.support.services import RunningService

CONTENT = mail(0) + mail(1, parent=0)
OLD = thread_id("<m0@example.org>")  # without a source
AT = "2026-01-01T00:00:00.000000Z"


def old_message(number: int, archive: str) -> dict[str, Any]:
    """As version 0.1 stored it."""
    id_ = f"<m{number}@example.org>"
    key = message_key(id_)
    return {
        "id": key, "message_key": key, "message_id": id_, "thread_id": OLD, "shelf": Message.partition_of(OLD),
        "archive_id": archive, "archive_ids": [archive], "body_raw": "Text.", "body_normalized": "Text.",
        "created_at": AT, "schema_version": "1.0.0", "status": "processed", "variant": "2024#aa",
    }  # fmt: skip


async def write_old(place: MailIn) -> Archive:
    archive = archive_of(CONTENT).model_copy(update={"status": ArchiveStatus.PROCESSED})
    store, session = place.clients.store, Session()
    await place.clients.blobs.upload(ARCHIVES_CONTAINER, archive.file_path, CONTENT)
    await store.create(archive, session)
    thread = {
        "id": OLD, "thread_id": OLD, "shelf": Thread.partition_of(OLD), "root_message_id": "<m0@example.org>",
        "archive_id": archive.id, "archive_ids": [archive.id], "source": "list", "sources": ["list"],
        "message_count": 2, "created_at": AT, "schema_version": "1.0.0", "status": "processed",
        "threading": {"nodes": [{"id": "<m0@example.org>", "present": True}], "subjects": []},
    }  # fmt: skip
    messages = [old_message(number, archive.id) for number in range(2)]
    chunks = [
        {
            "id": chunk_id(message["id"], 0), "chunk_id": chunk_id(message["id"], 0), "message_key": message["id"],
            "message_id": message["message_id"], "thread_id": OLD, "archive_id": archive.id, "chunk_index": 0,
            "text": "Text.", "token_count": 2, "start_offset": 0, "end_offset": 5, "created_at": AT,
            "embedding_generated": True, "schema_version": "1.0.0", "status": "processed",
        }
        for message in messages
    ]  # fmt: skip
    rows = [
        ("threads", thread),
        *(("messages", message) for message in messages),
        *(("chunks", chunk) for chunk in chunks),
    ]
    await store.upsert_all([RawDocument(name, OLD, row) for name, row in rows], session)
    await place.clients.index.upsert(
        [{"chunk_id": chunk["id"], "thread_id": OLD, "embedding": [0.5] * 4} for chunk in chunks]
    )
    return archive


async def test_archives_are_parsed_again_and_what_was_before_gives_way(
    cloud: LocalCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await write_old(place)
        first = await reparse(place.clients)
        assert (first.requested, first.messages, first.waiting) == ({archive.id}, 0, 2)
        receiver = await place.place.receiver("parsing")
        (asked,) = await receiver.receive_messages(max_message_count=5, max_wait_time=10)
        assert archive.id in str(asked)
        await receiver.complete_message(asked)
        waiting = await reparse(place.clients)  # it is asked for once
        assert (waiting.waiting, await receiver.peek_messages(max_message_count=1)) == (2, [])
        for parsed in await place.run(PARSING, event_of(ingested(archive))):
            await place.run(CHUNKING, parsed)
        second = await reparse(place.clients)
        assert (second.messages, second.threads, second.waiting) == (2, 1, 0)
        new = thread_id("<m0@example.org>", "list")
        messages = await place.stored("messages")
        assert [message["thread_id"] for message in messages] == [new, new]
        assert all(message["copies"][0]["archive_id"] == archive.id for message in messages)
        assert {chunk["thread_id"] for chunk in await place.stored("chunks")} == {new}
        assert await resolve_thread(place.clients, OLD, Session()) == new
        assert [hit.chunk_id for hit in await place.clients.index.search("*")] == []
        third = await reparse(place.clients)
        assert (third.requested, third.messages, third.threads, third.waiting) == (set(), 0, 0, 0)
