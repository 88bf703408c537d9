"""A Cosmos DB account inside the test's process: documents in SQLite, and no network."""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import orjson

from localcloud.clock import Clock
from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.api import Api
from localcloud.cosmos.auth import EMULATOR_KEY, Resource
from localcloud.cosmos.container import Container
from localcloud.cosmos.documents import Conditions
from localcloud.cosmos.errors import CosmosError
from localcloud.cosmos.keys import PartitionKey, RangeMap
from localcloud.cosmos.queries import Page, Scope
from localcloud.cosmos.server import refusal
from localcloud.cosmos.sessions import View, parse_token, session_token
from localcloud.cosmos.store import Row
from localcloud.cosmos.wire import Call
from localcloud.httpd import Request, Response
from localcloud.testing.quick_cosmos import QuickCosmosEngine

QUERY_SECONDS = 60.0
NO_CONDITIONS = Conditions()


class EngineContainer:
    """A container, which raises CosmosEngine.Error."""

    def __init__(self, account: Account, container: Container) -> None:
        self._account, self._container = account, container
        self._keys: dict[str, PartitionKey] = {}
        self._partition = container.body["partitionKey"]["paths"][0][1:]

    @property
    def lsn(self) -> int:
        return self._container.lsns[0]

    def split(self, ranges: int) -> None:
        """Split the container into this number of ranges, with new ids."""
        self._container.ranges, self._container.lsns = RangeMap(ranges), [self._container.lsn] * ranges

    def range_of(self, partition: str) -> int:
        return self._container.ranges.of_epk(self._key(partition).epk)

    def view(self, seen: int) -> View:
        view = self._account.replica.view(self._container)
        view.check({0: seen}, (0,))
        return view

    def primary(self) -> View:
        return self._account.replica.primary(self._container)

    def lsn_of(self, view: View) -> int:
        return view.lsns[0]

    def read(self, view: View, id_: str, partition: str) -> bytes:
        row = self._account.documents.read(self._container, view, id_, self._key(partition))
        return row.body.encode()

    def query(
        self,
        view: View,
        partition: str | None,
        text: str,
        values: Mapping[str, Any],
        max_items: int | None,
        continuation: str | None,
    ) -> Page:
        scope = Scope(self._key(partition) if partition is not None else None)
        query = self._account.queries.prepare(
            self._container, view, scope, text, dict(values), max_items=max_items, continuation=continuation
        )
        return query(self._account.store.connection, QUERY_SECONDS)

    def create(self, document: dict[str, Any]) -> bytes:
        documents, key = self._account.documents, self._key_of(document)
        return _body(documents.create(self._container, key, document).row)

    def upsert(self, document: dict[str, Any]) -> bytes:
        documents, key = self._account.documents, self._key_of(document)
        return _body(documents.upsert(self._container, key, document, NO_CONDITIONS).row)

    def replace(self, id_: str, document: dict[str, Any], etag: str | None) -> bytes:
        documents, key = self._account.documents, self._key_of(document)
        return _body(documents.replace(self._container, key, id_, document, Conditions(etag)).row)

    def patch(self, id_: str, partition: str, change: Mapping[str, Any]) -> bytes:
        documents, key = self._account.documents, self._key(partition)
        return _body(documents.patch(self._container, key, id_, dict(change), NO_CONDITIONS).row)

    def delete(self, id_: str, partition: str, etag: str | None) -> None:
        self._account.documents.delete(self._container, self._key(partition), id_, Conditions(etag))

    def batch(
        self, operations: Sequence[Mapping[str, Any]], partition: str
    ) -> tuple[int, list[dict[str, Any]]]:
        body, key = orjson.dumps(list(operations)), self._key(partition)
        status, results = self._account.batches.run_atomic(self._container, key, body, minimal=True)
        return status, orjson.loads(orjson.dumps(results))  # a read document is a JSON fragment

    def _key(self, value: str) -> PartitionKey:
        key = self._keys.get(value)
        if key is None:
            key = self._keys[value] = self._container.key.of_header(orjson.dumps([value]).decode())
        return key

    def _key_of(self, document: Mapping[str, Any]) -> PartitionKey:
        return self._key(document[self._partition])


