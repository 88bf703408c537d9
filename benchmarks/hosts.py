"""Two hosts against one: the CPU of parsing, and how fast two lists are parsed where the database is far away.

    python -m benchmarks.hosts [--delay 0.005] [--turns 3]

Each host is a process with the functions of the app, of which all but parsing are off, and takes one archive
at a time. Two lists are uploaded at once: git of December 2023 and of January 2024, each a source of its own. With
a delay, every answer of Cosmos DB comes so much later.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pipeline import App, count, running_app, small_archive, spent
from localcloud.testing import Faults
from shared.clients.connections import Clients
from shared.documents.queries.named_query import NamedQuery
from shared.pipeline.topology import QUEUES
from shared.settings.app import load_settings
from tests.support.mail_data import WHY_SKIPPED, data_folder, open_archive

LISTS = {"first": "git-2023-12.mbox.gz", "second": "git-2024-01.mbox.gz"}
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
        warm = [f"warm-{number}" for number in range(len(app.hosts))]
        for number, name in enumerate(warm):  # each host connects and starts its reader
            await asyncio.to_thread(app.upload, f"{name}.mbox", small_archive(number), name, number)
        await until_parsed(clients, len(warm))
        if delay:
            Faults(app.running["cosmos"]).plan({"kind": "latency", "args": {"seconds": delay}, "times": None})
        began, before = time.perf_counter(), app.cpu()
        for name, content in lists.items():
            await asyncio.to_thread(app.upload, f"{name}.mbox", content, name)
        await until_parsed(clients, len(warm) + len(lists))
        used = spent(before, app.cpu())
        mine = sum(cpu for name, cpu in used.items() if name.startswith("functions"))
        return Parsing(time.perf_counter() - began, mine)
    finally:
        await clients.close()


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
    lists = {name: open_archive(folder / file).read() for name, file in LISTS.items()}
    for delay in (0.0, options.delay):
        turns = [(run(1, lists, delay), run(2, lists, delay)) for _ in range(options.turns)]
        cpu = statistics.median(two.cpu / one.cpu for one, two in turns)
        faster = statistics.median(one.seconds / two.seconds for one, two in turns)
        shown = "; ".join(
            f"{one.seconds:.1f} and {two.seconds:.1f} s, {one.cpu:.1f} and {two.cpu:.1f} s of CPU"
            for one, two in turns
        )
        print(f"delay of {1000 * delay:g} ms: one host and two: {shown}")
        print(
            f"  two hosts use {cpu:.2f} times the CPU of one, and are {faster:.2f} times as fast", flush=True
        )


if __name__ == "__main__":
    main()
