"""The SQLite database of an account: its files, its tables and the rows of its containers."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import apsw

from localcloud.cosmos.sql_functions import register_functions
from localcloud.cosmos.sql_values import register_values

_SCHEMA = """
CREATE TABLE IF NOT EXISTS databases (rid TEXT PRIMARY KEY, id TEXT UNIQUE NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS containers (
    number INTEGER PRIMARY KEY, database TEXT NOT NULL, id TEXT NOT NULL, ranges INTEGER NOT NULL,
    body TEXT NOT NULL, UNIQUE (database, id));
CREATE TABLE IF NOT EXISTS offers (rid TEXT PRIMARY KEY, resource TEXT UNIQUE NOT NULL, body TEXT NOT NULL);
-- Sequence numbers of deleted documents, because sequence numbers must never decrease.
CREATE TABLE IF NOT EXISTS marks (
    container INTEGER, range INTEGER, lsn INTEGER NOT NULL, k INTEGER NOT NULL,
    PRIMARY KEY (container, range));
"""
_COLUMNS = "k, id, pk, epk, range, lsn, ts, expires, etag"


class Row(NamedTuple):
    """A stored document. `body` is its JSON text."""

    k: int
    id: str
    pk: str
    epk: str
    range: int
    lsn: int
    ts: int
    expires: int | None
    etag: str
    body: str


class Store:
    def __init__(self, folder: Path | None, *, synchronous: str = "NORMAL") -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(folder) if folder is not None else None
        self._path = str(folder / "cosmos.db") if folder else ":memory:"
        self.connection = apsw.Connection(self._path, statementcachesize=500)
        self.execute = self.connection.execute
        self.group_open = False
        self.groups = 0  # number of groups begun
        self._prepare(synchronous)

    def _prepare(self, synchronous: str) -> None:
        for pragma in ("journal_mode = WAL", f"synchronous = {synchronous}",
                       "cache_size = -65536", "temp_store = MEMORY"):  # fmt: skip
            self.execute(f"PRAGMA {pragma}").fetchall()
        _register(self.connection)
        self.execute("BEGIN IMMEDIATE")
        self.execute(_SCHEMA).fetchall()
        self.execute("COMMIT")
        self.execute("ATTACH ':memory:' AS replica")

    def reader(self) -> apsw.Connection | None:
        """Return a second connection, which sees committed data, or None for an account in memory."""
        if self._lock is None:
            return None
        connection = apsw.Connection(self._path)
        connection.execute("PRAGMA query_only = 1")
        _register(connection)
        return connection

    def close(self) -> None:
        self.connection.close()
        if self._lock is not None:
            self._lock.close()

    def begin_group(self) -> bool:
        """Start a group: all writes up to end_group() share one commit.

        Return False if a group is already open.
        """
        if self.group_open:
            return False
        self.execute("BEGIN IMMEDIATE")
        self.group_open = True
        self.groups += 1
        return True

    def end_group(self) -> None:
        """Commit the group. If the commit fails, nothing is written and the error is raised."""
        if not self.group_open:
            return
        self.group_open = False
        try:
            self.execute("COMMIT")
        except apsw.Error:
            if self.connection.in_transaction:
                self.execute("ROLLBACK")
            raise

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Run the block in a savepoint and roll it back on any error."""
        self.execute("SAVEPOINT step")
        try:
            yield
        except BaseException:
            self.execute("ROLLBACK TO step")
            self.execute("RELEASE step")
            raise
        self.execute("RELEASE step")

    # documents

    def create_table(self, table: str, unique_keys: list[list[str]]) -> None:
        schema, _, name = table.rpartition(".")
        prefix = f"{schema}." if schema else ""
        self.execute(
            f"CREATE TABLE {table} (k INTEGER PRIMARY KEY, id TEXT NOT NULL, pk TEXT NOT NULL, "
            "epk TEXT NOT NULL, range INTEGER NOT NULL, lsn INTEGER NOT NULL, ts INTEGER NOT NULL, "
            "expires INTEGER, etag TEXT NOT NULL, body BLOB NOT NULL)"
        )
        self.execute(f"CREATE UNIQUE INDEX {prefix}{name}_id ON {name} (id, pk)")
        self.execute(f"CREATE INDEX {prefix}{name}_pk ON {name} (pk)")
        self.execute(f"CREATE INDEX {prefix}{name}_lsn ON {name} (lsn)")
        self.execute(f"CREATE INDEX {prefix}{name}_expires ON {name} (expires) WHERE expires IS NOT NULL")
        for number, paths in enumerate(unique_keys):
            keys = ", ".join(f"coalesce(body -> '{path}', 'null')" for path in paths)
            self.execute(f"CREATE UNIQUE INDEX {prefix}{name}_u{number} ON {name} (pk, {keys})")

    def insert(self, table: str, row: Row) -> None:
        self.execute(f"INSERT INTO {table} ({_COLUMNS}, body) VALUES (?,?,?,?,?,?,?,?,?,jsonb(?))", row)

    def update(self, table: str, row: Row, columns: str = "") -> None:
        """Store the document's new version. The id stays, so that SQLite need not update its two indexes."""
        columns += "lsn=?6, ts=?7, expires=?8, etag=?9, body=jsonb(?10)"
        self.execute(f"UPDATE {table} SET {columns} WHERE k=?1", row)

    def rename(self, table: str, row: Row) -> None:
        """Store the document's new version under a new id."""
        self.update(table, row, "id=?2, ")

    def put(self, table: str, row: Row) -> None:
        self.execute(f"DELETE FROM {table} WHERE k = ?", (row.k,))
        self.insert(table, row)

    def find(self, table: str, doc_id: str, pk: str, now: int, *, body: str = "json(body)") -> Row | None:
        sql = f"SELECT {_COLUMNS}, {body} FROM {table} WHERE id = ? AND pk = ?"
        found = self.execute(sql, (doc_id, pk)).fetchone()
        if found is None or (found[7] is not None and found[7] <= now):
            return None
        return Row(*found)

    def find_head(self, table: str, doc_id: str, pk: str, now: int) -> Row | None:
        """Return the document without its body, for a write that replaces the body."""
        return self.find(table, doc_id, pk, now, body="''")

    def rows(self, sql: str, bindings: Any) -> list[tuple[Any, ...]]:
        return self.execute(sql, bindings).fetchall()


def _lock(folder: Path) -> IO[str]:
    """Lock the folder against other processes until the file is closed."""
    file = (folder / "cosmos.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise OSError(f"another process uses the database in {folder}") from None
    return file


def _register(connection: apsw.Connection) -> None:
    register_values(connection)
    register_functions(connection)