def _body(row: Row | None) -> bytes:
    assert row is not None
    return row.body.encode()


class SavedContainer(NamedTuple):
    rows: list[tuple[Any, ...]]
    lsns: list[int]
    lsn: int
    next_k: int


SavedContainers = dict[str, SavedContainer]


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class CosmosEngine:
    """An account with one database. It can be reset, which is cheaper than a new account.

    A container is defined as in the SDK: id, partitionKey, indexingPolicy, defaultTtl.
    """

    Quick: TypeAlias = QuickCosmosEngine
    Page: TypeAlias = Page
    Answer: TypeAlias = Answer
    Error: TypeAlias = CosmosError
    KEY = EMULATOR_KEY

    def __init__(
        self,
        database: str,
        containers: Iterable[Mapping[str, Any]],
        *,
        clock: Clock | None = None,
        ranges: int = 1,
    ) -> None:
        self._clock, self._database = clock, database
        self._account = Account(None, self, ranges=ranges, synchronous="OFF")
        self._api = Api(self._account)
        self._account.create_database({"id": database}, Throughput())
        for definition in containers:
            self._account.create_container(database, dict(definition), Throughput())

    def close(self) -> None:
        self._account.close()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer a request of the REST API, with header names in lower case and without signature check."""
        request = Request(method, target, dict(headers), body)
        call = Call(request, Resource(request.raw_path).parts)
        try:
            self._api.route(call)
            answered = self._api.run(call)
        except CosmosError as error:
            answered = refusal(call, error)
        if not isinstance(answered, Response):
            raise NotImplementedError(f"an account in memory has no slow queries: {target}")
        return Answer(answered.status, dict(answered.headers), answered.body)

    @staticmethod
    @cache
    def token(lsn: int) -> str:
        """Return the session token of a container with one range after this number of writes."""
        return session_token(0, lsn)

    @staticmethod
    @cache
    def lsn(token: str) -> int:
        return parse_token(token)[0]

    def now(self) -> float:
        return self._clock.now() if self._clock is not None else time.time()

    @property
    def lag(self) -> float:
        return self._account.replica.lag

    def set_lag(self, seconds: float) -> None:
        self._account.set_lag(seconds)

    def container(self, name: str) -> EngineContainer:
        return EngineContainer(self._account, self._account.container(self._database, name))

    def restart(self, clock: Clock, saved: SavedContainers | None) -> None:
        """Reset to the initial or a saved state."""
        self._clock = clock
        self._account.set_lag(0)
        self._account.store.execute("DELETE FROM marks")
        for container in self._account.containers:
            kept = saved.get(container.table) if saved else None
            self._fill(container, kept or SavedContainer([], [0] * len(container.lsns), 0, 1))

    def _fill(self, container: Container, saved: SavedContainer) -> None:
        store = self._account.store
        store.execute(f"DELETE FROM {container.table}")
        if saved.rows:
            values = ",".join("?" * len(saved.rows[0]))
            store.connection.executemany(f"INSERT INTO {container.table} VALUES ({values})", saved.rows)
        container.lsns[:] = saved.lsns
        container.lsn, container.next_k = saved.lsn, saved.next_k

    def save(self) -> SavedContainers:
        return {
            container.table: SavedContainer(
                self._account.store.rows(f"SELECT * FROM {container.table}", ()),
                list(container.lsns),
                container.lsn,
                container.next_k,
            )
            for container in self._account.containers
        }

    def rows(self, container: str) -> list[dict[str, Any]]:
        """Return all documents without the network."""
        table = self._account.container(self._database, container).table
        found = self._account.store.rows(f"SELECT json(body) FROM {table} ORDER BY id, pk", ())
        return [orjson.loads(body) for (body,) in found]
