"""Costs of a message on its way to a report: operations, request units, bytes, events, CPU.

    python -m benchmarks.costs [--archive FILE]

An archive goes through the pipeline on the local cloud, one stage after the other, so that the costs of each
stage can be separated. `docs/evidence.md` has the figures. Request units follow the local Cosmos DB's model
(1 RU per KB read, 5 RU per KB written, queries by the size of their results). Azure charges about the same,
and more for indexed data. CPU is the app's and its encoder's, without the services.
"""

import argparse
import asyncio
import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil
from azure.servicebus.aio import AutoLockRenewer, ServiceBusClient
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View

from benchmarks.capacity import OPERATIONS, PerMessage
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.ingestion.uploads import Upload, store_upload
from shared.models.containers import CONTAINERS
from shared.models.queries.named_query import NamedQuery
from shared.operations.provisioning import provision
from shared.pipeline.runner import StageRunner
from shared.pipeline.stage import Stage
from shared.settings.app import Settings
from stages.chunking import CHUNKING
from stages.embedding import EMBEDDING
from stages.orchestration import ORCHESTRATION
from stages.parsing import PARSING
from stages.registration import delivery_from_sdk
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.support.cloud import local_cloud, servicebus
from tests.support.mail_data import data_folder

STAGES: tuple[Stage[Any], ...] = (PARSING, CHUNKING, EMBEDDING, ORCHESTRATION, SUMMARIZATION, REPORTING)
ROOT = Path(__file__).resolve().parents[1]
REAL = "numpy-discussion-2001-11.mbox"
SAMPLE = ROOT / "samples" / "tally.mbox"
AT_ONCE = 16
QUIET_SECONDS = 2.0
LOCK_SECONDS = 1800.0
UNITS = "cosmos_request_units_total"
PRIMARY = ("cosmos refresh", "cosmos read_latest")  # reads of the primary, to see other workers' writes


@dataclass
class Cost:
    """The operations of a stage."""

    cpu: float = 0.0
    events: int = 0
    event_bytes: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    requests: int = 0  # to Cosmos DB
    units: Counter[str] = field(default_factory=Counter)


class Meter:
    """Totals so far: calls by dependency and operation, request units by container, and CPU seconds."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        counted = View(instrument_name=UNITS, aggregation=ExplicitBucketHistogramAggregation([]))
        metrics.set_meter_provider(MeterProvider([self._reader], views=[counted]))

    def calls(self) -> Counter[str]:
        return self._totals("dependency_calls_total", "dependency", "operation")

    def units(self) -> Counter[str]:
        return self._totals(UNITS, "container", of="sum")

    def requests(self) -> int:
        """Return the responses of Cosmos DB, also to the SDK's own requests, but not the ends of queries."""
        return int(self._totals(UNITS, "container", of="count").total())

    @staticmethod
    def cpu() -> float:
        own = psutil.Process(os.getpid())
        encoders = [child for child in own.children(recursive=True) if "shared.embedding" in _command(child)]
        times = [process.cpu_times() for process in (own, *encoders)]
        return sum(time.user + time.system for time in times)

    def _totals(self, name: str, *labels: str, of: str = "value") -> Counter[str]:
        data = self._reader.get_metrics_data()
        found: Counter[str] = Counter()
        scopes = [
            scope for resource in (data.resource_metrics if data else []) for scope in resource.scope_metrics
        ]
        for metric in (metric for scope in scopes for metric in scope.metrics if metric.name == name):
            for point in metric.data.data_points:
                attributes = point.attributes or {}
                found[" ".join(str(attributes[label]) for label in labels)] += getattr(point, of, 0)
        return found


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


class Pipeline:
    def __init__(self, clients: Clients, bus: ServiceBusClient, meter: Meter) -> None:
        self._clients = clients
        self._bus = bus
        self._meter = meter

    async def ingest(self, content: bytes) -> Cost:
        cost = Cost()

        async def work() -> None:
            await store_upload(Upload(content, "costs.mbox", "costs"), self._clients)

        await self._measured(work(), cost)
        return cost

    async def run(self, stage: Stage[Any]) -> Cost:
        cost = Cost()
        await self._measured(self._drain(stage, cost), cost)
        return cost

    async def _measured(self, work: Any, cost: Cost) -> None:
        calls, units, requests = self._meter.calls(), self._meter.units(), self._meter.requests()
        cpu = self._meter.cpu()
        await work
        cost.calls = self._meter.calls() - calls
        cost.units = self._meter.units() - units
        cost.cpu = self._meter.cpu() - cpu
        cost.requests = self._meter.requests() - requests

    async def _drain(self, stage: Stage[Any], cost: Cost) -> None:
        """Process events until no event arrives for a while: the previous stage has ended."""
        runner = StageRunner(stage, self._clients)
        async with (
            AutoLockRenewer(LOCK_SECONDS) as renewer,
            self._bus.get_queue_receiver(stage.name, auto_lock_renewer=renewer) as receiver,
        ):
            while batch := await receiver.receive_messages(AT_ONCE, max_wait_time=QUIET_SECONDS):
                for message in batch:
                    delivery = delivery_from_sdk(message)
                    cost.events += 1
                    cost.event_bytes += len(delivery.body)
                    await runner.run(delivery)
                    await receiver.complete_message(message)


