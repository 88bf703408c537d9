"""Benchmark of two hosts against one: CPU and speed of parsing, and the serialized time of commits.

    python -m benchmarks.hosts [--delay 0.005] [--turns 3]

Each host is a process with the app's functions. Only parsing is enabled, for one archive at a time.
Two lists are uploaded together. Each has every second mail of git of January 2024, and its own source. With a
delay, each response of Cosmos DB is delayed. Commits of a source run one at a time. Their share is the
duration of the batches that raise the source's version, divided by the duration of parsing.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.pipeline import App, count, running_app, small_archive, spent
from localcloud.testing import Faults
from shared.azure.connections import Clients
from shared.azure.cosmos.store import Store
from shared.models.queries.named_query import NamedQuery
from shared.pipeline.topology import QUEUES
from shared.settings.app import load_settings
from stages.parsing import PARSING
from tests.stages.mail_in import mail_in
from tests.support.cloud import local_cloud, servicebus
from tests.support.mail_data import WHY_SKIPPED, data_folder, open_archive

ARCHIVE = "git-2024-01.mbox.gz"
WARM_UPS = 6  # per host: enough for each to connect and start its reader, whichever host gets an archive
TIMERS = ("sweep", "housekeeping")
ONE_AT_A_TIME = {"AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls": "1"}
TIMEOUT_SECONDS = 600
POLL_SECONDS = 0.1
PARSED = NamedQuery("parsed", "archives", "SELECT VALUE COUNT(1) FROM c WHERE c.status = 'processed'")


@dataclass
class Parsing:
    seconds: float
    cpu: float


def only_parsing() -> dict[str, str]:
    others = [name for name in (*QUEUES, *TIMERS) if name != "parsing"]
    return {f"AzureWebJobs.{name}.Disabled": "true" for name in others} | ONE_AT_A_TIME


async def until_parsed(clients: Clients, archives: int) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while await count(clients, PARSED) < archives:
        if time.monotonic() > deadline:
            sys.exit("not every archive was parsed in time")
        await asyncio.sleep(POLL_SECONDS)


async def parse_both(app: App, lists: dict[str, bytes], delay: float) -> Parsing:
    clients = await Clients.connect(load_settings(app.values))
    try:
        warm = WARM_UPS * len(app.hosts)
        for number in range(warm):
            host = number % len(app.hosts)
            await asyncio.to_thread(app.upload, f"warm-{number}.mbox", small_archive(number), "warm", host)
        await until_parsed(clients, warm)
        if delay:
            Faults(app.running["cosmos"]).plan({"kind": "latency", "args": {"seconds": delay}, "times": None})
        began, before = time.perf_counter(), app.cpu()
        for name, content in lists.items():
            await asyncio.to_thread(app.upload, f"{name}.mbox", content, name)
        await until_parsed(clients, warm + len(lists))
        used = spent(before, app.cpu())
        mine = sum(cpu for name, cpu in used.items() if name.startswith("functions"))
        return Parsing(time.perf_counter() - began, mine)
    finally:
        await clients.close()


class CommitClock:
    """The duration of the batches that commit mails to threads.

    For each source, only one batch at a time succeeds.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        transact: Any = Store.transact

        async def timed(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return await transact(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - began

        Store.transact = timed  # type: ignore[method-assign] # for the rest of this process


async def serialized_share(archive: bytes, clock: CommitClock, delay: float) -> float:
    with tempfile.TemporaryDirectory() as folder, local_cloud() as cloud, servicebus(Path(folder)) as bus:
        async with mail_in(cloud, bus) as place:
            event, first = await place.ingest(archive), await place.ingest(small_archive(0))
            await place.run(PARSING, first)  # opens the connections before the measurement
            if delay:
                Faults(cloud.cosmos).plan(late(delay))
            clock.seconds, began = 0.0, time.perf_counter()
            await place.run(PARSING, event)
            return clock.seconds / (time.perf_counter() - began)


def late(delay: float) -> dict[str, Any]:
    return {"kind": "latency", "args": {"seconds": delay}, "times": None}


def halves(archive: bytes) -> dict[str, bytes]:
    mails = [b"From " + mail for mail in archive.removeprefix(b"From ").split(b"\nFrom ")]
    return {"even": b"\n".join([*mails[::2], b""]), "odd": b"\n".join([*mails[1::2], b""])}


def run(hosts: int, lists: dict[str, bytes], delay: float) -> Parsing:
    with (
        tempfile.TemporaryDirectory(prefix="hosts-") as folder,
        running_app(Path(folder), hosts=hosts, **only_parsing()) as app,
    ):
        return asyncio.run(parse_both(app, lists, delay))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    parser.add_argument("--delay", type=float, default=0.005, help="seconds (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    folder = data_folder()
    if folder is None:
        sys.exit(WHY_SKIPPED)
    archive, clock = open_archive(folder / ARCHIVE).read(), CommitClock()
    lists = halves(archive)
    for delay in (0.0, options.delay):
        shares = [asyncio.run(serialized_share(archive, clock, delay)) for _ in range(options.turns)]
        print(f"delay of {1000 * delay:g} ms: commits take {statistics.median(shares):.1%} of parsing's time")
        turns = [(run(1, lists, delay), run(2, lists, delay)) for _ in range(options.turns)]
        cpu = statistics.median(two.cpu / one.cpu for one, two in turns)
        faster = statistics.median(one.seconds / two.seconds for one, two in turns)
        shown = "; ".join(
            f"{one.seconds:.1f} and {two.seconds:.1f} s, {one.cpu:.1f} and {two.cpu:.1f} s of CPU"
            for one, two in turns
        )
        print(f"  one host and two: {shown}")
        print(
            f"  two hosts use {cpu:.2f} times the CPU of one, and are {faster:.2f} times as fast", flush=True
        )


if __name__ == "__main__":
    main()
