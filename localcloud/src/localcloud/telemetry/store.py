"""Spans, log lines and metric values in SQLite, limited by number and age."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from localcloud.telemetry.envelopes import LEVELS, Log, Received, Span, Value

DAY = 86_400
TRIM_EVERY = 5_000  # rows between two checks of the limits
LISTED_IDS = 1_000  # indexed entries of an attribute

_SCHEMA = """
CREATE TABLE IF NOT EXISTS spans (
    number INTEGER PRIMARY KEY, trace_id TEXT NOT NULL, span_id TEXT NOT NULL, parent_id TEXT,
    name TEXT NOT NULL, kind TEXT NOT NULL, role TEXT NOT NULL, start REAL NOT NULL,
    duration_ms REAL NOT NULL, success INTEGER NOT NULL, result TEXT NOT NULL,
    attributes TEXT NOT NULL, UNIQUE (trace_id, span_id));
CREATE INDEX IF NOT EXISTS spans_by_start ON spans (start);
CREATE TABLE IF NOT EXISTS span_attributes (
    name TEXT NOT NULL, value TEXT NOT NULL, span INTEGER NOT NULL, PRIMARY KEY (name, value, span)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS attributes_by_span ON span_attributes (span);
CREATE TABLE IF NOT EXISTS logs (
    number INTEGER PRIMARY KEY, time REAL NOT NULL, level INTEGER NOT NULL, message TEXT NOT NULL,
    trace_id TEXT, span_id TEXT, exception TEXT, attributes TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS logs_by_time ON logs (time);
CREATE INDEX IF NOT EXISTS logs_by_trace ON logs (trace_id);
CREATE TABLE IF NOT EXISTS metrics (
    number INTEGER PRIMARY KEY, time REAL NOT NULL, series INTEGER NOT NULL, value REAL NOT NULL,
    count INTEGER NOT NULL, least REAL NOT NULL, most REAL NOT NULL);
CREATE INDEX IF NOT EXISTS metrics_by_series ON metrics (series, time);
CREATE INDEX IF NOT EXISTS metrics_by_time ON metrics (time);
CREATE TABLE IF NOT EXISTS series (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, labels TEXT NOT NULL, last REAL NOT NULL,
    last_time REAL NOT NULL, total REAL NOT NULL, count INTEGER NOT NULL, least REAL NOT NULL,
    most REAL NOT NULL, UNIQUE (name, labels));
"""


@dataclass(frozen=True)
class Limits:
    spans: int = 200_000
    logs: int = 100_000
    metrics: int = 500_000
    seconds: float = 7 * DAY


_BOUNDED = {"spans": "start", "logs": "time", "metrics": "time"}  # each table with its time column

_CONDITIONS = {  # by query parameter
    "name": "name = ?",
    "trace_id": "trace_id = ?",
    "trace_ids": "trace_id IN (SELECT value FROM json_each(?))",
    "success": "success = ?",
    "level": "level >= ?",
    "exceptions": "(exception IS NOT NULL) >= ?",
    "since": "{time} >= ?",
    "until": "{time} <= ?",
}


def _inserting(table: str, kind: type[Span | Log]) -> str:
    names = [column.name for column in fields(kind)]
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES (:{', :'.join(names)})"  # noqa: S608 - our own names


_ADD_SPAN = _inserting("spans", Span) + " ON CONFLICT DO NOTHING RETURNING number"
_ADD_LOG = _inserting("logs", Log)


class Store:
    """The database. Only one thread at a time may use it."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._limits = limits or Limits()
        self._since_trim = 0
        self._db = sqlite3.connect(folder / "telemetry.db", check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    def counts(self) -> dict[str, int]:
        return {
            table: self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - our own names
            for table in _BOUNDED
        }

    def add(self, received: Received, now: float) -> None:
        with self._db:
            self._add_spans(received.spans)
            self._db.executemany(_ADD_LOG, map(_log_row, received.logs))
            for value in received.values:
                self._add_value(value)
            self._since_trim += len(received.spans) + len(received.logs) + len(received.values)
            if self._since_trim >= TRIM_EVERY:
                self.trim(now)

    def trim(self, now: float) -> None:
        """Delete rows beyond the maximum age or number."""
        self._since_trim = 0
        for table, time in _BOUNDED.items():
            self._db.execute(
                f"DELETE FROM {table} WHERE {time} < ? OR number IN"  # noqa: S608 - our own names
                f" (SELECT number FROM {table} ORDER BY {time} DESC LIMIT -1 OFFSET ?)",
                (now - self._limits.seconds, getattr(self._limits, table)),
            )
        self._db.execute("DELETE FROM span_attributes WHERE span NOT IN (SELECT number FROM spans)")
        self._db.execute("DELETE FROM series WHERE last_time < ?", (now - self._limits.seconds,))

    def _add_spans(self, spans: Iterable[Span]) -> None:
        for span in spans:
            values = {**vars(span), "attributes": json.dumps(span.attributes)}
            row = self._db.execute(_ADD_SPAN, values).fetchone()
            if row is not None:  # otherwise known: an exporter without a response sends again
                self._db.executemany(
                    "INSERT OR IGNORE INTO span_attributes (name, value, span) VALUES (?, ?, ?)",
                    [(name, value, row[0]) for name, value in _searchable(span.attributes)],
                )

    def _add_value(self, value: Value) -> None:
        (series,) = self._db.execute(
            "INSERT INTO series (name, labels, last, last_time, total, count, least, most)"
            " VALUES (:name, :labels, :value, :time, :value, :count, :least, :most)"
            " ON CONFLICT (name, labels) DO UPDATE SET last = iif(:time >= last_time, :value, last),"
            " last_time = max(last_time, :time), total = total + :value, count = count + :count,"
            " least = min(least, :least), most = max(most, :most) RETURNING number",
            {**vars(value), "labels": json.dumps(value.labels, sort_keys=True)},
        ).fetchone()
        self._db.execute(
            "INSERT INTO metrics (time, series, value, count, least, most) VALUES (?, ?, ?, ?, ?, ?)",
            (value.time, series, value.value, value.count, value.least, value.most),
        )

    # queries

    def trace(self, trace_id: str) -> list[dict[str, Any]]:
        rows = self._db.execute("SELECT * FROM spans WHERE trace_id = ? ORDER BY start, number", (trace_id,))
        return [_span(row) for row in rows]

    def find(
        self, table: str, asked: Mapping[str, Any], *, limit: int, attributes: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Return the spans or logs that meet all conditions, newest first.

        A value of None is no condition.
        """
        time = _BOUNDED[table]
        given = {name: value for name, value in asked.items() if value is not None}
        conditions = [_CONDITIONS[name].format(time=time) for name in given]
        values = [json.dumps(value) if isinstance(value, list) else value for value in given.values()]
        for pair in (attributes or {}).items():
            conditions.append("number IN (SELECT span FROM span_attributes WHERE name = ? AND value = ?)")
            values += pair
        rows = self._db.execute(
            f"SELECT * FROM {table} WHERE {' AND '.join(conditions) or '1'}"  # noqa: S608 - bound values
            f" ORDER BY {time} DESC, number DESC LIMIT ?",
            [*values, limit],
        )
        return [_span(row) if table == "spans" else _log(row) for row in rows]

    def series(
        self, name: str | None, labels: Mapping[str, str], *, start: float, now: float
    ) -> list[dict[str, Any]]:
        """Return all series, or those of a metric with these labels, with their values since `start`."""
        rows = self._db.execute(
            "SELECT *, least AS min, most AS max FROM series WHERE name = coalesce(?, name)"
            " ORDER BY name, labels",
            (name,),
        ).fetchall()
        chosen = [row for row in rows if labels.items() <= json.loads(row["labels"]).items()]
        return [_series(row, self._window(row["number"], start, now)) for row in chosen]

    def _window(self, series: int, start: float, now: float) -> dict[str, Any]:
        found = self._db.execute(
            "SELECT total(value) AS sum, coalesce(sum(count), 0) AS count, min(least) AS min,"
            " max(most) AS max, sum(value) / sum(count) AS mean"
            " FROM metrics WHERE series = ? AND time > ? AND time <= ?",
            (series, start, now),
        ).fetchone()
        return {**dict(found), "seconds": now - start, "per_second": found["sum"] / (now - start)}


def _searchable(attributes: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Yield each attribute, and the entries of lists such as `pipeline.thread_ids` under a singular name."""
    for name, value in attributes.items():
        yield name, value
        if name.endswith(("_ids", "_keys")):
            for entry in value.split()[:LISTED_IDS]:
                yield name.removesuffix("s"), entry


def _log_row(log: Log) -> dict[str, Any]:
    exception = None if log.exception is None else json.dumps(log.exception)
    changed = {"level": LEVELS.index(log.level), "exception": exception}
    return {**vars(log), **changed, "attributes": json.dumps(log.attributes)}


def _span(row: sqlite3.Row) -> dict[str, Any]:
    span = dict(row)
    del span["number"]
    return span | {"success": bool(row["success"]), "attributes": json.loads(row["attributes"])}


def _log(row: sqlite3.Row) -> dict[str, Any]:
    log = dict(row)
    del log["number"]
    exception = row["exception"]
    return log | {
        "level": LEVELS[row["level"]],
        "exception": None if exception is None else json.loads(exception),
        "attributes": json.loads(row["attributes"]),
    }


def _series(row: sqlite3.Row, window: dict[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in ("name", "last", "last_time", "total", "count", "min", "max")}
    return {**shown, "labels": json.loads(row["labels"]), "window": window}
