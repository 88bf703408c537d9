"""An archive from its upload until every thread is ready, against encoding its chunks alone.

    python -m benchmarks.pipeline [--files git-2023-12.mbox.gz git-2024-01.mbox.gz] [--quiet SECONDS] [--all]

The whole system runs as in `make run`, each service a process of its own, with the settings and the locks of
the chaos tests, which it prints. Ready means that the summary of the thread was asked for. Later stages are
off unless --all is given, as they would take time from those that are measured. Then the same texts are
encoded with the same embedder, by itself, on the same machine: the ratio is that of the two wall times. The
table shows where the processor's time went.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.documents.queries.named_query import NamedQuery
from shared.embedding.factory import open_embedder
from shared.settings.app import Settings
from tests.support.mail_data import WHY_SKIPPED, data_folder, open_archive
from tests.system.chaos.world import DUPLICATE_SECONDS, LOCK_SECONDS, QUICK, World, world

FILES = ("git-2023-12.mbox.gz", "git-2024-01.mbox.gz")
AFTERWARDS = ("summarization", "reporting")
TIMEOUT_SECONDS = 1800
POLL_SECONDS = 1.0
PARSED = NamedQuery("parsed", "archives", "SELECT VALUE COUNT(1) FROM c WHERE c.status = 'processed'")
_THREADS = "SELECT VALUE COUNT(1) FROM c WHERE IS_NULL(c.merged_into)"
THREADS = NamedQuery("threads", "threads", _THREADS)
READY = NamedQuery("ready", "threads", f"{_THREADS} AND IS_STRING(c.content_hash)")
EMBEDDED = NamedQuery("embedded", "chunks", "SELECT VALUE COUNT(1) FROM c WHERE c.embedding_generated = true")
PENDING = NamedQuery("pending", "chunks", "SELECT VALUE COUNT(1) FROM c WHERE c.status = 'pending'")
UNCHUNKED = NamedQuery("unchunked", "messages", "SELECT VALUE COUNT(1) FROM c WHERE c.status = 'pending'")
TEXTS = NamedQuery("texts", "chunks", "SELECT VALUE c.text FROM c")


async def count(clients: Clients, query: NamedQuery) -> int:
    return sum([int(document) async for document in clients.store.query(query, Session())])  # type: ignore[call-overload]


def upload(app: World, path: Path) -> None:
    with open_archive(path) as archive:
        content = archive.read()
    name = path.name.removesuffix(".gz")
    address = f"{app.app}/api/archives?source=git&filename={name}"
    request = urllib.request.Request(address, data=content, method="POST")  # noqa: S310 - our own app
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - likewise
        answer.read()


class Clock:
    """When each part was through, and the processor's time of each process until the end."""

    def __init__(self, app: World) -> None:
        self._app = app
        self._started = time.perf_counter()
        self._before = self._cpu()
        self.marks: dict[str, float] = {}

    def mark(self, name: str) -> None:
        self.marks.setdefault(name, time.perf_counter() - self._started)

    def spent(self) -> dict[str, float]:
        return {name: seconds - self._before.get(name, 0.0) for name, seconds in self._cpu().items()}

    def _cpu(self) -> dict[str, float]:
        seconds: dict[str, float] = {}
        for name, service in self._app.running.items():
            own = psutil.Process(service.process.pid)
            seconds[name] = sum(own.cpu_times()[:2])
            for child in own.children(recursive=True):
                key = "encoder" if "shared.embedding.process.worker" in child.cmdline() else name
                seconds[key] = seconds.get(key, 0.0) + sum(child.cpu_times()[:2])
        return seconds


async def until_ready(clients: Clients, clock: Clock, files: int) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)
        if await count(clients, READY):
            clock.mark("the first thread ready")
        if await count(clients, PARSED) < files:
            continue
        clock.mark("parsed")
        if await count(clients, UNCHUNKED):
            continue
        clock.mark("chunked")
        if await count(clients, PENDING):
            continue
        clock.mark("embedded")
        if await count(clients, READY) == await count(clients, THREADS):
            clock.mark("every thread ready")
            return
    raise SystemExit("not every thread got ready in time")


async def measure(app: World, files: list[Path]) -> tuple[Clock, list[str]]:
    clients = await Clients.connect(app.settings())
    try:
        clock = Clock(app)
        for path in files:
            await asyncio.to_thread(upload, app, path)
        clock.mark("uploaded")
        await until_ready(clients, clock, len(files))
        print(f"{await count(clients, THREADS)} threads, {await count(clients, EMBEDDED)} chunks embedded")
        return clock, [str(document) async for document in clients.store.query(TEXTS, Session())]
    finally:
        await clients.close()


async def encode_alone(settings: Settings, texts: list[str]) -> float:
    embedder = await open_embedder(settings)
    try:
        await embedder.encode(texts[:32])
        started = time.perf_counter()
        await embedder.encode_each(texts)
        return time.perf_counter() - started
    finally:
        await embedder.close()


def differences() -> dict[str, str]:
    """What differs from the defaults of the app and of its Service Bus entities."""
    quiet = {"ORCHESTRATION_QUIET_SECONDS": os.environ["ORCHESTRATION_QUIET_SECONDS"]}
    locks = {"LockDuration": f"{LOCK_SECONDS} s", "duplicate detection": f"{DUPLICATE_SECONDS} s"}
    return {name: value or "none" for name, value in (quiet | QUICK | locks).items()}


def run(files: list[Path]) -> None:
    print(f"not the defaults: {', '.join(f'{name}={value}' for name, value in differences().items())}")
    with tempfile.TemporaryDirectory(prefix="pipeline-") as folder:
        with world(Path(folder)) as app:
            clock, texts = asyncio.run(measure(app, files))
            report(clock)
            settings = app.settings()
        alone = asyncio.run(encode_alone(settings, texts))
    whole = clock.marks["every thread ready"]
    print(f"\n{len(texts)} chunks alone: {alone:.1f} s")
    print(f"from upload to ready: {whole:.1f} s = {whole / alone:.2f} x")


def report(clock: Clock) -> None:
    print("\n| after | seconds |\n|---|---|")
    for name, seconds in sorted(clock.marks.items(), key=lambda mark: mark[1]):
        print(f"| {name} | {seconds:.1f} |")
    spent = clock.spent()
    print("\n| process | CPU seconds |\n|---|---|")
    for name, seconds in sorted(spent.items(), key=lambda stage: -stage[1]):
        print(f"| {name} | {seconds:.1f} |")
    print(f"\nCPU of all processes: {sum(spent.values()) / spent['encoder']:.2f} x the encoder's", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description=__doc__)
    parser.add_argument("--files", nargs="+", default=list(FILES))
    parser.add_argument("--quiet", default="0", help="ORCHESTRATION_QUIET_SECONDS (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="with summaries and reports")
    options = parser.parse_args()
    data = data_folder()
    if data is None:
        sys.exit(WHY_SKIPPED)
    os.environ["ORCHESTRATION_QUIET_SECONDS"] = options.quiet
    for name in () if options.all else AFTERWARDS:
        os.environ[f"AzureWebJobs.{name}.Disabled"] = "true"
    run([data / name for name in options.files])


if __name__ == "__main__":
    main()
