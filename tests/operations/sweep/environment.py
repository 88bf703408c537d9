"""A place for the sweep's tests: documents in any state, a clock that the test moves, and the queues."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.azure.telemetry.metrics import SweepMetrics
from shared.core.ids import chunk_id, chunk_set, message_key
from shared.models.base import Document, ProcessingStatus
from shared.models.queries.named_query import NamedQuery
from shared.models.records import FailureRecord, Run
from shared.models.sources import Archive
from shared.models.threads import Chunk, Message, Thread
from shared.operations.sweep import Options, _Sweep, sweep
from shared.pipeline.events import Event
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.services import RunningService
from tests.support.toy_stages import Bench, bench

START = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)
SET = chunk_set(1, "whole")
QUEUES = ("parsing", "chunking", "embedding", "summarization")


def count_items(store: Store) -> Counter[str]:
    """Count the items that this store's queries return from now on, by container."""
    items: Counter[str] = Counter()
    asked = store.query

    async def counting(query: NamedQuery, *arguments: Any, **options: Any) -> AsyncIterator[dict[str, Any]]:
        async for row in asked(query, *arguments, **options):
            items[query.container] += 1
            yield row

    store.query = counting  # type: ignore[method-assign]
    return items


@dataclass
class SweepPlace:
    place: Bench
    now: datetime = START
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    metrics: SweepMetrics = field(init=False)

    def __post_init__(self) -> None:
        self.metrics = SweepMetrics.on(MeterProvider([self.reader]).get_meter("test"))
        self.clients = self.place.clients
        self.store = self.place.clients.store

    def ago(self, **duration: float) -> datetime:
        return self.now - timedelta(**duration)

    def wait(self, **duration: float) -> None:
        self.now += timedelta(**duration)

    # By default created an hour ago.

    def archive(self, name: str = "a1", **changes: Any) -> Archive:
        id_ = self.place.name(name)
        values: dict[str, Any] = {
            "id": id_, "file_hash": "0" * 64, "file_size_bytes": 1, "source": "list", "source_url": "upload",
            "ingestion_date": self.ago(hours=1), "created_at": self.ago(hours=1), "file_path": f"{id_}/x.mbox",
        }  # fmt: skip
        return Archive(**{**values, **changes})

    def thread(self, name: str = "t1", **changes: Any) -> Thread:
        id_ = self.place.name(name)
        values: dict[str, Any] = {
            "id": id_, "root_message_id": f"<{id_}>", "archive_id": "a1", "created_at": self.ago(hours=1),
        }  # fmt: skip
        return Thread(**{**values, **changes})

    def message(self, name: str = "m1", thread: str = "t1", **changes: Any) -> Message:
        id_ = self.place.name(name)
        values: dict[str, Any] = {
            "id": id_, "message_id": f"<{id_}>", "archive_id": "a1", "archive_ids": ["a1"],
            "thread_id": self.place.name(thread), "body_normalized": "hello", "created_at": self.ago(hours=1),
        }  # fmt: skip
        return Message(**{**values, **changes})

    def chunk(self, message: str = "m1", thread: str = "t1", index: int = 0, **changes: Any) -> Chunk:
        key = self.place.name(message)
        values: dict[str, Any] = {
            "id": chunk_id(key, SET, index), "message_key": key, "message_id": f"<{key}>", "archive_id": "a1",
            "thread_id": self.place.name(thread), "chunk_index": index, "text": "hello", "token_count": 2,
            "start_offset": 0, "end_offset": 5, "created_at": self.ago(hours=1),
        }  # fmt: skip
        return Chunk(**{**values, **changes})

    async def put(self, *documents: Document) -> None:
        for document in documents:
            await self.store.upsert(document, Session())
            if isinstance(document, Chunk):  # a chunk without its message is deleted
                own: dict[str, Any] = {"id": document.message_key, "status": ProcessingStatus.PROCESSED}
                message = self.message().model_copy(update={**own, "message_key": document.message_key})
                await self.store.create(message, Session())

    async def put_ready_thread(self, name: str = "t1", **changes: Any) -> Thread:
        """Store a thread whose one message and chunk are done."""
        done: dict[str, Any] = {"status": ProcessingStatus.PROCESSED}
        node = f"<m-{self.place.name(name)}>"
        key = message_key(node, "list")
        members = {"members": [{"id": node}], "subjects": []}
        thread = self.thread(name, message_count=1, source="list", threading=members, **changes)
        message = self.message(f"m-{name}", name, **done, message_id=node).model_copy(
            update={"id": key, "message_key": key, "text_version": 1, "chunk_set": SET, "chunk_count": 1}
        )
        id_ = chunk_id(key, SET, 0)
        chunk = self.chunk(f"m-{name}", name, id=id_, embedding_generated=True, message_key=key, **done)
        await self.put(thread, message, chunk)
        return thread

    async def again(self, document: Document) -> Any:
        """Return the current document."""
        return await self.store.read(
            type(document), document.id, Session(), partition=document.named_partition
        )

    async def fail_stage(self, stage: str, times: int, error: str = "ServiceUnavailableError") -> None:
        for number in range(times):
            await self.put(
                FailureRecord(
                    id=f"{stage}-{number}-{self.now:%H%M}", stage=stage, original_event={}, attempt_count=4,
                    idempotency_key=f"{stage}-{number}", last_error=f"{error}: down", error_type=error,
                    error_kind="transient", error_hash="h", abandoned_reason="transient",
                    service_name=stage, timestamp=self.now, created_at=self.now,
                )
            )  # fmt: skip

    async def sweep(self, **options: Any) -> Run:
        done = await sweep(
            with_clock(self.clients, lambda: self.now), Options(metrics=self.metrics, **options)
        )
        assert done is not None
        return done

    async def sweep_unguarded(self) -> Run:
        """Run a sweep without its lease."""
        return await _Sweep(with_clock(self.clients, lambda: self.now), Options(metrics=self.metrics)).run()

    async def published(self, queue: str, expected: int = 1) -> list[Event[Any]]:
        return await self.place.take_all(queue, expected)

    async def quiet(self) -> bool:
        """Return whether the queues are empty."""
        receivers = [await self.place.receiver(queue) for queue in QUEUES]
        peeked = await asyncio.gather(
            *(receiver.peek_messages(max_message_count=1) for receiver in receivers)
        )
        return not any(peeked)

    def counted(self, name: str, **labels: str) -> float:
        """Return the value of the metric, or the count of a histogram."""
        data = self.reader.get_metrics_data()
        found = data.resource_metrics[0].scope_metrics[0].metrics if data else []
        for metric in found:
            for point in metric.data.data_points:
                if metric.name == name and dict(point.attributes or {}) == labels:
                    return float(getattr(point, "value", 0) or getattr(point, "count", 0))
        return 0


@asynccontextmanager
async def sweep_place(cloud: AppCloud, bus: RunningService, **settings: str) -> AsyncIterator[SweepPlace]:
    async with bench(cloud.settings(bus, **settings)) as place:
        yield SweepPlace(place)
