"""Benchmark of the local Cosmos DB: `python -m benchmarks.cosmos`.

Requests go over raw sockets to one server process, so that the client costs little. The SDK is measured for
transactional batches, which the app uses most. On a busy machine, compare server CPU.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient

from localcloud.cosmos.auth import EMULATOR_KEY
from tests.cosmos.raw import headers_for
from tests.support.services import RunningService, running_service

CONNECTIONS = 16
DOCS = "/dbs/bench/colls/c/docs"
Request = tuple[str, str, bytes, dict[str, str]]


def encode(request: Request, signed: dict[tuple[str, str], dict[str, str]]) -> bytes:
    method, path, body, headers = request
    if (method, path) not in signed:
        signed[method, path] = headers_for(method, path)
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in {**signed[method, path], **headers}.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def exchange(endpoint: str, wire: list[bytes]) -> None:
    """Send requests one after the other, and check that each succeeds."""
    host, _, port = urlsplit(endpoint).netloc.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for request in wire:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head[9:10] == b"2", head
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
    writer.close()


class Bench:
    def __init__(self, service: RunningService) -> None:
        self.endpoint = service.addresses["endpoint"]
        self.server = psutil.Process(service.process.pid)

    def cpu(self) -> float:
        times = self.server.cpu_times()
        return float(times.user + times.system)

    async def raw(self, make: Callable[[int], Request], count: int) -> tuple[float, float]:
        """Return the operations per second, and the server CPU in milliseconds per operation."""
        signed: dict[tuple[str, str], dict[str, str]] = {}
        wire = [encode(make(number), signed) for number in range(count)]
        cpu, started = self.cpu(), time.perf_counter()
        await asyncio.gather(
            *(exchange(self.endpoint, wire[part::CONNECTIONS]) for part in range(CONNECTIONS))
        )
        return count / (time.perf_counter() - started), (self.cpu() - cpu) / count * 1000


def document(number: int) -> dict[str, object]:
    text = "lorem ipsum " * 30
    return {
        "id": f"i{number}",
        "pk": f"p{number % 1000}",
        "n": number,
        "group": f"g{number // 10}",
        "text": text,
    }


def key_of(number: int) -> dict[str, str]:
    return {"x-ms-documentdb-partitionkey": f'["p{number % 1000}"]'}


def create(number: int) -> Request:
    return "POST", DOCS, json.dumps(document(number)).encode(), key_of(number)


def read(number: int) -> Request:
    return "GET", f"{DOCS}/i{number}", b"", key_of(number)


def upsert(number: int) -> Request:
    headers = {**key_of(number), "x-ms-documentdb-is-upsert": "true"}
    return "POST", DOCS, json.dumps(document(number)).encode(), headers


def query(number: int) -> Request:
    parameters = [{"name": "@g", "value": f"g{number}"}]
    body = {"query": "SELECT * FROM c WHERE c.group = @g OFFSET 0 LIMIT 1", "parameters": parameters}
    headers = {"x-ms-documentdb-isquery": "true", "x-ms-documentdb-partitionkeyrangeid": "0"}
    return "POST", DOCS, json.dumps(body).encode(), headers


async def batches(endpoint: str, first: int, count: int) -> float:
    """Return the items per second of the SDK's transactional batches of 100."""
    async with CosmosClient(endpoint, EMULATOR_KEY) as client:
        container = client.get_database_client("bench").get_container_client("c")

        async def write(start: int) -> None:
            items = [{**document(number), "pk": "batch"} for number in range(start, start + 100)]
            await container.execute_item_batch([("upsert", (item,)) for item in items], "batch")

        await write(first)
        started = time.perf_counter()
        for group in range(first, first + count, 400):
            await asyncio.gather(*(write(start) for start in range(group, group + 400, 100)))
        return count / (time.perf_counter() - started)


def show(name: str, value: float, unit: str, note: str = "") -> None:
    print(f"{name:44} {value:10.2f} {unit:10} {note}")


async def fill(bench: Bench, first: int, last: int) -> None:
    for start in range(first, last, 10_000):
        await bench.raw(lambda number, start=start: create(start + number), min(10_000, last - start))  # type: ignore[misc]


async def measure(service: RunningService) -> None:
    bench = Bench(service)
    async with CosmosClient(bench.endpoint, EMULATOR_KEY) as client:
        database = await client.create_database("bench")
        await database.create_container("c", PartitionKey("/pk"))
    await bench.raw(create, 2000)
    created, create_cpu = await bench.raw(lambda n: create(n + 2000), 8000)
    show("creates", created, "/s", f"server CPU {create_cpu:.3f} ms each")
    small_read, read_cpu = await bench.raw(lambda n: read(n % 10_000), 8000)
    show("point reads at 10,000 documents", small_read, "/s", f"server CPU {read_cpu:.3f} ms each")
    _, small_upsert = await bench.raw(lambda n: upsert(n % 10_000), 4000)
    show("upserts at 10,000 documents: server CPU", small_upsert, "ms")
    show("items through SDK batches of 100", await batches(bench.endpoint, 0, 8000), "/s")
    await fill(bench, 10_000, 100_000)
    _, large_read = await bench.raw(lambda n: read(n * 7 % 100_000), 8000)
    _, large_upsert = await bench.raw(lambda n: upsert(n * 7 % 100_000), 4000)
    show("point reads, 100,000 over 10,000 documents", large_read / read_cpu, "x", f"{large_read:.3f} ms")
    show("upserts, 100,000 over 10,000 documents", large_upsert / small_upsert, "x", f"{large_upsert:.3f} ms")
    await bench.raw(query, 32)
    _, query_cpu = await bench.raw(lambda n: query(n % 10_000), 4000)
    show("indexed equality query over a point read", query_cpu / large_read, "x", f"{query_cpu:.3f} ms")


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as scratch,
        running_service("cosmos", data=Path(scratch) / "data") as service,
    ):
        asyncio.run(measure(service))


if __name__ == "__main__":
    main()
