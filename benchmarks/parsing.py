"""The parsing stage into the local Cosmos DB, against parsing alone.

    python -m benchmarks.parsing [FILE ...]

Both read the same archives in the same run: once by the mail library alone (split, decode, normalise,
mentions, thread, in memory), once by the stage, which also stores messages, threads and the index over them.
"""

import argparse
import asyncio
import gzip
import io
import sys
import tempfile
import time
from pathlib import Path

from shared.mail.models import Skipped
from shared.mail.parse import parse_archive
from shared.mail.threading import InMemoryThreads, assign
from stages.parsing import PARSING
from tests.pipeline.mail_in import mail_in
from tests.support.cloud import local_cloud, servicebus
from tests.support.mail_data import WHY_SKIPPED, data_folder

ARCHIVES = ("git-2023-12.mbox.gz", "git-2024-01.mbox.gz")


def read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def real_archives() -> list[Path]:
    folder = data_folder()
    if folder is None:
        sys.exit(WHY_SKIPPED)
    return [folder / name for name in ARCHIVES]


def parse_alone(archives: list[bytes]) -> tuple[int, float, float]:
    """Messages, seconds of wall time, seconds of CPU."""
    wall, cpu, count, threads = time.perf_counter(), time.process_time(), 0, InMemoryThreads()
    for content in archives:
        found = [each for each in parse_archive(io.BytesIO(content)) if not isinstance(each, Skipped)]
        threads.apply(assign(found, threads))
        count += len(found)
    return count, time.perf_counter() - wall, time.process_time() - cpu


async def parse_into_cosmos(archives: list[bytes]) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder, local_cloud() as cloud, servicebus(Path(folder)) as bus:
        async with mail_in(cloud, bus) as place:
            events = [await place.ingest(content) for content in archives]
            wall, cpu = time.perf_counter(), time.process_time()
            for event in events:
                await place.run(PARSING, event)
            return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    archives = [read(path) for path in options.files or real_archives()]
    count, wall, cpu = parse_alone(archives)
    stage_wall, stage_cpu = asyncio.run(parse_into_cosmos(archives))
    print(f"{count} messages")
    print("                       messages/s   messages per CPU second")
    print(f"  the library alone   {count / wall:>11.0f} {count / cpu:>16.0f}")
    print(f"  the stage, stored   {count / stage_wall:>11.0f} {count / stage_cpu:>16.0f}")
    print(f"  ratio               {wall / stage_wall:>11.2f} {cpu / stage_cpu:>16.2f}")


if __name__ == "__main__":
    main()
