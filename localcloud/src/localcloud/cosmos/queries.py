"""Queries, feeds and the change feed, page by page.

A page has at most `max_items` results and about 4 MB. A query that takes too long is stopped.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import apsw
import orjson

from localcloud.clock import Clock
from localcloud.cosmos.container import Container
from localcloud.cosmos.errors import CosmosError, bad_request
from localcloud.cosmos.keys import PartitionKey
from localcloud.cosmos.positions import Position, ResumeFilter, at_or_after
from localcloud.cosmos.rids import document_k
from localcloud.cosmos.sessions import View
from localcloud.cosmos.sql_compiler import Program, compile_query
from localcloud.cosmos.sql_parser import parse_query
from localcloud.cosmos.sql_values import STRING, rank
from localcloud.cosmos.store import Store

MAX_PAGE_ITEMS = 1000
DEFAULT_PAGE_ITEMS = 100
MAX_PAGE_BYTES = 4 * 1024 * 1024
INDEX_FROM_ROWS = 2000
MAX_INDEXES = 48
MAX_PROGRAMS = 1000
QUERY_SECONDS = 5.0
_PROGRESS_STEPS = 10_000


@dataclass(frozen=True)
class Scope:
    """The documents of a container that a request reads: by default all of them."""

    key: PartitionKey | None = None
    range: int | None = None
    epk_from: str | None = None
    epk_to: str | None = None

    def filters(self, *, expires: bool) -> list[str]:
        filters = []
        if self.key is not None and self.key.complete:
            filters.append("d.pk = :pk")
        elif self.key is not None:
            filters.append("d.epk >= :prefix AND d.epk < :prefix || 'G'")
        if self.range is not None:
            filters.append("+d.range = :range")
        if self.epk_from is not None:
            filters.append("+d.epk >= :epk_from")
        if self.epk_to is not None:
            filters.append("+d.epk < :epk_to")
        return [*filters, "(d.expires IS NULL OR d.expires > :now)"] if expires else filters

    def bindings(self, now: int) -> dict[str, Any]:
        return {
            "pk": self.key.text if self.key else None,
            "prefix": self.key.epk if self.key else None,
            "range": self.range,
            "epk_from": self.epk_from,
            "epk_to": self.epk_to,
            "now": now,
        }


class Page(NamedTuple):
    items: list[str]  # JSON texts
    continuation: str | None = None
    reached: int = 0  # the change feed's last sequence number


class SlowQueryError(CosmosError):
    """A query that exceeded its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(408, f"the query took longer than {seconds:g} s here: narrow it, or add an equality")


Work = Callable[[apsw.Connection, float], Page]  # runs a page's query on a connection, within seconds


@dataclass
class Queries:
    store: Store
    clock: Clock
    query_seconds: float = QUERY_SECONDS
    _programs: dict[Any, Program] = field(default_factory=dict)

    def prepare(
        self,
        container: Container,
        view: View,
        scope: Scope,
        text: str,
        parameters: dict[str, Any],
        *,
        max_items: int | None = None,
        continuation: str | None = None,
        resume: ResumeFilter | None = None,
    ) -> Work:
        """Return the query, ready to run. The only slow step is the creation of an index at its first use."""
        program = self._program(container, scope, text, parameters)
        self._ensure_indexes(container, view, program)
        position = Position.decode(continuation, len(program.columns))
        wanted = min(max_items or DEFAULT_PAGE_ITEMS, MAX_PAGE_ITEMS)
        bindings = {**scope.bindings(int(self.clock.now())), **program.bindings(parameters)}
        # If the client sends both a continuation and a resume filter, the later position counts.
        conditions = []
        if position.bound:
            conditions.append(_after(program, position.bound, "r", bindings, inclusive=True))
        if resume is not None:
            bound = program.bound_of(resume, _document_number(container, resume.rid))
            conditions.append(_after(program, bound, "f", bindings, inclusive=not resume.exclude))
        sql = program.sql_from(view.table, conditions)
        return lambda connection, seconds: _limited(
            connection, seconds, lambda: _page(program, connection, sql, bindings, position, wanted)
        )

    def over_values(self, values: list[dict[str, Any]], text: str, parameters: dict[str, Any]) -> list[str]:
        """Run a query over metadata: databases, containers or offers."""
        program = compile_query(parse_query(text), parameters)
        execute = self.store.execute
        execute("CREATE TEMP TABLE IF NOT EXISTS listed (k INTEGER PRIMARY KEY, id TEXT, body BLOB)")
        execute("DELETE FROM temp.listed")
        for value in values:
            body = orjson.dumps(value).decode()
            execute("INSERT INTO temp.listed (id, body) VALUES (?, jsonb(?))", (value["id"], body))
        bindings = program.bindings(parameters)
        sql = program.sql_from("temp.listed", [])
        connection = self.store.connection
        return _limited(
            connection,
            self.query_seconds,
            lambda: _page(program, connection, sql, bindings, Position(), 10**6),
        ).items

    def changes(self, view: View, scope: Scope, after: int, since: int | None, max_items: int | None) -> Work:
        """Return the documents changed after a sequence number, oldest change first.

        The page has the last sequence number reached.
        """
        conditions = ["d.lsn > :after", *scope.filters(expires=True)]
        if since is not None:
            conditions.append("d.ts >= :since")
        bindings = {**scope.bindings(int(self.clock.now())), "after": after, "since": since}
        wanted = min(max_items or DEFAULT_PAGE_ITEMS, MAX_PAGE_ITEMS)
        sql = (
            f"SELECT d.lsn, json_set(d.body, '$._lsn', d.lsn) FROM {view.table} AS d "
            f"WHERE {' AND '.join(conditions)} ORDER BY d.lsn, d.k"
        )
        newest = view.lsns[scope.range] if scope.range is not None else max(view.lsns)
        return lambda connection, seconds: _limited(
            connection, seconds, lambda: _changes(connection.execute(sql, bindings), after, newest, wanted)
        )

    def _program(self, container: Container, scope: Scope, text: str, parameters: dict[str, Any]) -> Program:
        filters = scope.filters(expires=container.default_ttl is not None)
        ranks = tuple(sorted((name, rank(value)) for name, value in parameters.items()))
        key = (text, ranks, tuple(filters), container.explicit_paths)
        program = self._programs.get(key)
        if program is None:
            program = compile_query(parse_query(text), parameters, filters, container.explicit_paths)
            if program.reusable and all(kind <= STRING for _, kind in ranks):
                if len(self._programs) > MAX_PROGRAMS:
                    self._programs.clear()
                self._programs[key] = program
        return program

    def _ensure_indexes(self, container: Container, view: View, program: Program) -> None:
        """Create the indexes that a query uses, once the container is large enough to benefit."""
        if container.next_k <= INDEX_FROM_ROWS or view.table != container.table:
            return
        for number, (type_sql, value_sql) in enumerate(
            program.indexes - container.indexes, len(container.indexes)
        ):
            if number >= MAX_INDEXES:
                return
            self.store.execute(
                f"CREATE INDEX IF NOT EXISTS {container.table}_x{number} ON {container.table} "
                f"({type_sql}, {value_sql})"
            )
            container.indexes.add((type_sql, value_sql))


