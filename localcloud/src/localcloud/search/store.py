"""The stored documents: SQLite in WAL mode, with one writer thread and a connection for each reading thread.

A replaced or deleted document stays until no search can see it. `superseded` is the time of the change.
Rowids are never reused, so a rowid permanently identifies a version of a document.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from localcloud.search.schema import Schema

_SCHEMA = """
create table if not exists indexes (
    id integer primary key autoincrement, name text unique not null, definition blob not null,
    etag text not null);
create table if not exists aliases (name text primary key, target text not null, etag text not null);
"""
_DOCUMENTS = """
create table if not exists {table} (
    id integer primary key autoincrement, key text not null, body blob not null, vectors blob not null,
    superseded real);
create unique index if not exists {table}_key on {table} (key) where superseded is null;
create index if not exists {table}_superseded on {table} (superseded) where superseded is not null;
"""
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class StoredDocument:
    rowid: int
    key: str
    body: bytes
    vectors: bytes


def encode(schema: Schema, document: dict[str, Any]) -> tuple[bytes, bytes]:
    """Encode a document as JSON, with vectors as offsets in the second value."""
    vectors = bytearray()
    plain = dict(document)
    for field in schema.vector_fields:
        if plain.get(field.name) is not None:
            vector = plain[field.name]
            plain[field.name] = len(vectors)
            vectors += vector.tobytes()
    return orjson.dumps(plain), bytes(vectors)


def decode(schema: Schema, body: bytes, vectors: bytes) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(body)
    for field in schema.vector_fields:
        if document.get(field.name) is not None:
            offset = document[field.name]
            document[field.name] = np.frombuffer(vectors, np.float32, field.dimensions, offset)
    return document


def _table(index: int) -> str:
    return f"documents_{index:d}"


class Store:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._local = threading.local()
        self._writer = self._connect()
        self._writer.executescript(_SCHEMA)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None, timeout=30)
        connection.execute("pragma journal_mode = wal")
        # In WAL mode, this survives a killed process but not a power failure: acceptable for a development
        # server.
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma wal_autocheckpoint = 8000")
        with self._lock:
            self._connections.append(connection)
        return connection

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._writer.execute("begin immediate")
        try:
            yield self._writer
        except BaseException:
            self._writer.execute("rollback")
            raise
        self._writer.execute("commit")

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    # indexes and aliases

    def indexes(self) -> list[tuple[int, dict[str, Any], str]]:
        rows = self._writer.execute("select id, definition, etag from indexes order by id")
        return [(number, orjson.loads(definition), etag) for number, definition, etag in rows]

    def add_index(self, name: str, definition: dict[str, Any], etag: str) -> int:
        with self._transaction() as connection:
            cursor = connection.execute(
                "insert into indexes (name, definition, etag) values (?, ?, ?)",
                (name, orjson.dumps(definition), etag),
            )
            number = int(cursor.lastrowid or 0)
            for statement in _DOCUMENTS.format(table=_table(number)).split(";\n"):
                connection.execute(statement)
        return number

    def update_index(self, number: int, definition: dict[str, Any], etag: str) -> None:
        values = (orjson.dumps(definition), etag, number)
        self._writer.execute("update indexes set definition = ?, etag = ? where id = ?", values)

    def drop_index(self, number: int) -> None:
        with self._transaction() as connection:
            connection.execute("delete from indexes where id = ?", (number,))
            connection.execute(f"drop table {_table(number)}")

    def aliases(self) -> list[tuple[str, str, str]]:
        return self._writer.execute("select name, target, etag from aliases").fetchall()

    def put_alias(self, name: str, target: str, etag: str) -> None:
        self._writer.execute("insert or replace into aliases values (?, ?, ?)", (name, target, etag))

    def drop_alias(self, name: str) -> None:
        self._writer.execute("delete from aliases where name = ?", (name,))

    # documents

    def current_rowids(self, index: int, keys: list[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for chunk in _chunks(keys):
            marks = ",".join("?" * len(chunk))
            query = f"select key, id from {_table(index)} where superseded is null and key in ({marks})"  # noqa: S608 - a number
            found.update(self._writer.execute(query, chunk).fetchall())
        return found

    def read(self, index: int, rowids: list[int]) -> dict[int, StoredDocument]:
        """Return documents by rowid. Any thread may call this."""
        found = {}
        for chunk in _chunks(rowids):
            marks = ",".join("?" * len(chunk))
            query = f"select id, key, body, vectors from {_table(index)} where id in ({marks})"  # noqa: S608 - a number
            for row in self._reader().execute(query, chunk):
                found[row[0]] = StoredDocument(*row)
        return found

    def live_rowids(self, index: int) -> NDArray[np.int64]:
        query = f"select id from {_table(index)} where superseded is null order by id"  # noqa: S608 - a number
        return np.fromiter((row[0] for row in self._writer.execute(query)), dtype=np.int64)

    def last_rowid(self, index: int) -> int:
        query = "select seq from sqlite_sequence where name = ?"
        row = self._writer.execute(query, (_table(index),)).fetchone()
        return int(row[0]) if row else 0

    def write(
        self, index: int, documents: Iterable[StoredDocument], removed: list[int], now: float, forget: float
    ) -> None:
        """Write a batch: mark replaced and deleted documents, insert new ones, and delete invisible ones."""
        table = _table(index)
        with self._transaction() as connection:
            connection.execute(f"delete from {table} where superseded < ?", (forget,))  # noqa: S608 - a number
            connection.executemany(
                f"update {table} set superseded = ? where id = ?",  # noqa: S608 - a number
                [(now, rowid) for rowid in removed],
            )
            connection.executemany(
                f"insert into {table} (id, key, body, vectors) values (?, ?, ?, ?)",  # noqa: S608 - a number
                [(item.rowid, item.key, item.body, item.vectors) for item in documents],
            )


def _chunks(values: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
