"""Operations on the documents of a container: create, read, upsert, replace, patch and delete."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import apsw
import orjson

from localcloud.clock import Clock
from localcloud.cosmos import errors
from localcloud.cosmos.container import Container, check_ttl
from localcloud.cosmos.keys import PartitionKey
from localcloud.cosmos.patch import apply_patch
from localcloud.cosmos.rids import document_rid, new_etag
from localcloud.cosmos.sessions import Replica, View
from localcloud.cosmos.sql_compiler import Program, compile_query
from localcloud.cosmos.sql_parser import parse_condition
from localcloud.cosmos.store import Row, Store

MAX_DOCUMENT_BYTES = 2 * 1024 * 1024
MAX_NESTING = 128
MAX_ID_LENGTH = 1023
MAX_NAME_LENGTH = 255  # of a database or container
Document = dict[str, Any]
Find = Callable[[str, str, str, int], Row | None]
_FORBIDDEN_IN_ID = re.compile(r"[/\\?#]")


@dataclass(frozen=True)
class Conditions:
    if_match: str | None = None
    if_none_match: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write, as the client sees it."""

    status: int
    row: Row | None
    range: int
    lsn: int


def check_id(value: Any, longest: int = MAX_ID_LENGTH) -> str:
    if not isinstance(value, str) or not value:
        raise errors.bad_request(
            "The input content is invalid because the required properties - 'id; ' - are missing"
        )
    if len(value) > longest or _FORBIDDEN_IN_ID.search(value):
        raise errors.bad_request(
            f"Id contains illegal chars (/ \\ ? #) or is too long. Ensure to provide a unique non-empty "
            f"string less than '{longest + 1 if longest == MAX_ID_LENGTH else longest}' characters."
        )
    return value


def parse_document(body: bytes) -> Document:
    if len(body) > MAX_DOCUMENT_BYTES:
        raise errors.too_large(
            f"Request size is too large: a document has at most {MAX_DOCUMENT_BYTES} bytes"
        )
    document = errors.parse_json(body)
    if not isinstance(document, dict):
        raise errors.bad_request("a document is a JSON object")
    if body.count(b"[") + body.count(b"{") > MAX_NESTING and _nesting(document) > MAX_NESTING:
        raise errors.bad_request(f"a document is nested at most {MAX_NESTING} levels deep")
    return document


