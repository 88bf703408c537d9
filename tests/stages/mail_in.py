"""Archives for the tests of parsing and chunking, and the documents that they become."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Session
from shared.core.ids import archive_id, file_hash
from shared.core.runtime import Runtime
from shared.models.queries.named_query import NO_ENTRY, NamedQuery
from shared.models.sources import Archive
from shared.pipeline.event_builders import json_parsed
from shared.pipeline.event_types import ArchiveIngested, EventData
from shared.pipeline.events import Event
from shared.pipeline.stage import Stage, StageContext, StageResult
from stages.chunking import CHUNKING
from stages.parsing import PARSING
from tests.support.cloud import AppCloud
from tests.support.documents import CREATED
from tests.support.events import event_of
from tests.support.services import RunningService
from tests.support.toy_stages import Bench, bench

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MOVING = (
    "created_at",
    "_ts",
    "_etag",
    "_rid",
    "_self",
    "_attachments",
    "lastAttemptTime",
    "revision",
    "label_version",
)


def mail(
    number: int, *, parent: int | None = None, subject: str = "A draft", body: str = "", refs: bool = True
) -> bytes:
    """Build a message of one of three people, a day after the previous one."""
    person = ("Ada", "Bo", "Cy")[number % 3]
    lines = [
        f"From {person.lower()}@example.org Mon Jan  1 00:00:00 2024",
        f"From: {person} Example <{person.lower()}@example.org>",
        f"Date: {datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number):%d %b %Y} 10:00:00 +0000",
        f"Subject: {subject}",
        f"Message-ID: <m{number}@example.org>",
    ]
    if parent is not None and refs:
        lines.append(f"In-Reply-To: <m{parent}@example.org>")
    text = body or f"This is what message {number} says about RFC 8446.\n\n> quoted\n\nAnd more."
    return ("\n".join([*lines, "", text, ""]) + "\n").encode()


async def chunk_pending(place: "MailIn") -> list[Event[Any]]:
    """Chunk messages with new labels. Their events come from the topic or from the sweep."""
    prepared = list[Event[Any]]()
    for message in await place.stored("messages"):
        if message["status"] == "pending":
            again = json_parsed(message["archive_id"], [(message["id"], message["thread_id"])])
            prepared += await place.run(CHUNKING, event_of(again))
    return prepared


def archive_of(content: bytes, name: str = "list", arrived: datetime = NOW) -> Archive:
    full = file_hash(content)
    id_ = archive_id(full, name)
    return Archive(
        created_at=CREATED,
        id=id_,
        archive_id=id_,
        file_hash=full,
        file_size_bytes=len(content),
        source=name,
        source_url="upload",
        ingestion_date=arrived,
        file_path=f"{id_}/{name}.mbox",
    )


def ingested(archive: Archive) -> ArchiveIngested:
    return ArchiveIngested(
        archive_id=archive.id,
        source_name=archive.source,
        source_type="upload",
        source_url="upload",
        file_path=archive.file_path,
        file_size_bytes=archive.file_size_bytes,
        file_hash_sha256=archive.file_hash,
        ingestion_started_at=NOW,
        ingestion_completed_at=NOW,
    )


class MailIn:
    """Runs the stages' handlers on the local cloud, without the bus between them."""

    def __init__(self, place: Bench) -> None:
        self.place = place
        self.clients = place.clients
        self.now = NOW

    async def ingest(
        self, content: bytes, name: str = "list", *, arrived: datetime = NOW
    ) -> Event[ArchiveIngested]:
        archive, session = archive_of(content, name, arrived), Session()
        await self.clients.blobs.upload(ARCHIVES_CONTAINER, archive.file_path, content)
        await self.clients.store.create(archive, session)
        return event_of(ingested(archive), session=session.tokens())

    async def run(self, stage: Stage[Any], event: Event[Any]) -> list[Event[Any]]:
        """Run the stage on the event, and return the announced events."""
        work = StageContext(
            self.clients, Session(event.session), event.attempt, Runtime(now=lambda: self.now)
        )
        outcome: StageResult = await stage.handle(event, work)
        announced: Sequence[EventData] = outcome.announce
        if outcome.after_announcing is not None:
            await outcome.after_announcing()
        return [event_of(data, session=work.session.tokens()) for data in announced]

    async def take_in(
        self, content: bytes, name: str = "list", *, arrived: datetime = NOW
    ) -> list[Event[Any]]:
        """Process an archive up to its chunks, and return the events of chunking."""
        prepared = []
        for parsed in await self.run(PARSING, await self.ingest(content, name, arrived=arrived)):
            prepared += await self.run(CHUNKING, parsed)
        return prepared

    async def stored(self, container: str, *without: str) -> list[dict[str, Any]]:
        """Return everything in a container, without the fields that differ from run to run.

        `entries` has the documents that belong to threads: ids, subjects, todos and so on.
        """
        name, condition = ("threads", f"NOT ({NO_ENTRY})") if container == "entries" else (container, "true")
        condition = NO_ENTRY if container == "threads" else condition
        query = NamedQuery("everything", name, f"SELECT * FROM c WHERE {condition}")
        found = [document async for document in self.clients.store.query(query, Session())]
        cleaned = [{k: v for k, v in document.items() if k not in (*MOVING, *without)} for document in found]
        return sorted(cleaned, key=lambda document: str(document["id"]))


@asynccontextmanager
async def mail_in(cloud: AppCloud, bus: RunningService, **settings: str) -> AsyncIterator[MailIn]:
    """Open a place with a database of its own."""
    async with bench(cloud.settings(bus, **settings)) as place:
        await place.clients.blobs.ensure_container(ARCHIVES_CONTAINER)
        yield MailIn(place)
