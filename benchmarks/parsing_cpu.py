"""CPU seconds of the parsing stage, including its readers and the servers that it writes to.

    python -m benchmarks.parsing_cpu

On a shared machine, CPU time is more reliable than wall time. `benchmarks.compare` runs this file in both
work trees, each with its own code. Linux only: it reads /proc.
"""

import asyncio
import os
import tempfile
from pathlib import Path

from benchmarks.parsing import FIRST, read, real_archives
from shared.core.lazy_import import tune_garbage_collector
from stages.parsing import PARSING
from tests.stages.mail_in import mail_in
from tests.support.cloud import local_cloud, servicebus

TICKS = os.sysconf("SC_CLK_TCK")
PARENT, USER, SYSTEM = 1, 11, 12  # fields of /proc/PID/stat after the name


def processes() -> dict[int, tuple[int, float]]:
    """Return the parent and the CPU seconds of each process."""
    found: dict[int, tuple[int, float]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        found[int(entry.name)] = int(fields[PARENT]), (int(fields[USER]) + int(fields[SYSTEM])) / TICKS
    return found


def own_cpu() -> float:
    """Return the CPU seconds of this process and its descendants."""
    known, own = processes(), {os.getpid()}
    while more := {pid for pid, (parent, _) in known.items() if parent in own} - own:
        own |= more
    return sum(known[pid][1] for pid in own)


async def parse_all(archives: list[bytes]) -> float:
    with tempfile.TemporaryDirectory() as folder, local_cloud() as cloud, servicebus(Path(folder)) as bus:
        async with mail_in(cloud, bus) as place:
            events = [await place.ingest(content) for content in archives]
            # Opens the connections before the measurement.
            await place.run(PARSING, await place.ingest(FIRST))
            before = own_cpu()
            for event in events:
                await place.run(PARSING, event)
            return own_cpu() - before


def main() -> None:
    tune_garbage_collector()  # as in the app
    print(f"CPU of the stage: {asyncio.run(parse_all([read(path) for path in real_archives()])):.2f} s")


if __name__ == "__main__":
    main()
