"""The journal stores a namespace in SQLite in WAL mode, with one transaction for each loop iteration."""

import struct
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import apsw

from localcloud.servicebus.changes import SEQUENCE_BITS, Changes
from localcloud.servicebus.messages import EMPTY_HEADER, Message

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entities (number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS counters (entity INTEGER PRIMARY KEY, last_sequence INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS duplicates (
    entity INTEGER, message_id TEXT, until INTEGER NOT NULL, PRIMARY KEY (entity, message_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS duplicates_until ON duplicates (until);
CREATE TABLE IF NOT EXISTS messages (
    row INTEGER PRIMARY KEY,  -- the entity's number and the sequence number, packed
    facts BLOB NOT NULL,
    source TEXT,
    annotations BLOB NOT NULL,
    bare BLOB NOT NULL
);
"""
_FACTS = struct.Struct("<qqqqqIBB")
_FACT_NAMES = ("enqueued_at", "expires_at", "due_at", "original_sequence", "ttl", "delivery_count",
               "state", "hops")  # fmt: skip
_facts_of = attrgetter(*_FACT_NAMES)
_SEQUENCE_MASK = (1 << SEQUENCE_BITS) - 1
FORGET_EVERY = 60_000  # milliseconds between deletions of expired duplicate ids


class JournalError(ValueError):
    """The journal cannot be used."""


class Journal:
    def __init__(self, folder: Path, *, synchronous: str = "NORMAL") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "journal.sqlite"
        self._forget_at = 0
        try:
            self._database = apsw.Connection(str(self._path))
            self._open(synchronous)
        except apsw.Error as error:
            raise JournalError(f"the journal {self._path} cannot be opened: {error}") from error

    def _open(self, synchronous: str) -> None:
        database = self._database
        database.set_busy_timeout(2000)
        database.execute("PRAGMA page_size = 8192")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 2000")  # pages: a longer WAL, but fewer checkpoints
        database.execute(f"PRAGMA synchronous = {synchronous}")
        # Only one process may use a journal. A second process would assign the same sequence numbers.
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        version = int(database.pragma("user_version"))
        if version not in {0, SCHEMA_VERSION}:
            raise JournalError(f"the journal {self._path} has version {version}, not {SCHEMA_VERSION}")
        with database:
            database.execute(_SCHEMA)
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._cursor = database.cursor()

    def number_of(self, path: str) -> int:
        """Return the number of an entity, assigned at its first use."""
        found = self._cursor.execute("SELECT number FROM entities WHERE path = ?", (path,)).fetchone()
        if found is None:
            self._cursor.execute("INSERT INTO entities (path) VALUES (?)", (path,))
            return self._database.last_insert_rowid()
        return int(found[0])

    def commit(self, changes: Changes, now: int) -> None:
        """Write all changes or none. After this returns, they survive a crash of the process."""
        stored, gone = [], []
        for row, message in changes.rows.items():
            if message is None:
                gone.append((row,))
            else:
                stored.append(_values(row, message))
        cursor = self._cursor
        with self._database:
            if gone:
                cursor.executemany("DELETE FROM messages WHERE row = ?", gone)
            if stored:
                cursor.executemany("REPLACE INTO messages VALUES (?, ?, ?, ?, ?)", stored)
            if changes.counters:
                cursor.executemany("REPLACE INTO counters VALUES (?, ?)", changes.counters.items())
            if changes.duplicates:
                cursor.executemany("REPLACE INTO duplicates VALUES (?, ?, ?)", changes.duplicates)
            if now >= self._forget_at:
                cursor.execute("DELETE FROM duplicates WHERE until <= ?", (now,))
                self._forget_at = now + FORGET_EVERY

    def messages(self) -> Iterator[tuple[int, Message]]:
        """Yield the messages by entity and sequence number."""
        for row, facts, source, annotations, bare in self._database.execute(
            "SELECT row, facts, source, annotations, bare FROM messages ORDER BY row"
        ):
            yield row, _message(row, facts, source, annotations, bare)

    def counters(self) -> Iterator[tuple[int, int]]:
        yield from self._database.execute("SELECT entity, last_sequence FROM counters")

    def duplicates(self, now: int) -> Iterator[tuple[int, str, int]]:
        yield from self._database.execute(
            "SELECT entity, message_id, until FROM duplicates WHERE until > ? ORDER BY until", (now,)
        )

    def close(self) -> None:
        self._database.close()


def _values(row: int, message: Message) -> tuple[int, bytes, str | None, bytes, bytes]:
    facts = _FACTS.pack(*_facts_of(message)) + message.header
    return row, facts, message.source, message.annotations, message.bare


def _message(row: int, facts: bytes, source: str | None, annotations: bytes, bare: bytes) -> Message:
    header = facts[_FACTS.size :] or EMPTY_HEADER  # old journals have no headers
    known = dict(zip(_FACT_NAMES, _FACTS.unpack_from(facts), strict=True))
    return Message(bare, annotations, header, source=source, sequence=row & _SEQUENCE_MASK, **known)
