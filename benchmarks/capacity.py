"""The capacity model of `docs/evidence.md`: the needs of 10,000 to 1,000,000,000 messages.

    python -m benchmarks.capacity

`MEASURED` has the figures of `python -m benchmarks.costs`. The limits are Azure's published limits. A test
compares the tables in the docs with this module.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from shared.pipeline.topology import QUEUES

__all__ = ["MEASURED", "SIZES", "PerMessage", "capacity_table", "per_message_table"]

ROOT = Path(__file__).resolve().parents[1]
GB = 1e9
DAY = 86_400


@dataclass(frozen=True)
class PerMessage:
    """The cost of a message on its way to a report."""

    cpu_ms: float
    request_units: float
    busiest_container_units: float
    events: float
    chunks: float
    document_bytes: float
    largest_container_bytes: float
    archive_bytes: float


# Figures of python -m benchmarks.costs for two real lists.
DISCUSSION = PerMessage(  # numpy-discussion, November 2001: 82 messages in 25 threads
    cpu_ms=47.9,
    request_units=193.1,
    busiest_container_units=73.2,
    events=0.659,
    chunks=1.610,
    document_bytes=13_462,
    largest_container_bytes=4_358,
    archive_bytes=3_807,
)
PATCHES = PerMessage(  # git, December 2023: 686 messages in 102 threads, most of them with a patch
    cpu_ms=75.2,
    request_units=331.7,
    busiest_container_units=152.4,
    events=0.319,
    chunks=4.622,
    document_bytes=21_440,
    largest_container_bytes=8_744,
    archive_bytes=6_888,
)
# For each figure, the model uses the higher one.
MEASURED = PerMessage(
    **{
        field.name: max(getattr(DISCUSSION, field.name), getattr(PATCHES, field.name))
        for field in fields(PerMessage)
    }
)
SIZES = tuple(10**exponent for exponent in range(4, 10))

# Azure's limits: docs/evidence.md has the sources.
SERVERLESS_UNITS = 5_000  # RU/s of a container
PHYSICAL_PARTITION_BYTES = 50 * GB
CREDITS_A_SECOND = 1_000  # of a Service Bus Standard namespace
VECTOR_BYTES = 4 * 384
VECTOR_OVERHEAD = 1.1  # of an HNSW graph, approximately
# Assumptions for a month: see docs/deploy.md.
MONTH = 2_628_000
WAITING = 2
MEMORY_GB = 2
OPERATIONS = 4  # publish, forward to the queue, receive, complete
HOUSEKEEPING_RUNS, SWEEP_RUNS = 8_760, 2_920  # every five minutes, every fifteen minutes
TIMER_RUNS = HOUSEKEEPING_RUNS + SWEEP_RUNS
HOUSEKEEPING_UNITS, SWEEP_UNITS = 39.0, 208.0  # RU of a run without work, in the local model
IDLE_UNITS = HOUSEKEEPING_RUNS * HOUSEKEEPING_UNITS + SWEEP_RUNS * SWEEP_UNITS
IDLE_LOOKS = HOUSEKEEPING_RUNS * len(QUEUES)  # peeks at the oldest message of each queue
SHORTEST_SECONDS = 1  # Flex Consumption bills at least a second for an execution
SPAN_BYTES = 3_000  # a span and a log line, in the exporter's format
METRIC_BYTES = 43_800 * 60 * 600  # 60 series with changes each minute

SEARCH_TIERS = (  # name, maximum partitions, GB of vectors per partition
    ("Basic", 3, 5),
    ("S1", 12, 35),
    ("S2", 12, 150),
    ("S3", 12, 300),
)


def credits_of_an_event() -> int:
    """Return the credits of an event: send, each filter of the topic, forward to the queue, receive."""
    config = json.loads((ROOT / "infra/servicebus/Config.json").read_text())
    (topic,) = config["UserConfig"]["Namespaces"][0]["Topics"]
    return 3 + sum(len(subscription["Rules"]) for subscription in topic["Subscriptions"])


def search_tier(messages: int, cost: PerMessage) -> str:
    """Return the first tier whose vector quota fits the index, and its number of partitions."""
    needed = messages * cost.chunks * VECTOR_BYTES * VECTOR_OVERHEAD / GB
    for name, most, size in SEARCH_TIERS:
        partitions = math.ceil(needed / size)
        if partitions <= most:
            return f"{name} x {partitions}"
    return f"{math.ceil(needed / (12 * 300))} services of S3 x 12"


def _row(messages: int, cost: PerMessage) -> list[str]:
    events = messages * cost.events
    return [
        f"10{_raised(messages)}",
        _hours(messages * cost.cpu_ms / 1000),
        str(math.ceil(messages * cost.cpu_ms / 1000 / DAY)),
        f"{messages * cost.request_units / 1e6:,.0f}",
        _hours(messages * cost.busiest_container_units / SERVERLESS_UNITS),
        f"{math.ceil(messages * cost.request_units / DAY / 1000) * 1000:,}",
        _bytes(messages * cost.document_bytes),
        str(math.ceil(messages * cost.largest_container_bytes / PHYSICAL_PARTITION_BYTES)),
        _hours(events * credits_of_an_event() / CREDITS_A_SECOND),
        _bytes(messages * cost.chunks * VECTOR_BYTES),
        search_tier(messages, cost),
        _bytes(messages * cost.archive_bytes),
    ]


HEADS = [
    "messages",
    "CPU",
    "instances for a day's work",
    "million RU",
    "serverless, busiest container",
    "RU/s for a day's work",
    "documents",
    "physical partitions of the largest container",
    "Service Bus Standard",
    "vectors",
    "AI Search",
    "archives",
]


def capacity_table(cost: PerMessage = MEASURED) -> str:
    rows = [HEADS, ["---"] * len(HEADS), *(_row(messages, cost) for messages in SIZES)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def per_message_table() -> str:
    def row(label: str, show: Callable[[PerMessage], str]) -> list[str]:
        return [label, show(DISCUSSION), show(PATCHES)]

    rows = [
        ["a message costs", "on a discussion list", "on a list of patches"],
        ["---"] * 3,
        row("CPU of the app and its encoder", lambda cost: f"{cost.cpu_ms:g} ms"),
        row("request units", lambda cost: f"{cost.request_units:g}"),
        row("of these in the busiest container", lambda cost: f"{cost.busiest_container_units:g}"),
        row("events", lambda cost: f"{cost.events:g}"),
        row("Service Bus credits", lambda cost: f"{cost.events * credits_of_an_event():.1f}"),
        row("chunks, each a vector of 1,536 bytes", lambda cost: f"{cost.chunks:g}"),
        row("documents", lambda cost: f"{cost.document_bytes:,.0f} bytes"),
        row("of these in the largest container", lambda cost: f"{cost.largest_container_bytes:,.0f} bytes"),
        row("its share of the archive", lambda cost: f"{cost.archive_bytes:,.0f} bytes"),
    ]
    return "\n".join(f"| {' | '.join(found_row)} |" for found_row in rows)


def _raised(messages: int) -> str:
    return str(round(math.log10(messages))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _hours(seconds: float) -> str:
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.0f} h" if seconds < 3 * DAY else f"{seconds / DAY:,.0f} days"


def _bytes(size: float) -> str:
    if size < GB:
        return f"{size / 1e6:,.0f} MB"
    return f"{size / GB:,.0f} GB" if size < 2000 * GB else f"{size / 1e12:,.1f} TB"


def main() -> None:
    print(per_message_table())
    print()
    print(capacity_table())


if __name__ == "__main__":
    main()
