"""A test's place on the local cloud: clients, queues to read, and fetches that never wait."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.ingestion.fetch_runs import FetchRun, Requested, request_fetch, run_operation
from shared.ingestion.storing import Stored
from shared.ingestion.uploads import Upload, store_upload
from shared.models.sources import Archive, Operation, Source
from shared.pipeline.events import Event
from shared.settings.app import Settings
from tests.ingestion.unpacking.files import mbox
from tests.support.documents import CREATED
from tests.support.toy_stages import Bench, bench

START = datetime(2026, 3, 11, 10, 7, 30, tzinfo=UTC)


@dataclass
class Place:
    bench: Bench
    tag: str = field(default_factory=lambda: uuid.uuid4().hex[:10])
    slept: list[float] = field(default_factory=list)
    time: datetime = START
    secrets: dict[str, str] = field(default_factory=dict)

    @property
    def clients(self) -> Clients:
        """Return clients with the time of the test."""
        clients = self.bench.clients
        return replace(clients, runtime=replace(clients.runtime, now=self.now, sleep=self.sleep))

    def fresh(self, **settings: Any) -> "Place":
        """Return the place for another test, with a new tag and these settings."""
        changed = self.clients.settings.model_copy(update=settings)
        clients = replace(self.bench.clients, settings=changed)
        return Place(replace(self.bench, clients=clients))

    def mbox(self, *names: str) -> bytes:
        """Return an mbox that no other test has."""
        return mbox(*(f"{name} {self.tag}" for name in names))

    def now(self) -> datetime:
        return self.time

    def later(self, **span: float) -> None:
        self.time += timedelta(**span)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def upload(self, content: bytes, filename: str = "list.mbox", **options: Any) -> Stored:
        self.later(microseconds=1)  # no two uploads start at the same time
        upload = Upload(content, filename, f"list-{self.tag}")
        return await store_upload(upload, self.clients, **options)

    async def add_source(self, source_type: str, url: str, **fields: Any) -> Source:
        name = f"src-{self.tag}"
        source = Source(created_at=CREATED, id=name, name=name, source_type=source_type, url=url, **fields)
        assert await self.clients.store.create(source, Session())
        return await self.source()

    async def source(self) -> Source:
        name = f"src-{self.tag}"
        return await self.clients.store.read(Source, name, Session())

    async def archive(self, id_: str) -> Archive:
        return await self.clients.store.read(Archive, id_, Session())

    async def blob(self, archive: Archive) -> bytes:
        pieces = [p async for p in self.clients.blobs.read(ARCHIVES_CONTAINER, archive.file_path)]
        return b"".join(pieces)

    async def request(self) -> str:
        self.later(microseconds=1)
        requested = await request_fetch(await self.source(), self.clients, requested_by="test", now=self.time)
        assert isinstance(requested, Requested)
        return requested.operation_id

    async def run(self, operation_id: str | None = None, **options: Any) -> Operation:
        """Run an operation as the queue's function does, with the test's time and names."""
        run = FetchRun(secrets=self.secrets, **options)
        return await run_operation(operation_id or await self.request(), self.clients, run=run)

    async def announced(self, expected: int) -> list[Event[Any]]:
        """Return the ArchiveIngested events in parsing's queue, and assert that there are no others."""
        return await self.bench.take_all("parsing", expected)

    async def failures(self, expected: int) -> list[Event[Any]]:
        return await self.bench.take_all("failures", expected)


@asynccontextmanager
async def a_place(settings: Settings) -> AsyncIterator[Place]:
    async with bench(settings, quick_retries=False) as ready:  # a fetch waits by itself, on the test's clock
        await ready.clients.blobs.ensure_container(ARCHIVES_CONTAINER)
        yield Place(ready)
