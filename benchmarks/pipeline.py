"""Benchmark of an archive from upload to the last report, against encoding its chunks alone.

    python -m benchmarks.pipeline [--files git-2024-01.mbox.gz ...] [--hosts 1] [--small] [--profile FILE]

The whole system runs as in `make run`: each service and the app's host are separate processes, with default
settings, telemetry and the production locks. Then the same embedder encodes the same texts alone, on the same
machine. The table shows the CPU time of each process, including its child processes except the encoder. The
CPU time of idle processes is a separate column and not part of the ratio to the bare encoder, because a busy
machine takes longer and idles longer. `--small` sends five mails several times to a warm app.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from localcloud import LocalCloud
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.embedding.factory import open_embedder
from shared.models.queries.named_query import UNREPORTED, NamedQuery
from shared.operations.provisioning import provision
from shared.settings.app import Settings, load_settings
from tests.support.cloud import SERVICEBUS_CONFIG
from tests.support.mail_data import WHY_SKIPPED, data_folder, open_archive
from tests.support.services import ROOT, RunningService, start_service

FILES = ("git-2024-01.mbox.gz",)
SERVICES = ("storage", "cosmos", "search", "servicebus", "telemetry")
TIMEOUT_SECONDS = 1800
POLL_SECONDS = 1.0
SMALL_TURNS = 9
IDLE_SECONDS = 10.0
OPEN_ARCHIVES = NamedQuery(
    "open", "archives", "SELECT VALUE COUNT(1) FROM c WHERE c.status NOT IN ('processed', 'partial')"
)
_THREADS = "SELECT VALUE COUNT(1) FROM c WHERE NOT IS_STRING(c.merged_into) AND IS_NUMBER(c.message_count)"
THREADS = NamedQuery("threads", "threads", _THREADS)
UNFINISHED = NamedQuery("unfinished", "threads", f"{_THREADS} AND (c.status != 'processed' OR {UNREPORTED})")
TEXTS = NamedQuery("texts", "chunks", "SELECT VALUE c.text FROM c")


@dataclass
class App:
    """The services and the hosts of the app, each a process."""

    values: dict[str, str]
    running: dict[str, RunningService] = field(default_factory=dict)

    @property
    def hosts(self) -> list[RunningService]:
        return [service for name, service in self.running.items() if name.startswith("functions")]

    def upload(self, name: str, content: bytes, source: str = "git", host: int = 0) -> None:
        address = f"{self.hosts[host].addresses['http']}/api/archives?source={source}&filename={name}"
        request = urllib.request.Request(address, data=content, method="POST")  # noqa: S310 - our own app
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - our own app
            answer.read()

    def cpu(self) -> dict[str, float]:
        """Return the CPU seconds of each process so far, with its children."""
        seconds: dict[str, float] = {}
        for name, service in self.running.items():
            own = psutil.Process(service.process.pid)
            times = own.cpu_times()
            seconds[name] = times.user + times.system + times.children_user + times.children_system
            for child in own.children(recursive=True):
                key = "encoder" if "shared.embedding.process.worker" in child.cmdline() else name
                seconds[key] = seconds.get(key, 0.0) + sum(child.cpu_times()[:2])
        return seconds


@contextmanager
def running_app(folder: Path, *, hosts: int = 1, **more: str) -> Iterator[App]:
    """Run the system with default settings and `more`."""
    with LocalCloud(folder, *SERVICES, config=SERVICEBUS_CONFIG) as cloud:
        app = App(cloud.settings, dict(cloud.services))
        asyncio.run(provision(load_settings(app.values)))
        try:
            for number in range(hosts):
                name = "functions" if not number else f"functions-{number + 1}"
                app.running[name] = start_service(
                    "functions", "--root", str(ROOT), data=folder / name, env={**app.values, **more}
                )
            yield app
        finally:
            for host in app.hosts:
                host.stop(60)
                for stream in (host.process.stdin, host.process.stdout):
                    if stream is not None:
                        stream.close()


async def count(clients: Clients, query: NamedQuery) -> int:
    return sum([int(document) async for document in clients.store.query(query, Session())])  # type: ignore[call-overload]


async def until_reported(clients: Clients, threads: int = 1, poll: float = POLL_SECONDS) -> None:
    """Wait until each archive is parsed, and at least `threads` threads exist, all with a current report."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        await asyncio.sleep(poll)
        if await count(clients, UNFINISHED) or await count(clients, OPEN_ARCHIVES):
            continue
        if await count(clients, THREADS) >= threads:
            return
    raise SystemExit("not every thread was reported in time")


def spent(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: seconds - before.get(name, 0.0) for name, seconds in after.items()}


@dataclass
class Measured:
    seconds: float
    cpu: dict[str, float]
    idle: dict[str, float]  # part of `cpu` that idle processes use
    texts: list[str]


async def measure(app: App, files: list[Path]) -> Measured:
    clients = await Clients.connect(load_settings(app.values))
    try:
        contents = [await asyncio.to_thread(_content, path) for path in files]
        began, before = time.perf_counter(), app.cpu()
        for path, content in zip(files, contents, strict=True):
            await asyncio.to_thread(app.upload, path.name.removesuffix(".gz"), content)
        await until_reported(clients)
        seconds, used = time.perf_counter() - began, spent(before, app.cpu())
        print(f"{await count(clients, THREADS)} threads reported after {seconds:.1f} s")
        idle = {name: rate * seconds for name, rate in (await idle_rates(app)).items()}
        texts = [str(document) async for document in clients.store.query(TEXTS, Session())]
        return Measured(seconds, used, idle, texts)
    finally:
        await clients.close()