async def stored_bytes(clients: Clients) -> dict[str, tuple[int, int]]:
    """Return the documents and bytes by container. Documents next to threads count as `entries`."""
    found = {}
    for name in CONTAINERS:
        query = NamedQuery("all", name, "SELECT * FROM c")
        documents = [document async for document in clients.store.query(query, Session())]
        entries = [row for row in documents if name == "threads" and "kind" in row]
        for kind, kept in (
            (name, [row for row in documents if name != "threads" or "kind" not in row]),
            ("entries", entries),
        ):
            if kept:
                found[kind] = (len(kept), sum(len(json.dumps(document)) for document in kept))
    return found


async def measure(settings: Settings, content: bytes) -> tuple[dict[str, Cost], dict[str, tuple[int, int]]]:
    meter = Meter()
    await provision(settings)
    clients = await Clients.connect(settings)
    assert settings.SERVICEBUS_CONNECTION is not None
    async with ServiceBusClient.from_connection_string(
        settings.SERVICEBUS_CONNECTION.get_secret_value()
    ) as bus:
        pipeline = Pipeline(clients, bus, meter)
        costs = {"ingestion": await pipeline.ingest(content)}
        for stage in STAGES:
            costs[stage.name] = await pipeline.run(stage)
        sizes = await stored_bytes(clients)
    await clients.close()
    return costs, sizes


def per_message(
    costs: Mapping[str, Cost], sizes: Mapping[str, tuple[int, int]], archive_bytes: int
) -> PerMessage:
    """Return the figures for the model in benchmarks.capacity."""
    total, messages = _sum(costs.values()), sizes["messages"][0]
    return PerMessage(
        cpu_ms=total.cpu * 1000 / messages,
        request_units=sum(total.units.values()) / messages,
        busiest_container_units=max(total.units.values()) / messages,
        events=total.events / messages,
        chunks=sizes["chunks"][0] / messages,
        document_bytes=sum(size for _, size in sizes.values()) / messages,
        largest_container_bytes=max(size for _, size in sizes.values()) / messages,
        archive_bytes=archive_bytes / messages,
    )


def report(costs: Mapping[str, Cost], sizes: Mapping[str, tuple[int, int]], archive_bytes: int) -> None:
    messages = sizes["messages"][0]
    chunks, threads = sizes["chunks"][0], sizes["summaries"][0]
    print(f"{messages} messages, {threads} threads, {chunks} chunks, an archive of {archive_bytes} bytes")
    print(f"\n{'per message':<15} {'CPU ms':>8} {'RU':>8} {'requests':>8} {'events':>8} {'event bytes':>12}")
    for name, cost in costs.items():
        print(_line(name, cost, messages))
    total = _sum(costs.values())
    print(_line("all", total, messages))
    primary = sum(total.calls[name] for name in PRIMARY)
    print(f"\n{total.requests} requests to Cosmos DB, {primary} of them to see what others wrote")
    for name in ("summarization", "reporting"):
        print(f"{name}: {_requests(costs[name]) / threads:.2f} requests a thread")
    print("\ncalls per message:")
    for name, count in total.calls.most_common():
        print(f"  {name:<28} {count / messages:8.3f}")
    print("\nRU per message by container:")
    for name, units in total.units.most_common():
        print(f"  {name or 'account':<28} {units / messages:8.2f}")
    print("\nbytes per message:")
    for name, (count, size) in sizes.items():
        print(f"  {name:<28} {size / messages:8.0f}  ({count / messages:.3f} documents)")
    print("\nfor benchmarks/capacity.py:")
    for name, figure in asdict(per_message(costs, sizes, archive_bytes)).items():
        print(f"    {name}={figure:_.{3 if figure < 10 else 1 if figure < 1000 else 0}f},")
    operations = total.events * OPERATIONS / messages
    print(f"\nService Bus operations per message: {operations:.3f} ({OPERATIONS} an event)")


def _requests(cost: Cost) -> int:
    """Return the requests to all services."""
    others = sum(count for call, count in cost.calls.items() if not call.startswith("cosmos "))
    return cost.requests + others


def _line(name: str, cost: Cost, messages: int) -> str:
    figures = (cost.cpu * 1000, sum(cost.units.values()), _requests(cost), cost.events, cost.event_bytes)
    cpu, units, calls, events, size = (figure / messages for figure in figures)
    return f"{name:<15} {cpu:8.2f} {units:8.2f} {calls:8.3f} {events:8.4f} {size:12.1f}"


def _sum(costs: Any) -> Cost:
    total = Cost()
    for cost in costs:
        total.cpu += cost.cpu
        total.events += cost.events
        total.event_bytes += cost.event_bytes
        total.calls += cost.calls
        total.requests += cost.requests
        total.units += cost.units
    return total


def choose_archive(given: Path | None) -> Path:
    folder = data_folder()
    return given or (folder / REAL if folder is not None else SAMPLE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--archive", type=Path, help="an mbox (default: a real one where there is one)")
    path = choose_archive(parser.parse_args().archive)
    content = path.read_bytes()
    print(f"{path.name}:")
    with (
        tempfile.TemporaryDirectory() as folder,
        local_cloud() as cloud,
        servicebus(Path(folder)) as bus,
    ):
        costs, sizes = asyncio.run(measure(cloud.settings(bus), content))
    report(costs, sizes, len(content))


if __name__ == "__main__":
    main()
