"""Benchmark of the Functions dev host against a bare ASGI server: `python -m benchmarks.host`.

A no-op HTTP function, async and sync, is compared with a trivial ASGI app on uvicorn (httptools, uvloop). The
servers are separate processes. Measurements alternate between them, so that other load affects all equally.
Requests per CPU second of the server process are the more stable measure.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import httptools
import psutil
import uvloop

from tests.support.services import RunningService, running_service

APP = """
import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="async-noop", methods=["GET"])
async def async_noop(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("ok")


@app.route(route="sync-noop", methods=["GET"])
def sync_noop(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("ok")
"""

BARE = """
import socket
import uvicorn

HEADERS = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"2")]


async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": b"ok"})


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(
    app, loop="uvloop", http="httptools", ws="none", lifespan="off", access_log=False, log_level="error",
    proxy_headers=False, server_header=False,
)
uvicorn.Server(config).run(sockets=[listener])
"""


@dataclass
class Target:
    name: str
    port: int
    path: str
    process: psutil.Process
    rates: list[float] = field(default_factory=list)
    cpu_rates: list[float] = field(default_factory=list)


class _Client(asyncio.Protocol):
    """A keep-alive connection that sends the next request as soon as the previous one is answered."""

    def __init__(self, request: bytes, closed: asyncio.Future[None]) -> None:
        self._request = request
        self._closed = closed
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport
        self.answered = 0
        self.running = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Uvloop's transports do not inherit from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() != 200:
            raise AssertionError(f"status {self._parser.get_status_code()}")
        self.answered += 1
        if self.running:
            self._transport.write(self._request)
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if not self._closed.done():
            self._closed.set_result(None)


async def _load(target: Target, seconds: float, connections: int) -> None:
    loop = asyncio.get_running_loop()
    request = f"GET {target.path} HTTP/1.1\r\nHost: localhost:{target.port}\r\n\r\n".encode()
    ends = [loop.create_future() for _ in range(connections)]
    cpu, started = _cpu_seconds(target.process), time.perf_counter()
    clients = [
        (await loop.create_connection(lambda end=end: _Client(request, end), "127.0.0.1", target.port))[1]  # type: ignore[misc] # mypy cannot infer a lambda with a default
        for end in ends
    ]
    await asyncio.sleep(seconds)
    for client in clients:
        client.running = False
    await asyncio.wait(ends, timeout=10)
    elapsed, used = time.perf_counter() - started, _cpu_seconds(target.process) - cpu
    answered = sum(client.answered for client in clients)
    target.rates.append(answered / elapsed)
    target.cpu_rates.append(answered / used)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def _bare_server(folder: Path) -> Iterator[Target]:
    script = folder / "bare.py"
    script.write_text(BARE, encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Target("bare uvicorn", port, "/", psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _functions(service: RunningService, label: str) -> list[Target]:
    port = int(service.addresses["http"].rpartition(":")[2])
    process = psutil.Process(service.process.pid)
    return [
        Target(f"async function{label}", port, "/api/async-noop", process),
        Target(f"sync function{label}", port, "/api/sync-noop", process),
    ]


def _write_app(folder: Path) -> Path:
    root = folder / "app"
    root.mkdir()
    (root / "function_app.py").write_text(APP, encoding="utf-8")
    (root / "host.json").write_text('{"version": "2.0"}', encoding="utf-8")
    return root


def _print(targets: list[Target]) -> None:
    bare = targets[0]
    print(f"{'server':<28}{'requests/s':>12}{'ratio':>8}{'requests/CPU s':>16}{'ratio':>8}")
    for target in targets:
        rate, cpu_rate = statistics.median(target.rates), statistics.median(target.cpu_rates)
        of_bare = rate / statistics.median(bare.rates)
        cpu_of_bare = cpu_rate / statistics.median(bare.cpu_rates)
        print(f"{target.name:<28}{rate:>12,.0f}{of_bare:>8.2f}{cpu_rate:>16,.0f}{cpu_of_bare:>8.2f}")


async def _measure(targets: list[Target], rounds: int, seconds: float, connections: int) -> None:
    for target in targets:
        await _load(target, 0.3, connections)  # warm up
        target.rates.clear()
        target.cpu_rates.clear()
    for _ in range(rounds):
        for target in targets:
            await _load(target, seconds, connections)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each server in each round")
    parser.add_argument("--connections", type=int, default=32)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = str(_write_app(folder))
        module = "functions"
        with (
            _bare_server(folder) as bare,
            running_service(module, "--root", root, "--log-level", "WARNING", data=folder / "quiet") as quiet,
            running_service(module, "--root", root, data=folder / "logging") as logging,
        ):
            targets = [bare, *_functions(quiet, ""), *_functions(logging, ", with its log")]
            uvloop.run(_measure(targets, arguments.rounds, arguments.seconds, arguments.connections))
    _print(targets)


if __name__ == "__main__":
    main()
