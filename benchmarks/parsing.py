"""Benchmark of the parsing stage with the local Cosmos DB, against parsing alone.

    python -m benchmarks.parsing [FILE ...]

Both read the same archives in one run: the mail library alone (split, decode, normalize, mentions, threads,
in memory, on one core), and the stage, which also stores messages, threads and their index. The stage, its
reader and the servers share the machine's cores. The stage gets the archives first one by one and then all
together, as the host passes them (maxConcurrentCalls in host.json).
"""

import argparse
import asyncio
import gzip
import io
import sys
import tempfile
import time
from pathlib import Path

from shared.core.lazy_import import tune_garbage_collector
from shared.mail.models import Skipped
from shared.mail.parse import parse_archive
from stages.parsing import PARSING
from tests.stages.mail_in import mail, mail_in
from tests.support.cloud import local_cloud, servicebus
from tests.support.mail_data import WHY_SKIPPED, data_folder
from tests.support.threads import InMemoryThreads, assign

FIRST = b"".join(mail(number, subject=f"Before the first that counts: {number}") for number in range(200))
ARCHIVES = ("git-2023-12.mbox.gz", "git-2024-01.mbox.gz")


def read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def real_archives() -> list[Path]:
    folder = data_folder()
    if folder is None:
        sys.exit(WHY_SKIPPED)
    return [folder / name for name in ARCHIVES]


def parse_alone(archives: list[bytes]) -> tuple[int, float, float]:
    """Return the messages, the seconds of wall time and the seconds of CPU."""
    wall, cpu, count, threads = time.perf_counter(), time.process_time(), 0, InMemoryThreads()
    for content in archives:
        found = [parsed for parsed in parse_archive(io.BytesIO(content)) if not isinstance(parsed, Skipped)]
        threads.apply(assign(found, threads))
        count += len(found)
    return count, time.perf_counter() - wall, time.process_time() - cpu


async def parse_into_cosmos(archives: list[bytes], *, at_once: bool) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, local_cloud() as cloud, servicebus(Path(folder)) as bus:
        async with mail_in(cloud, bus) as place:
            events = [await place.ingest(content) for content in archives]
            # Opens the connections before the measurement.
            await place.run(PARSING, await place.ingest(FIRST))
            wall, cpu = time.perf_counter(), time.process_time()
            if at_once:
                await asyncio.gather(*(place.run(PARSING, event) for event in events))
            else:
                for event in events:
                    await place.run(PARSING, event)
            return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    archives = [read(path) for path in options.files or real_archives()]
    tune_garbage_collector()  # as in the app
    alone, one_by_one, at_once = [], [], []
    for _ in range(options.turns):
        count, *times = parse_alone(archives)
        alone.append(times)
        one_by_one.append(asyncio.run(parse_into_cosmos(archives, at_once=False)))
        at_once.append(asyncio.run(parse_into_cosmos(archives, at_once=True)))
    wall, cpu = map(min, zip(*alone, strict=True))
    print(f"{count} messages in {len(archives)} archives, the best of {options.turns} turns")
    print("                                      messages/s   of the library   CPU of this process")
    print(f"  the library alone                  {count / wall:>11.0f} {'':>16} {cpu:>18.2f} s")
    for name, turns in (("one archive after the other", one_by_one), ("all archives at once", at_once)):
        stage_wall, stage_cpu = map(min, zip(*turns, strict=True))
        rate, share = count / stage_wall, wall / stage_wall
        print(f"  the stage, {name:<27}{rate:>8.0f} {share:>15.2f}x {stage_cpu:>18.2f} s")


if __name__ == "__main__":
    main()
