"""A Cosmos DB of dictionaries, for tests that need speed more than full SQL."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from localcloud.clock import Clock
from localcloud.cosmos.errors import (
    CosmosError,
    conflict,
    not_found,
    precondition_failed,
    session_not_available,
)
from localcloud.cosmos.patch import apply_patch
from localcloud.cosmos.queries import Page
from localcloud.testing.quick_sql import compiled, meets

Key = tuple[str, str]  # id and partition
BAD, CREATED, OK = 207, 201, 200
FAILED_DEPENDENCY = {"statusCode": 424}


class Stored(NamedTuple):
    body: bytes
    fields: dict[str, Any]  # immutable: a write creates another
    etag: str


Documents = dict[Key, Stored]


class View(NamedTuple):
    documents: Documents
    lsn: int


class _Change(NamedTuple):
    due: float
    lsn: int
    key: Key
    stored: Stored | None  # None: deleted


class QuickContainer:
    def __init__(self, server: "QuickCosmosEngine", name: str, partition_path: str) -> None:
        self._server, self.name = server, name
        self._partition = partition_path.removeprefix("/")
        self._fixed = frozenset({("id",), (self._partition,)})
        self.documents: Documents = {}
        self.lsn = 0
        self._replica: Documents = {}
        self._replica_lsn = 0
        self._pending: deque[_Change] = deque()

    def restore(self, documents: Documents, lsn: int) -> None:
        self.documents, self.lsn = dict(documents), lsn

    def start_lag(self) -> None:
        self._replica, self._replica_lsn = dict(self.documents), self.lsn
        self._pending.clear()

    # reading

    def view(self, seen: int) -> View:
        """Return the replica's data. Raise an error if it is older than the session's last write."""
        if not self._server.lag:
            return self.primary()
        now = self._server.now()
        while self._pending and self._pending[0].due <= now:
            self._apply(self._pending.popleft())
        if seen > self._replica_lsn:
            raise session_not_available()
        return View(self._replica, self._replica_lsn)

    def primary(self) -> View:
        return View(self.documents, self.lsn)

    def lsn_of(self, view: View) -> int:
        return view.lsn

    def _apply(self, change: _Change) -> None:
        self._replica_lsn = max(self._replica_lsn, change.lsn)
        if change.stored is None:
            self._replica.pop(change.key, None)
        else:
            self._replica[change.key] = change.stored

    def read(self, view: View, id_: str, partition: str) -> bytes:
        return self._existing(view.documents, (id_, partition)).body

    def query(
        self,
        view: View,
        partition: str | None,
        text: str,
        values: Mapping[str, Any],
        max_items: int | None,
        continuation: str | None,
    ) -> Page:
        documents = [
            stored.fields
            for (_, place), stored in view.documents.items()
            if partition is None or place == partition
        ]
        found = compiled(text).run(documents, values)
        start = int(continuation or 0)
        end = start + (max_items or len(found))
        shown = [orjson.dumps(item).decode() for item in found[start:end]]
        return Page(shown, str(end) if end < len(found) else None)

    def _existing(self, documents: Documents, key: Key) -> Stored:
        stored = documents.get(key)
        if stored is None:
            raise not_found(f"the document {key[0]!r} in {self.name!r}")
        return stored

    # writing

    def create(self, document: dict[str, Any]) -> bytes:
        key = self._key(document)
        if key in self.documents:
            raise conflict(f"the document {key[0]!r} in {self.name!r} exists already")
        return self._written(key, document)

    def upsert(self, document: dict[str, Any]) -> bytes:
        return self._written(self._key(document), document)

    def replace(self, id_: str, document: dict[str, Any], etag: str | None) -> bytes:
        key = (id_, str(document[self._partition]))
        self._check(self._existing(self.documents, key), etag)
        return self._written(key, document)

    def patch(self, id_: str, partition: str, change: Mapping[str, Any], etag: str | None = None) -> bytes:
        stored = self._existing(self.documents, (id_, partition))
        self._check(stored, etag)
        condition = change.get("condition")
        if condition is not None and not meets(stored.fields, condition):
            raise precondition_failed("the document does not meet the patch's condition")
        document = orjson.loads(stored.body)
        apply_patch(document, list(change["operations"]), self._fixed)
        return self._written((id_, partition), document)

    def delete(self, id_: str, partition: str, etag: str | None) -> None:
        self._check(self._existing(self.documents, (id_, partition)), etag)
        self._change((id_, partition), None)

    def batch(
        self, operations: Sequence[Mapping[str, Any]], partition: str
    ) -> tuple[int, list[dict[str, Any]]]:
        """Run all operations or none, as one write."""
        before, lsn, waiting = dict(self.documents), self.lsn, len(self._pending)
        results: list[dict[str, Any]] = []
        for operation in operations:
            self.lsn = lsn
            try:
                results.append(self._step(operation, partition))
            except CosmosError as error:
                self.documents, self.lsn = before, lsn
                while len(self._pending) > waiting:
                    self._pending.pop()
                failed = {"statusCode": error.status}
                others = len(operations) - len(results) - 1
                return BAD, [*[FAILED_DEPENDENCY] * len(results), failed, *[FAILED_DEPENDENCY] * others]
        return OK, results

    def _step(self, operation: Mapping[str, Any], partition: str) -> dict[str, Any]:
        body: Any = operation.get("resourceBody")
        id_ = str(operation.get("id"))
        match operation["operationType"]:
            case "Create":
                self.create(body)
            case "Upsert":
                self.upsert(body)
            case "Replace":
                self.replace(id_, body, operation.get("ifMatch"))
            case "Patch":
                self.patch(id_, partition, body, operation.get("ifMatch"))
            case "Delete":
                self.delete(id_, partition, operation.get("ifMatch"))
            case "Read":
                found = self._existing(self.documents, (id_, partition))
                return {"statusCode": OK, "eTag": found.etag, "resourceBody": orjson.loads(found.body)}
            case other:
                raise NotImplementedError(other)
        written = self.documents.get((str(body["id"]) if id_ == "None" else id_, partition))
        return {"statusCode": OK, **({"eTag": written.etag} if written is not None else {})}

    def _key(self, document: Mapping[str, Any]) -> Key:
        return document["id"], document[self._partition]

    @staticmethod
    def _check(stored: Stored, etag: str | None) -> None:
        if etag is not None and etag != stored.etag:
            raise precondition_failed(f"the document's etag is {stored.etag}, not {etag}")

    def _written(self, key: Key, document: dict[str, Any]) -> bytes:
        etag = self._server.new_etag()
        document["_etag"], document["_ts"] = etag, int(self._server.now())
        body = orjson.dumps(document)
        self._change(key, Stored(body, orjson.loads(body), etag))
        return body

    def _change(self, key: Key, stored: Stored | None) -> None:
        if stored is None:
            del self.documents[key]
        else:
            self.documents[key] = stored
        self.lsn += 1
        if self._server.lag:
            self._pending.append(_Change(self._server.now() + self._server.lag, self.lsn, key, stored))


SavedDocuments = dict[str, tuple[Documents, int]]


class QuickCosmosEngine:
    """A CosmosEngine whose queries are Python functions. It rejects queries that they do not support."""

    def __init__(self, containers: Iterable[Mapping[str, Any]]) -> None:
        self._clock: Clock | None = None
        self._etags = 0
        self.lag = 0.0
        self._containers = {
            definition["id"]: QuickContainer(self, definition["id"], definition["partitionKey"]["paths"][0])
            for definition in containers
        }

    def now(self) -> float:
        return self._clock.now() if self._clock is not None else 0.0

    def new_etag(self) -> str:
        self._etags += 1
        return f'"{self._etags}"'

    def container(self, name: str) -> QuickContainer:
        return self._containers[name]

    def set_lag(self, seconds: float) -> None:
        if seconds and not self.lag:
            for container in self._containers.values():
                container.start_lag()
        self.lag = seconds

    def restart(self, clock: Clock | None, saved: SavedDocuments | None) -> None:
        """Reset to the initial or a saved state.

        Without a clock, it cannot be used until the next restart.
        """
        self._clock, self.lag = clock, 0.0
        for name, container in self._containers.items():
            container.restore(*(saved or {}).get(name, ({}, 0)))

    def save(self) -> SavedDocuments:
        return {
            name: (dict(container.documents), container.lsn) for name, container in self._containers.items()
        }

    def rows(self, container: str) -> list[dict[str, Any]]:
        """Return all documents without the network. The caller must not change them."""
        documents = self._containers[container].documents
        return [documents[key].fields for key in sorted(documents)]
