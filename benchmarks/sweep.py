"""Benchmark of a sweep over many documents, few of them due.

    python -m benchmarks.sweep [--documents 100000] [--due 1000]

Of the chunks, 1 in 100 is due, as many wait for their backoff, as many are silent for less than a day, and
the others are done. For a sweep that finds the due chunks, and for the next one without any, the output has
the seconds, the items returned by queries, the calls, and the request units by the local Cosmos DB's model.
"""

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.ids import chunk_id, chunk_set
from shared.models.base import ProcessingStatus
from shared.models.threads import Chunk
from shared.operations.sweep import Options, sweep
from tests.operations.sweep.environment import count_items
from tests.support.clock import with_clock
from tests.support.cloud import local_cloud, servicebus
from tests.support.toy_stages import bench

NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)
PER_THREAD = 100
SET = chunk_set(1, "whole")
AT_ONCE = 5000
FIRST = "a dry run, which makes the local indexes"


def document(number: int, share: int) -> Chunk:
    states: list[dict[str, Any]] = [
        {"attemptCount": 1, "lastAttemptTime": NOW - timedelta(minutes=6), "lastError": "X: it was down"},
        {"attemptCount": 4, "lastAttemptTime": NOW - timedelta(minutes=30), "lastError": "X: it was down"},
        {"attemptCount": 1, "lastAttemptTime": NOW - timedelta(hours=12)},
    ]
    done = {"status": ProcessingStatus.PROCESSED, "embedding_generated": True, "lastAttemptTime": NOW}
    state = states[number % share] if number % share < len(states) else done
    key = f"{number:016x}"
    return Chunk(
        id=chunk_id(key, SET, 0), chunk_id=chunk_id(key, SET, 0), message_key=key, message_id=f"<{key}@x>",
        thread_id=f"t{number // PER_THREAD}", archive_id="a1", chunk_index=0, text="hello " * 100,
        token_count=100, start_offset=0, end_offset=600, created_at=NOW - timedelta(days=2), **state,
    )  # fmt: skip


async def fill(clients: Clients, documents: int, due: int) -> None:
    for start in range(0, documents, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, documents))
        await clients.store.upsert_all([document(n, documents // due) for n in numbers], Session())


def totals(reader: InMemoryMetricReader) -> tuple[float, float]:
    """Return the request units and calls so far."""
    data = reader.get_metrics_data()
    found = data.resource_metrics[0].scope_metrics[0].metrics if data else []
    sums: dict[str, float] = {}
    for document in found:
        values = [getattr(point, "value", 0.0) for point in document.data.data_points]
        sums[document.name] = float(sum(values))
    return sums.get("cosmos_request_units_total", 0.0), sums.get("dependency_calls_total", 0.0)


async def measure(name: str, clients: Clients, reader: InMemoryMetricReader, items: Counter[str]) -> None:
    items.clear()
    units, calls = totals(reader)
    started, cpu = time.perf_counter(), time.process_time()
    run = await sweep(with_clock(clients, lambda: NOW), Options(dry_run=name == FIRST))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    units, calls = totals(reader)[0] - units, totals(reader)[1] - calls
    requeued = run.counts["chunks"]["requeued"] if run else 0
    print(
        f"{name}: {requeued} requeued, {seconds:.1f} s ({cpu:.1f} s of its CPU), {sum(items.values())} items"
        f" read ({items['chunks']} of chunks), {calls:.0f} calls, {units:.0f} RU"
    )


async def main(documents: int, due: int) -> None:
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([reader]))
    with local_cloud() as cloud, tempfile.TemporaryDirectory() as folder, servicebus(Path(folder)) as bus:
        async with bench(cloud.settings(bus)) as place:
            await fill(place.clients, documents, due)
            items = count_items(place.clients.store)
            print(f"{documents} chunks, {due} of them due")
            for name in (FIRST, "the sweep", "the next sweep"):
                await measure(name, place.clients, reader, items)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--due", type=int, default=1000)
    given = parser.parse_args()
    asyncio.run(main(given.documents, given.due))