def _nesting(value: Any) -> int:
    """Return the depth of a value. Without recursion, because the value comes from the network."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


@dataclass
class Documents:
    """Operations on the documents of every container of a store."""

    store: Store
    replica: Replica
    clock: Clock

    def read(self, container: Container, view: View, doc_id: str, key: PartitionKey) -> Row:
        row = self.store.find(view.table, doc_id, key.text, int(self.clock.now()))
        if row is None:
            raise _no_document(container, doc_id, key)
        return row

    def create(self, container: Container, key: PartitionKey, document: Document) -> Written:
        doc_id = check_id(document.get("id"))
        self._check_key(container, key, document)
        return self._insert(container, key, doc_id, document)

    def upsert(
        self, container: Container, key: PartitionKey, document: Document, conditions: Conditions
    ) -> Written:
        doc_id = check_id(document.get("id"))
        self._check_key(container, key, document)
        row = self._find(container, doc_id, key, self.store.find_head)
        if row is None:
            return self._insert(container, key, doc_id, document)
        _check_conditions(row, conditions)
        return self._update(container, row, document)

    def replace(
        self, container: Container, key: PartitionKey, doc_id: str, document: Document, conditions: Conditions
    ) -> Written:
        check_id(document.get("id"))
        row = self._existing(container, doc_id, key, self.store.find_head)
        self._check_key(container, key, document)
        _check_conditions(row, conditions)
        return self._update(container, row, document)

    def patch(
        self, container: Container, key: PartitionKey, doc_id: str, change: Any, conditions: Conditions
    ) -> Written:
        if isinstance(change, list):
            change = {"operations": change}
        if not isinstance(change, dict):
            raise errors.bad_request("a patch is an object with operations and, if need be, a condition")
        row = self._existing(container, doc_id, key, self.store.find)
        _check_conditions(row, conditions)
        if change.get("condition") is not None:
            self._check_filter(container, row, change["condition"])
        document = orjson.loads(row.body)
        apply_patch(document, change.get("operations"), frozenset({("id",), *container.key.paths}))
        return self._update(container, row, document)

    def delete(self, container: Container, key: PartitionKey, doc_id: str, conditions: Conditions) -> Written:
        row = self._existing(container, doc_id, key, self.store.find_head)
        _check_conditions(row, conditions)
        lsn = container.advance(row.range)
        with self.store.all_or_nothing():
            self._remove(container, row.range, row.k)
        return Written(204, None, row.range, lsn)

    def delete_partition(self, container: Container, key: PartitionKey) -> int:
        """Delete all documents of a partition key and return their range."""
        number = container.ranges.of_epk(key.epk)
        found = self.store.rows(f"SELECT k FROM {container.table} WHERE pk = ?", (key.text,))
        container.advance(number)
        with self.store.all_or_nothing():
            for (k,) in found:
                self._remove(container, number, k)
        return number

    def purge(self, container: Container, limit: int = 500) -> int:
        """Delete expired documents. The change feed does not show these deletions."""
        if container.default_ttl is None:
            return 0
        sql = f"SELECT k, range FROM {container.table} WHERE expires <= ? LIMIT ?"
        found = self.store.rows(sql, (int(self.clock.now()), limit))
        with self.store.all_or_nothing():
            for k, number in found:
                self._remove(container, number, k)
        return len(found)

    def _find(self, container: Container, doc_id: str, key: PartitionKey, find: Find) -> Row | None:
        return find(container.table, doc_id, key.text, int(self.clock.now()))

    def _existing(self, container: Container, doc_id: str, key: PartitionKey, find: Find) -> Row:
        row = self._find(container, doc_id, key, find)
        if row is None:
            raise _no_document(container, doc_id, key)
        return row

    def _check_key(self, container: Container, key: PartitionKey, document: Document) -> None:
        own = container.key.text_in(document)
        if own != key.text:
            raise errors.bad_request(
                f"PartitionKey extracted from document ({own}) doesn't match the one specified in the "
                f"header ({key.text})",
                substatus=1001,
            )

    def _insert(self, container: Container, key: PartitionKey, doc_id: str, document: Document) -> Written:
        number = container.ranges.of_epk(key.epk)
        ts = int(self.clock.now())
        row = self._complete(
            container,
            document,
            Row(container.take_k(), doc_id, key.text, key.epk, number, 0, ts, None, "", ""),
        )
        self._write(container, row, self.store.insert)
        return Written(201, row, number, row.lsn)

    def _update(self, container: Container, old: Row, document: Document) -> Written:
        row = self._complete(container, document, old._replace(id=document["id"], ts=int(self.clock.now())))
        self._write(container, row, self.store.update if row.id == old.id else self.store.rename)
        return Written(200, row, row.range, row.lsn)

    def _complete(self, container: Container, document: Document, row: Row) -> Row:
        """Return the row with the properties that the service adds to a document."""
        if "ttl" in document:
            check_ttl(document["ttl"], "ttl")
        rid = document_rid(container.raw_rid, row.k)
        etag = new_etag()
        for name in ("_rid", "_self", "_etag", "_attachments", "_ts"):
            document.pop(name, None)
        document.update(
            _rid=rid,
            _self=f"{container.self_link}docs/{rid}/",
            _etag=etag,
            _attachments="attachments/",
            _ts=row.ts,
        )
        body = orjson.dumps(document).decode()
        if len(body) > MAX_DOCUMENT_BYTES:
            raise errors.too_large(
                f"Request size is too large: a document has at most {MAX_DOCUMENT_BYTES} bytes"
            )
        return row._replace(
            lsn=container.next_lsn, expires=container.expiry(document, row.ts), etag=etag, body=body
        )

    def _write(self, container: Container, row: Row, write: Any) -> None:
        try:
            write(container.table, row)
        except apsw.ConstraintError:
            # The conflicting document may have expired.
            try:
                if not self.purge(container):
                    raise
                write(container.table, row)
            except apsw.ConstraintError:
                raise errors.conflict(
                    "Entity with the specified id already exists in the system, or it breaks a unique key of "
                    f"the container: {row.id!r} with the partition key {row.pk} in {container.id!r}"
                ) from None
        container.advance(row.range)
        self.replica.record(container, row.range, row.k, row)

    def _remove(self, container: Container, number: int, k: int) -> None:
        self.store.execute(f"DELETE FROM {container.table} WHERE k = ?", (k,))
        container.mark(self.store, number)
        self.replica.record(container, number, k, None)

    def _check_filter(self, container: Container, row: Row, condition: Any) -> None:
        if not isinstance(condition, str):
            raise errors.bad_request("a patch's condition is text: from c where ...")
        program = _condition(condition)
        sql = program.sql_from(container.table, [])
        if not self.store.rows(sql, {**program.bindings({}), "k": row.k}):
            raise errors.precondition_failed("the document does not meet the patch's condition")


@lru_cache(256)
def _condition(text: str) -> Program:
    """Compile a patch condition. Cached, because many patches have the same condition."""
    return compile_query(parse_condition(text), {}, ["d.k = :k"])


def _no_document(container: Container, doc_id: str, key: PartitionKey) -> errors.CosmosError:
    return errors.not_found(f"the document {doc_id!r} with the partition key {key.text} in {container.id!r}")


def _check_conditions(row: Row, conditions: Conditions) -> None:
    wanted, unwanted = conditions.if_match, conditions.if_none_match
    if wanted is not None and wanted not in ("*", row.etag):
        raise errors.precondition_failed(
            f"One of the specified pre-condition is not met: the document's etag is {row.etag}, not {wanted}"
        )
    if unwanted is not None and unwanted in ("*", row.etag):
        raise errors.precondition_failed("One of the specified pre-condition is not met: the document exists")