async def idle_rates(app: App) -> dict[str, float]:
    """Return the CPU seconds per second of idle processes."""
    before = app.cpu()
    await asyncio.sleep(IDLE_SECONDS)
    return {name: seconds / IDLE_SECONDS for name, seconds in spent(before, app.cpu()).items()}


def _content(path: Path) -> bytes:
    with open_archive(path) as archive:
        return archive.read()


async def encode_alone(settings: Settings, texts: list[str]) -> tuple[float, float]:
    """Return the wall and CPU seconds of the encoder and the process that feeds it."""
    embedder = await open_embedder(settings)
    try:
        await embedder.encode(texts[:32])
        began, before = time.perf_counter(), _cpu_with_children()
        await embedder.encode_each(texts)
        return time.perf_counter() - began, _cpu_with_children() - before
    finally:
        await embedder.close()


def _cpu_with_children() -> float:
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (own, *own.children(recursive=True)))


def run(files: list[Path], hosts: int) -> None:
    with tempfile.TemporaryDirectory(prefix="pipeline-") as folder:
        with running_app(Path(folder), hosts=hosts) as app:
            found = asyncio.run(measure(app, files))
        alone, bare = asyncio.run(encode_alone(load_settings(app.values), found.texts))
    print(f"{len(found.texts)} chunks alone: {alone:.1f} s, {bare:.1f} s of CPU")
    print(f"by the clock {found.seconds / alone:.2f} x")
    print("\n| process | CPU seconds | of these idle | without, of the bare encoder's |\n|---|---|---|---|")
    for name, cpu in sorted(found.cpu.items(), key=lambda process: -process[1]):
        print(_row(name, cpu, found.idle[name], bare))
    others = [name for name in found.cpu if name != "encoder"]
    for label, names in (
        ("the app", [name for name in others if name.startswith("functions")]),
        ("all but the encoder", others),
    ):
        cpu, idle = (sum(column[name] for name in names) for column in (found.cpu, found.idle))
        print(_row(label, cpu, idle, bare), flush=True)


def _row(name: str, cpu: float, idle: float, bare: float) -> str:
    return f"| {name} | {cpu:.2f} | {idle:.2f} | {(cpu - idle) / bare:.3f} |"


def small_archive(turn: int) -> bytes:
    """Return five mails of a thread with unique ids."""
    return b"".join(_mail(turn, number) for number in range(5))


def _mail(turn: int, number: int) -> bytes:
    answer = f"In-Reply-To: <{turn}-0@small.example>\n" if number else ""
    texts = (
        "I propose that we require TLS 1.3.",
        "I support this proposal.",
        "I object. Devices cannot run it.",
    )
    return (
        f"From a@example.org Mon Jan  1 10:0{number}:00 2024\nFrom: Person {number} <p{number}@example.org>\n"
        f"Date: Mon, 1 Jan 2024 10:0{number}:00 +0000\nMessage-ID: <{turn}-{number}@small.example>\n"
        f"{answer}Subject: {'Re: ' if number else ''}Proposal {turn}\n\n{texts[min(number, 2)]}\n\n"
    ).encode()


def run_small() -> None:
    with tempfile.TemporaryDirectory(prefix="pipeline-") as folder, running_app(Path(folder)) as app:
        turns = asyncio.run(measure_small(app))
        rate = asyncio.run(idle_rates(app))["functions"]
    print("\n| turn | seconds | app | encoder | services |\n|---|---|---|---|---|")
    for number, (seconds, used) in enumerate(turns):
        services = sum(cpu for name, cpu in used.items() if name in SERVICES)
        cpu = (used["functions"], used.get("encoder", 0.0), services)
        print(f"| {number} | {seconds:.1f} | {' | '.join(f'{part:.3f}' for part in cpu)} |")
    warm = [(used["functions"], seconds * rate) for seconds, used in turns[2:]]
    cpu, idle = (1000 * statistics.median(column) for column in zip(*warm, strict=True))
    print(f"\nCPU of a warm app: {cpu:.0f} ms, of these {idle:.0f} ms idle")


async def measure_small(app: App) -> list[tuple[float, dict[str, float]]]:
    clients, turns = await Clients.connect(load_settings(app.values)), []
    try:
        for turn in range(SMALL_TURNS):
            began, before = time.perf_counter(), app.cpu()
            await asyncio.to_thread(app.upload, f"small-{turn}.mbox", small_archive(turn))
            await until_reported(clients, turn + 1, poll=0.25)
            turns.append((time.perf_counter() - began, spent(before, app.cpu())))
        return turns
    finally:
        await clients.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description=__doc__)
    parser.add_argument("--files", nargs="+", default=list(FILES))
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="five mails at a time instead")
    options = parser.parse_args()
    data = data_folder()
    if options.small:
        run_small()
    elif data is None:
        sys.exit(WHY_SKIPPED)
    else:
        run([data / name for name in options.files], options.hosts)


if __name__ == "__main__":
    main()
