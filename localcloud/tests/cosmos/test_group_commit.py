"""Concurrent writes share a commit, and are acknowledged only after it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.auth import EMULATOR_KEY
from localcloud.cosmos.queries import Scope
from localcloud.cosmos.server import CosmosService
from localcloud.cosmos.slow_queries import SlowQueryThread
from tests.cosmos.raw import headers_for
from tests.support.clock import ManualClock
from tests.support.services import start_service

DOCS = "/dbs/d/colls/c/docs"


@pytest.fixture
def account(tmp_path: Path) -> Account:
    account = Account(tmp_path, ManualClock())
    account.create_database({"id": "d"}, Throughput())
    account.create_container("d", {"id": "c", "partitionKey": {"paths": ["/pk"]}}, Throughput())
    return account


@pytest.fixture
async def endpoint(account: Account) -> AsyncIterator[str]:
    service = CosmosService(account, host="127.0.0.1", port=0, key=EMULATOR_KEY, rate=0, faults=False)
    yield (await service.start())["endpoint"]
    await service.stop()


def create(number: int, text: str = "") -> bytes:
    body = json.dumps({"id": str(number), "pk": "p", "text": text}).encode()
    return request("POST", DOCS, body)


def read(number: int) -> bytes:
    return request("GET", f"{DOCS}/{number}", b"")


def request(method: str, path: str, body: bytes) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: h", f"Content-Length: {len(body)}"]
    headers = {**headers_for(method, path), "x-ms-documentdb-partitionkey": '["p"]'}
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def exchange(endpoint: str, *requests: bytes) -> list[tuple[int, Any]]:
    """Send all requests in one packet.

    Return the status and body of each response until the connection ends.
    """
    reader, writer = await asyncio.open_connection(*urlsplit(endpoint).netloc.split(":"))
    writer.write(b"".join(requests))
    answers = []
    async with asyncio.timeout(20):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            for _ in requests:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                answers.append((int(head[9:12]), json.loads(await reader.readexactly(length))))
    writer.close()
    return answers


async def test_writes_that_arrive_together_are_one_commit(account: Account, endpoint: str) -> None:
    answers = await exchange(endpoint, *(create(number) for number in range(20)))
    assert [status for status, _ in answers] == [201] * 20
    assert account.store.groups == 1
    await exchange(endpoint, create(20))
    assert account.store.groups == 2
    assert not account.store.group_open


async def test_a_write_that_is_refused_takes_none_of_its_group_with_it(
    account: Account, endpoint: str
) -> None:
    answers = await exchange(endpoint, create(1), create(1), create(2))
    assert [status for status, _ in answers] == [201, 409, 201]
    assert account.store.groups == 1
    assert account.store.rows("SELECT id FROM d1 ORDER BY id", ()) == [("1",), ("2",)]


async def test_nothing_of_a_group_is_acknowledged_when_its_commit_fails(
    account: Account, endpoint: str, caplog: pytest.LogCaptureFixture
) -> None:
    (pages,) = account.store.execute("PRAGMA page_count").fetchone() or (0,)
    account.store.execute(f"PRAGMA max_page_count = {pages + 40}")  # simulates a full disk
    acknowledged: list[str] = []
    statuses = [201]
    while statuses[-1] == 201:
        first = len(acknowledged)
        answers = await exchange(endpoint, *(create(first + number, "x" * 2000) for number in range(10)))
        statuses = [status for status, _ in answers]
        acknowledged += [body["id"] for status, body in answers if status == 201]
    assert statuses == [500]  # and no 201 before it, for a write of the same commit
    assert "database or disk is full" in caplog.text
    reader = account.store.reader()
    assert reader is not None
    assert {found for (found,) in reader.execute("SELECT id FROM d1")} >= set(acknowledged)
    reader.close()
    account.store.execute(f"PRAGMA max_page_count = {pages + 4000}")
    assert (await exchange(endpoint, create(999)))[0][0] == 201


async def test_a_query_in_the_thread_sees_the_writes_that_its_reader_has_seen(account: Account) -> None:
    container = account.container("d", "c")
    key = container.key.of_values(["p"])
    lane = SlowQueryThread(account.store)
    try:
        account.store.begin_group()
        account.documents.create(container, key, {"id": "1", "pk": "p"})
        view = account.replica.view(container)
        work = account.queries.prepare(container, view, Scope(key), "SELECT VALUE c.id FROM c", {})
        asyncio.get_running_loop().call_later(0.05, account.store.end_group)
        assert (await lane.run(work, 10)).items == ['"1"']
    finally:
        lane.close()
        account.close()


@pytest.mark.slow
async def test_no_acknowledged_operation_is_lost_over_many_kills(tmp_path: Path) -> None:
    told: set[str] = set()

    async def write_and_read(endpoint: str, first: int) -> None:
        for number in range(first, first + 1_000_000, 3):
            asked = (create(number), create(number + 1), create(number + 2), read(number + 1))
            try:
                answers = await exchange(endpoint, *asked)
            except OSError:
                return
            told.update(body["id"] for status, body in answers if status in {200, 201})

    for kill in range(6):
        service = await asyncio.to_thread(start_service, "cosmos", data=tmp_path / "data")
        endpoint = service.addresses["endpoint"]
        if not kill:
            database = CosmosClient(endpoint, EMULATOR_KEY).create_database("d")
            database.create_container("c", PartitionKey("/pk"))
        before = len(told)
        writers = [asyncio.create_task(write_and_read(endpoint, (kill * 20 + n) * 10**6)) for n in range(20)]
        async with asyncio.timeout(60):
            while len(told) < before + 300 + kill * 40:  # noqa: ASYNC110 - a set has no event
                await asyncio.sleep(0.01)
        service.kill()
        await asyncio.gather(*writers)
        for stream in (service.process.stdin, service.process.stdout):
            assert stream is not None
            stream.close()
    account = Account(tmp_path / "data", ManualClock())
    found = {stored for (stored,) in account.store.rows("SELECT id FROM d1", ())}
    account.close()
    assert told <= found