def _document_number(container: Container, rid: str | None) -> int | None:
    if rid is None:
        return None
    k = document_k(rid, container.raw_rid)
    if k is None or k >= 2**63:
        raise bad_request(f"resumeFilter's rid {rid[:40]!r} is not of a document of this container")
    return k


def _after(
    program: Program, bound: tuple[Any, ...], name: str, bindings: dict[str, Any], *, inclusive: bool
) -> str:
    bindings |= {f"{name}{number}": value for number, value in enumerate(bound)}
    return at_or_after(program.columns, bound, name, inclusive=inclusive)


def _page(
    program: Program,
    connection: apsw.Connection,
    sql: str,
    bindings: dict[str, Any],
    position: Position,
    wanted: int,
) -> Page:
    remaining = wanted if program.limit is None else program.limit - position.taken
    if remaining <= 0:
        return Page([])
    count = min(wanted, remaining)
    if position.bound:
        paging = {"page": count + position.rows + 1, "skip": 0}
    else:
        paging = {"page": count + 1, "skip": program.offset + position.rows}
    cursor = connection.execute(f"{sql} LIMIT :page OFFSET :skip", {**bindings, **paging})
    page, reached = _collect(cursor, position, count)
    done = program.limit is not None and len(page) == remaining
    return Page(page, None if done or reached is None else reached.encode())


def _changes(cursor: apsw.Cursor, after: int, newest: int, wanted: int) -> Page:
    items: list[str] = []
    size, last = 0, after
    for lsn, body in cursor:
        # All writes of a batch have one sequence number. A page must not end inside a batch.
        if lsn != last and (len(items) >= wanted or size > MAX_PAGE_BYTES):
            cursor.close(force=True)
            return Page(items, reached=last)
        items.append(body)
        size += len(body)
        last = lsn
    return Page(items, reached=max(last, newest))


def _limited(connection: apsw.Connection, seconds: float, run: Callable[[], Page]) -> Page:
    """Run within the time limit, and convert SQLite's errors to client errors."""
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _PROGRESS_STEPS)
    try:
        return run()
    except apsw.InterruptError:
        raise SlowQueryError(seconds) from None
    except (apsw.SQLError, apsw.TooBigError, apsw.NoMemError) as error:
        raise bad_request(f"the query is too complex for the local Cosmos DB: {error}") from None
    finally:
        connection.set_progress_handler(None)


def _collect(cursor: apsw.Cursor, position: Position, count: int) -> tuple[list[str], Position | None]:
    """Return a page of results, and its end if there are more."""
    items: list[str] = []
    size = 0
    bound, rows = position.bound, position.rows
    skip = rows if bound else 0  # rows of the last page's last document, which can have several (JOIN)
    for row in cursor:
        text, row_bound = row[0], row[1:]
        if skip and row_bound == position.bound:
            skip -= 1
            continue
        if len(items) >= count or size > MAX_PAGE_BYTES:
            cursor.close(force=True)
            return items, Position(bound, rows, position.taken + len(items))
        rows = rows + 1 if row_bound == bound else 1
        bound = row_bound
        if text is not None:
            items.append(text)
            size += len(text)
    return items, None
