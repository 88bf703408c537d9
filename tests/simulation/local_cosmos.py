"""The engine of the local Cosmos DB, as it is: documents in SQLite, queries by its own SQL."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from localcloud.clock import Clock
from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.container import Container
from localcloud.cosmos.documents import Conditions
from localcloud.cosmos.keys import PartitionKey
from localcloud.cosmos.queries import Page, Scope
from localcloud.cosmos.sessions import View
from localcloud.cosmos.store import Row
from shared.documents.containers import CONTAINERS

DATABASE = "consensus"
QUERY_SECONDS = 60.0
NO_CONDITIONS = Conditions()


class LocalContainer:
    def __init__(self, account: Account, container: Container) -> None:
        self._account, self._container = account, container
        self._keys: dict[str, PartitionKey] = {}
        self._partition = container.body["partitionKey"]["paths"][0][1:]

    @property
    def lsn(self) -> int:
        return self._container.lsns[0]

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
        body = orjson.dumps(list(operations))
        return self._account.batches.run_atomic(self._container, self._key(partition), body, minimal=True)

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


class LocalServer:
    """The account. One serves all runs of a process: to empty it is cheaper than to make another."""

    def __init__(self) -> None:
        self._clock: Clock | None = None
        self._account = self.account = Account(None, self, synchronous="OFF")
        self._account.create_database({"id": DATABASE}, Throughput())
        for spec in CONTAINERS.values():
            definition: dict[str, Any] = {
                "id": spec.name,
                "partitionKey": {"paths": [spec.partition_path], "kind": "Hash", "version": 2},
                "indexingPolicy": spec.indexing_policy(),
            }
            if spec.default_ttl is not None:
                definition["defaultTtl"] = spec.default_ttl
            self._account.create_container(DATABASE, definition, Throughput())

    def now(self) -> float:
        return self._clock.now() if self._clock is not None else 0.0

    @property
    def lag(self) -> float:
        return self._account.replica.lag

    def set_lag(self, seconds: float) -> None:
        self._account.set_lag(seconds)

    def container(self, name: str) -> LocalContainer:
        return LocalContainer(self._account, self._account.container(DATABASE, name))

    def restart(self, clock: Clock, saved: SavedContainers | None) -> None:
        """As if it were new, or as it was saved."""
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
        """Every document, past the network."""
        table = self._account.container(DATABASE, container).table
        found = self._account.store.rows(f"SELECT json(body) FROM {table} ORDER BY id, pk", ())
        return [orjson.loads(body) for (body,) in found]
