"""Writes that arrive together share a commit, and none is acknowledged before it."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from localcloud.clock import ManualClock
from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.auth import EMULATOR_KEY
from localcloud.cosmos.queries import Scope
from localcloud.cosmos.server import CosmosService
from localcloud.cosmos.slow_queries import SlowLane
from tests.localcloud.cosmos.raw import headers_for

DOCS = "/dbs/d/colls/c/docs"


@pytest.fixture
async def account(tmp_path: Path) -> AsyncIterator[Account]:
    account = Account(tmp_path, ManualClock())
    account.create_database({"id": "d"}, Throughput())
    account.create_container("d", {"id": "c", "partitionKey": {"paths": ["/pk"]}}, Throughput())
    service = CosmosService(account, host="127.0.0.1", port=0, key=EMULATOR_KEY, rate=0, faults=False)
    account.endpoint = (await service.start())["endpoint"]  # type: ignore[attr-defined] # for these tests
    yield account
    await service.stop()


def create(number: int, text: str = "") -> bytes:
    body = json.dumps({"id": str(number), "pk": "p", "text": text}).encode()
    return request("POST", DOCS, body, {"x-ms-documentdb-partitionkey": '["p"]'})


def request(method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: h", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in {**headers_for(method, path), **headers}.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def exchange(account: Account, *requests: bytes) -> list[tuple[int, Any]]:
    """All requests in one packet; the status and body of each answer, as long as there are any."""
    netloc = urlsplit(account.endpoint).netloc  # type: ignore[attr-defined] # see above
    reader, writer = await asyncio.open_connection(*netloc.split(":"))
    writer.write(b"".join(requests))
    answers = []
    async with asyncio.timeout(20):
        for _ in requests:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answers.append((int(head[9:12]), json.loads(await reader.readexactly(length))))
    writer.close()
    return answers


async def test_writes_that_arrive_together_are_one_commit(account: Account) -> None:
    answers = await exchange(account, *(create(number) for number in range(20)))
    assert [status for status, _ in answers] == [201] * 20
    assert account.store.groups == 1
    await exchange(account, create(20))
    assert account.store.groups == 2
    assert not account.store.group_open


async def test_a_write_that_is_refused_takes_none_of_its_group_with_it(account: Account) -> None:
    answers = await exchange(account, create(1), create(1), create(2))
    assert [status for status, _ in answers] == [201, 409, 201]
    assert account.store.groups == 1
    assert account.store.rows("SELECT id FROM d1 ORDER BY id", ()) == [("1",), ("2",)]


async def test_nothing_of_a_group_is_acknowledged_when_its_commit_fails(
    account: Account, caplog: pytest.LogCaptureFixture
) -> None:
    (pages,) = account.store.execute("PRAGMA page_count").fetchone() or (0,)
    account.store.execute(f"PRAGMA max_page_count = {pages + 40}")  # as if the disk were full
    acknowledged: list[str] = []
    statuses = [201]
    while statuses[-1] == 201:
        first = len(acknowledged)
        answers = await exchange(account, *(create(first + number, "x" * 2000) for number in range(10)))
        statuses = [status for status, _ in answers]
        acknowledged += [body["id"] for status, body in answers if status == 201]
    assert statuses == [500]  # and not one 201 before it, of a write that went with the rest
    assert "database or disk is full" in caplog.text
    reader = account.store.reader()
    assert reader is not None
    assert {found for (found,) in reader.execute("SELECT id FROM d1")} >= set(acknowledged)
    reader.close()
    account.store.execute(f"PRAGMA max_page_count = {pages + 4000}")
    assert (await exchange(account, create(999)))[0][0] == 201


async def test_a_query_in_the_thread_sees_the_writes_that_its_reader_has_seen(account: Account) -> None:
    container = account.container("d", "c")
    key = container.key.of_values(["p"])
    lane = SlowLane(account.store)
    try:
        account.store.begin_group()
        account.documents.create(container, key, {"id": "1", "pk": "p"})
        view = account.replica.view(container)
        work = account.queries.prepare(container, view, Scope(key), "SELECT VALUE c.id FROM c", {})
        asyncio.get_running_loop().call_later(0.05, account.store.end_group)
        assert (await lane.run(work, 10)).items == ['"1"']
    finally:
        lane.close()
