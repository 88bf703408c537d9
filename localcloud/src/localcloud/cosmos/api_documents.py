"""HTTP handlers for documents: point operations, batches, queries and the change feed."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from localcloud.cosmos import wire
from localcloud.cosmos.account import Account
from localcloud.cosmos.charges import Budget, query_charge, read_charge, write_charge
from localcloud.cosmos.container import Container
from localcloud.cosmos.documents import Written, parse_document
from localcloud.cosmos.errors import CosmosError, bad_request, cross_partition_disabled, not_implemented
from localcloud.cosmos.keys import PartitionKey
from localcloud.cosmos.metrics import INDEX_METRICS, query_metrics
from localcloud.cosmos.queries import Page, Scope, SlowQueryError, Work
from localcloud.cosmos.rids import document_k
from localcloud.cosmos.sessions import RetryMemory, View, parse_token, session_token
from localcloud.cosmos.slow_queries import LOOP_SECONDS, SlowQueryThread
from localcloud.cosmos.sql_parser import parse_query
from localcloud.cosmos.sql_plan import needs_client, pinned_values, query_plan
from localcloud.httpd import Response

_PRE_TRIGGERS = "x-ms-documentdb-pre-trigger-include"
_POST_TRIGGERS = "x-ms-documentdb-post-trigger-include"
Show = Callable[[wire.Call, Container, View, Scope, Page], Response]  # sends a page to the client


class DocumentsApi:
    def __init__(self, account: Account, *, rate: float = 0) -> None:
        self.account = account
        self.retries = RetryMemory()
        self.slow = SlowQueryThread(account.store)
        self._rate = rate
        self._budgets: dict[int, Budget] = {}

    def read_ranges(self, call: wire.Call) -> Response:
        container = self._container(call)
        etag = f'"{len(container.ranges)}"'
        call.headers.append(("etag", etag))
        if call.header("if-none-match") == etag:
            return wire.answer(call, 304, b"", charge=1.0)
        ranges = [
            {
                "_rid": container.rid, "id": str(number), "_etag": etag,
                "minInclusive": start, "maxExclusive": end,
                "ridPrefix": number, "_self": f"{container.self_link}pkranges/{number}/",
                "throughputFraction": 1,
                "status": "online", "parents": [], "_ts": container.body["_ts"],
                "_lsn": container.lsns[number],
            }
            for number, (start, end) in enumerate(container.ranges.bounds)
        ]  # fmt: skip
        body = {"_rid": container.rid, "PartitionKeyRanges": ranges, "_count": len(ranges)}
        return wire.answer(call, 200, orjson.dumps(body), charge=1.0)

    # documents

    def create(self, call: wire.Call) -> Response:
        container, key = self._container_and_key(call)
        document = parse_document(call.request.body)
        return self._written(call, self.account.documents.create(container, key, document))

    def upsert(self, call: wire.Call) -> Response:
        container, key = self._container_and_key(call)
        document = parse_document(call.request.body)
        written = self.account.documents.upsert(container, key, document, wire.conditions_in(call))
        return self._written(call, written)

    def replace(self, call: wire.Call) -> Response:
        container, key = self._container_and_key(call)
        document = parse_document(call.request.body)
        written = self.account.documents.replace(
            container, key, self._document_id(call, container), document, wire.conditions_in(call)
        )
        return self._written(call, written)

    def patch(self, call: wire.Call) -> Response:
        container, key = self._container_and_key(call)
        change = parse_document(call.request.body) if call.request.body[:1] == b"{" else call.json()
        written = self.account.documents.patch(
            container, key, self._document_id(call, container), change, wire.conditions_in(call)
        )
        return self._written(call, written)

    def delete(self, call: wire.Call) -> Response:
        container, key = self._container_and_key(call)
        written = self.account.documents.delete(
            container, key, self._document_id(call, container), wire.conditions_in(call)
        )
        return self._written(call, written)

    def delete_partition(self, call: wire.Call) -> Response:
        container, key = self._container_and_key(call)
        number = self.account.documents.delete_partition(container, key)
        call.session = number, container.lsns[number]
        return wire.answer(call, 200, b"", charge=10.0)

    def batch(self, call: wire.Call) -> Response:
        container, key = self._container_and_key(call)
        number = container.ranges.of_epk(key.epk)
        status, results = self.account.batches.run_atomic(
            container, key, call.request.body, minimal=_wants_minimal(call)
        )
        call.session = number, container.lsns[number]
        return self._batch_answer(call, status, results)

    def bulk(self, call: wire.Call) -> Response:
        container = self._container(call)
        status, results = self.account.batches.run_bulk(container, call.request.body)
        self._add_tokens(call, container, wire.all_tokens(container.lsns))
        return self._batch_answer(call, status, results)

    def _batch_answer(self, call: wire.Call, status: int, results: list[dict[str, Any]]) -> Response:
        charge = sum(result["requestCharge"] for result in results)
        call.headers.append(("x-ms-item-count", str(len(results))))
        return wire.answer(call, status, orjson.dumps(results), charge=charge)

    def read(self, call: wire.Call) -> Response:
        container, key = self._container_and_key(call)
        number = container.ranges.of_epk(key.epk)
        view = self._view(call, container, (number,))
        call.session = number, view.lsns[number]
        row = self.account.documents.read(container, view, self._document_id(call, container), key)
        call.headers.append(("etag", row.etag))
        if call.header("if-none-match") == row.etag:
            return wire.answer(call, 304, b"", charge=1.0)
        body = row.body.encode()
        return wire.answer(call, 200, body, charge=read_charge(len(body)))

    def _written(self, call: wire.Call, written: Written) -> Response:
        call.session = written.range, written.lsn
        if written.row is None:
            return wire.answer(call, written.status, b"", charge=write_charge(0))
        call.headers.append(("etag", written.row.etag))
        body = written.row.body.encode()
        charge = write_charge(len(body))
        return wire.answer(call, written.status, b"" if _wants_minimal(call) else body, charge=charge)

    # queries, feeds and the change feed

    def query(self, call: wire.Call) -> Response | Awaitable[Response]:
        container = self._container(call)
        spec = wire.query_in(call)
        scope = self._query_scope(call, container, spec.text, spec.parameters)
        view = self._view(call, container, _ranges(container, scope))
        work = self.account.queries.prepare(
            container, view, scope, spec.text, spec.parameters, resume=spec.resume,
            max_items=wire.page_size(call), continuation=call.header("x-ms-continuation"),
        )  # fmt: skip
        if order_by := parse_query(spec.text).order_by:
            # Without this header, each SDK makes its own assumption about the rid order of equal rows.
            info = orjson.dumps({"reverseRidEnabled": False, "reverseIndexScan": order_by[0].descending})
            call.headers.append(("x-ms-cosmos-query-execution-info", info.decode()))
        return self._run(call, container, view, scope, work, self._page)

    def _run(
        self, call: wire.Call, container: Container, view: View, scope: Scope, work: Work, show: Show
    ) -> Response | Awaitable[Response]:
        """Run a query on the event loop, or in the thread if it is slow."""
        longest = self.account.queries.query_seconds
        # The thread cannot read the replica, which is in memory.
        can_move = self.slow.is_open and view.table == container.table
        try:
            page = work(self.account.store.connection, LOOP_SECONDS if can_move else longest)
        except SlowQueryError:
            if not can_move:
                raise
            return self._run_in_thread(call, container, view, scope, work, show)
        return show(call, container, view, scope, page)

    async def _run_in_thread(
        self, call: wire.Call, container: Container, view: View, scope: Scope, work: Work, show: Show
    ) -> Response:
        # The thread reads data at least as new as the view.
        seen = view._replace(lsns=list(view.lsns))
        page = await self.slow.run(work, self.account.queries.query_seconds)
        return show(call, container, seen, scope, page)

    def _query_scope(
        self, call: wire.Call, container: Container, text: str, parameters: dict[str, Any]
    ) -> Scope:
        """Return the partition, range or whole container that a query reads.

        For the whole container, only queries that the gateway can serve without the client's help are
        allowed.
        """
        scope = self._scope(call, container)
        if scope.key is not None or scope.range is not None:
            return scope
        query = parse_query(text)
        pinned = pinned_values(query, parameters, container.key.paths)
        if not call.is_set("x-ms-documentdb-query-enablecrosspartition"):
            if pinned is not None and all(isinstance(value, str | int | float | None) for value in pinned):
                return Scope(container.key.of_values(pinned))
            raise cross_partition_disabled()
        if query.needs_plan and query.sources:
            raise needs_client(query_plan(query, parameters, None))
        return scope

    def plan(self, call: wire.Call) -> Response:
        self._container(call)
        spec = wire.query_in(call)
        given = call.header("x-ms-cosmos-supported-query-features")
        features = frozenset(name.strip() for name in given.split(",")) if given else None
        plan = query_plan(parse_query(spec.text), spec.parameters, features)
        return wire.answer(call, 200, orjson.dumps(plan), charge=1.0)

    def read_feed(self, call: wire.Call) -> Response | Awaitable[Response]:
        container = self._container(call)
        scope = self._scope(call, container)
        view = self._view(call, container, _ranges(container, scope))
        work = self.account.queries.prepare(
            container, view, scope, "SELECT * FROM c", {},
            max_items=wire.page_size(call), continuation=call.header("x-ms-continuation"),
        )  # fmt: skip
        return self._run(call, container, view, scope, work, self._page)

    def read_changes(self, call: wire.Call) -> Response | Awaitable[Response]:
        if (call.header("a-im") or "").lower() not in ("incremental feed", "incremental_feed"):
            raise not_implemented(
                f"The change feed mode {call.header('a-im')!r}", "use LatestVersion (A-IM: Incremental Feed)"
            )
        if call.header("x-ms-cosmos-changefeed-wire-format-version"):
            raise not_implemented(
                "The change feed's wire format with metadata", "read LatestVersion with the pull model"
            )
        container = self._container(call)
        scope = self._scope(call, container)
        if scope.key is not None:
            scope = Scope(
                scope.key, container.ranges.of_epk(scope.key.epk) if scope.key.complete else scope.range
            )
        view = self._view(call, container, _ranges(container, scope))
        newest = view.lsns[scope.range] if scope.range is not None else max(view.lsns)
        after = _feed_start(call.header("if-none-match"), newest)
        since = wire.http_date(call.header("if-modified-since"))
        work = self.account.queries.changes(view, scope, after, since, wire.page_size(call))
        return self._run(call, container, view, scope, work, self._changes)

    def _changes(
        self, call: wire.Call, container: Container, view: View, scope: Scope, page: Page
    ) -> Response:
        call.headers.append(("etag", f'"{page.reached}"'))
        if page.items:
            return self._page(call, container, view, scope, page)
        self._add_tokens(call, container, _tokens(container, view, scope))
        return wire.answer(call, 304, b"", charge=1.0)

    def _page(self, call: wire.Call, container: Container, view: View, scope: Scope, page: Page) -> Response:
        self._add_tokens(call, container, _tokens(container, view, scope))
        if page.continuation is not None:
            call.headers.append(("x-ms-continuation", page.continuation))
        call.headers.append(("x-ms-item-count", str(len(page.items))))
        if call.is_set("x-ms-documentdb-populatequerymetrics"):
            call.headers.append(("x-ms-documentdb-query-metrics", query_metrics(page)))
        if call.is_set("x-ms-cosmos-populateindexmetrics"):
            call.headers.append(("x-ms-cosmos-index-utilization", INDEX_METRICS))
        body = wire.feed_body(container.rid, "Documents", page.items)
        return wire.answer(call, 200, body, charge=query_charge(len(page.items), len(body)))

    # helpers

    def _container(self, call: wire.Call) -> Container:
        container = self.account.container(call.parts[1], call.parts[3], owner=True)
        intended = call.header("x-ms-cosmos-intended-collection-rid")
        if intended and intended != container.rid:
            raise bad_request(
                "the container was deleted and created again after the client read it", substatus=1024
            )
        call.container = container
        if self._rate:
            self._budget(container).admit()
        return container

    def _container_and_key(self, call: wire.Call) -> tuple[Container, PartitionKey]:
        container = self._container(call)
        if call.header(_PRE_TRIGGERS) or call.header(_POST_TRIGGERS):
            raise not_implemented("A write with triggers")
        header = call.header("x-ms-documentdb-partitionkey")
        if header is None:
            raise bad_request("PartitionKey value must be supplied for this operation")
        key = container.key.of_header(header)
        if not key.complete:
            raise bad_request(
                "Partition key provided either doesn't correspond to definition in the collection or "
                "doesn't match partition key field values specified in the document.",
                substatus=1001,
            )
        number = container.ranges.of_epk(key.epk)
        call.session = number, container.lsns[number]
        return container, key

    def _document_id(self, call: wire.Call, container: Container) -> str:
        """Return the id in the path, or the id that belongs to a resource id: SDKs follow `_self` links."""
        name = call.parts[5]
        if call.parts[3] == container.id:
            return name
        k = document_k(name, container.raw_rid)
        found = self.account.store.rows(f"SELECT id FROM {container.table} WHERE k = ?", (k,))
        return str(found[0][0]) if found else name

    def spend(self, call: wire.Call) -> None:
        if self._rate and call.container is not None:
            self._budget(call.container).spend(call.charge)

    def _budget(self, container: Container) -> Budget:
        if container.number not in self._budgets:
            self._budgets[container.number] = Budget(self.account.clock, self._rate)
        return self._budgets[container.number]

    def _scope(self, call: wire.Call, container: Container) -> Scope:
        key = call.header("x-ms-documentdb-partitionkey")
        number = call.header("x-ms-documentdb-partitionkeyrangeid")
        return Scope(
            container.key.of_header(key) if key is not None else None,
            container.ranges.parse_id(number) if number else None,
            call.header("x-ms-start-epk"),
            call.header("x-ms-end-epk"),
        )

    def _view(self, call: wire.Call, container: Container, ranges: tuple[int, ...]) -> View:
        """Return the view for a read: the replica, or the primary for a retry after a 404/1002."""
        level = call.header("x-ms-consistency-level") or "Session"
        if level not in ("Session", "Eventual", "ConsistentPrefix"):
            raise bad_request(
                f"the consistency level {level[:40]!r} is stronger than the account's, which is Session"
            )
        token = call.header("x-ms-session-token")
        view = self.account.replica.view(container)
        # The JavaScript client sends no activity id, and it retries without the session token.
        identity = call.header("x-ms-activity-id") or call.request.target
        lagging = view.table != container.table
        if lagging and self.retries.is_retry(identity):
            view, lagging = self.account.replica.primary(container), False
        if token and level == "Session":
            seen = parse_token(token)
            try:
                view.check(seen, ranges)
            except CosmosError:
                # Only a replica's miss is worth a retry. A write that the primary does not have does not
                # exist.
                if lagging:
                    self.retries.remember(identity)
                raise
        return view

    def _add_tokens(self, call: wire.Call, container: Container, tokens: str) -> None:
        call.headers += [*container.owner_headers, ("x-ms-session-token", tokens)]
        if "," not in tokens:
            call.headers.append(("x-ms-documentdb-partitionkeyrangeid", tokens.partition(":")[0]))


def _wants_minimal(call: wire.Call) -> bool:
    """Return whether the client asks for a response without the documents."""
    return "return=minimal" in (call.header("prefer") or "").lower()


def _feed_start(etag: str | None, newest: int) -> int:
    """Return the sequence number that a change feed starts after.

    `*` starts now, no etag starts at the beginning.
    """
    if etag is None:
        return 0
    if etag.strip() == "*":
        return newest
    lsn = etag.strip().strip('"')
    if not lsn.isascii() or not lsn.isdigit():
        raise bad_request(
            f"a change feed continues from the etag of an earlier page, not from {etag[:60]!r}: send such "
            "an etag, or * for changes from now on"
        )
    return wire.small_number(lsn, 0)


def _ranges(container: Container, scope: Scope) -> tuple[int, ...]:
    if scope.key is not None and scope.key.complete:
        return (container.ranges.of_epk(scope.key.epk),)
    return tuple(range(len(container.ranges))) if scope.range is None else (scope.range,)


def _tokens(container: Container, view: View, scope: Scope) -> str:
    ranges = _ranges(container, scope)
    if len(ranges) == 1:
        return session_token(ranges[0], view.lsns[ranges[0]])
    return wire.all_tokens(view.lsns)
