"""What shared.clients.cosmos.store.Store asks of azure-cosmos, on the engine of the local Cosmos DB."""

from collections.abc import AsyncIterator, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import orjson
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.cosmos import exceptions as cosmos

from localcloud.clock import Clock
from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.container import Container
from localcloud.cosmos.documents import Conditions, Written
from localcloud.cosmos.errors import CosmosError
from localcloud.cosmos.keys import PartitionKey
from localcloud.cosmos.queries import Page, Scope
from localcloud.cosmos.sessions import View, parse_token, session_token
from localcloud.cosmos.store import Row
from shared.documents.containers import CONTAINERS
from tests.simulation.chance import Fault
from tests.simulation.network import Errors, Network

DATABASE = "consensus"
TOKEN = "x-ms-session-token"
QUERY_SECONDS = 60.0
NOT_IN_SESSION = 1002
FAILED_DEPENDENCY = 424
NO_CONDITIONS = Conditions()


class CosmosServer:
    """The account. One serves all runs of a process: to empty it is cheaper than to make another."""

    def __init__(self) -> None:
        self._clock: Clock | None = None
        self.account = Account(None, self, synchronous="OFF")
        self.account.create_database({"id": DATABASE}, Throughput())
        for spec in CONTAINERS.values():
            definition: dict[str, Any] = {
                "id": spec.name,
                "partitionKey": {"paths": [spec.partition_path], "kind": "Hash", "version": 2},
                "indexingPolicy": spec.indexing_policy(),
            }
            if spec.default_ttl is not None:
                definition["defaultTtl"] = spec.default_ttl
            self.account.create_container(DATABASE, definition, Throughput())

    def now(self) -> float:
        return self._clock.now() if self._clock is not None else 0.0

    def restart(self, clock: Clock) -> None:
        """As if it were new."""
        self._clock = clock
        self.account.set_lag(0)
        self.account.store.execute("DELETE FROM marks")
        for container in self.account.containers:
            self.account.store.execute(f"DELETE FROM {container.table}")
            container.lsns[:] = [0] * len(container.lsns)
            container.lsn, container.next_k = 0, 1

    def rows(self, container: str) -> list[dict[str, Any]]:
        """Every document, past the network."""
        table = self.account.container(DATABASE, container).table
        found = self.account.store.rows(f"SELECT json(body) FROM {table} ORDER BY id, pk", ())
        return [orjson.loads(body) for (body,) in found]


class Answer(dict[str, Any]):
    """A document as the SDK returns it."""

    def __init__(self, document: dict[str, Any], token: str) -> None:
        super().__init__(document)
        self._headers = {TOKEN: token}

    def get_response_headers(self) -> dict[str, str]:
        return self._headers


class Answers(list[dict[str, Any]]):
    def __init__(self, documents: Sequence[dict[str, Any]], token: str) -> None:
        super().__init__(documents)
        self._headers = {TOKEN: token}

    def get_response_headers(self) -> dict[str, str]:
        return self._headers


def _broken(sent: bool) -> Exception:
    return (ServiceResponseError if sent else ServiceRequestError)("the connection broke")


def _refused(fault: Fault) -> Exception:
    status = 429 if fault is Fault.THROTTLE else 503
    return cosmos.CosmosHttpResponseError(status_code=status, message="refused by the simulation")


ERRORS = Errors(_broken, _refused, resends=False)  # it does not repeat a write whose answer was lost


def _client_error(error: CosmosError, token: str) -> Exception:
    kind: Any = {
        404: cosmos.CosmosResourceNotFoundError,
        409: cosmos.CosmosResourceExistsError,
        412: cosmos.CosmosAccessConditionFailedError,
    }.get(error.status, cosmos.CosmosHttpResponseError)
    raised: Exception = kind(status_code=error.status, message=str(error))
    raised.headers = {TOKEN: token}  # type: ignore[attr-defined]  # as the SDK fills them in from the answer
    raised.sub_status = error.substatus  # type: ignore[attr-defined]
    return raised


class SimulatedContainer:
    """One host's client of a container: it remembers the session of its own calls, as the SDK's does."""

    def __init__(self, account: Account, network: Network, name: str) -> None:
        self._account, self._network, self._name = account, network, name
        self._container: Container = account.container(DATABASE, name)
        self._keys: dict[str, PartitionKey] = {}
        self._seen = 0

    # reading

    async def read_item(self, id_: str, partition: str, session_token: str | None = None) -> Answer:
        def work(view: View) -> Answer:
            row = self._account.documents.read(self._container, view, id_, self._key(partition))
            return Answer(orjson.loads(row.body), self._token(view.lsns[0]))

        found: Answer = await self._read("read", work, session_token, id_)
        return found

    async def read_items(self, keys: Sequence[tuple[str, str]], session_token: str | None = None) -> Answers:
        def work(view: View) -> Answers:
            found = []
            for id_, partition in keys:
                try:
                    row = self._account.documents.read(self._container, view, id_, self._key(partition))
                except CosmosError:
                    continue
                found.append(orjson.loads(row.body))
            return Answers(found, self._token(view.lsns[0]))

        if not keys:
            return Answers([], self._token(0))
        answers: Answers = await self._read("read_many", work, session_token, keys[0][0])
        return answers

    def query_items(
        self,
        text: str,
        parameters: Sequence[dict[str, Any]] = (),
        session_token: str | None = None,
        partition_key: str | None = None,
        max_item_count: int | None = None,
    ) -> Any:
        values = {parameter["name"]: parameter["value"] for parameter in parameters}
        scope = Scope(self._key(partition_key) if partition_key is not None else None)
        account, container = self._account, self._container

        async def pages() -> AsyncIterator[AsyncIterator[Any]]:
            continuation: str | None = None
            while True:

                def work(view: View, start: str | None = continuation) -> Page:
                    query = account.queries.prepare(
                        container, view, scope, text, values, max_items=max_item_count, continuation=start
                    )
                    return query(account.store.connection, QUERY_SECONDS)

                page = await self._read("query", work, session_token, text[7:60])
                yield _each(page.items)
                continuation = page.continuation
                if continuation is None:
                    return

        return SimpleNamespace(by_page=pages)

    async def _read(self, operation: str, work: Callable[[View], Any], token: str | None, about: str) -> Any:
        try:
            return await self._call(operation, lambda: work(self._view(token)), about)
        except cosmos.CosmosResourceNotFoundError as error:
            if error.sub_status != NOT_IN_SESSION:
                raise
        # The replica is behind: the SDK asks the write region.
        return await self._call(operation, lambda: work(self._primary()), about)

    def _view(self, token: str | None) -> View:
        replica = self._account.replica
        view = replica.view(self._container)
        view.check(parse_token(token) if token else {0: self._seen}, (0,))
        return view

    def _primary(self) -> View:
        return self._account.replica.primary(self._container)

    # writing

    async def create_item(self, document: dict[str, Any], no_response: bool = False) -> Answer:
        key = self._key_of(document)
        return await self._write(
            "create",
            lambda: self._account.documents.create(self._container, key, dict(document)),
            document["id"],
        )

    async def upsert_item(self, document: dict[str, Any], no_response: bool = False) -> Answer:
        key = self._key_of(document)
        return await self._write(
            "upsert",
            lambda: self._account.documents.upsert(self._container, key, dict(document), NO_CONDITIONS),
            document["id"],
        )

    async def replace_item(
        self, id_: str, document: dict[str, Any], etag: str | None = None, match_condition: Any = None
    ) -> Answer:
        key, conditions = self._key_of(document), Conditions(etag)
        return await self._write(
            "replace",
            lambda: self._account.documents.replace(self._container, key, id_, dict(document), conditions),
            id_,
        )

    async def patch_item(
        self,
        id_: str,
        partition: str,
        operations: Sequence[dict[str, Any]],
        filter_predicate: str | None = None,
    ) -> Answer:
        change: dict[str, Any] = {"operations": operations}
        if filter_predicate:
            change["condition"] = filter_predicate
        key = self._key(partition)
        return await self._write(
            "patch",
            lambda: self._account.documents.patch(self._container, key, id_, change, NO_CONDITIONS),
            id_,
        )

    async def delete_item(
        self,
        id_: str,
        partition: str,
        response_hook: Callable[[dict[str, str], Any], None] | None = None,
        etag: str | None = None,
        match_condition: Any = None,
    ) -> None:
        key, conditions = self._key(partition), Conditions(etag) if etag else NO_CONDITIONS
        deleted = await self._write(
            "delete", lambda: self._account.documents.delete(self._container, key, id_, conditions), id_
        )
        if response_hook is not None:
            response_hook(deleted.get_response_headers(), None)

    async def execute_item_batch(
        self, operations: Sequence[tuple[Any, ...]], partition: str, no_response: bool = False
    ) -> Answers:
        body, key = orjson.dumps([_batched(operation) for operation in operations]), self._key(partition)

        def effect() -> Answers:
            status, results = self._account.batches.run_atomic(self._container, key, body, minimal=True)
            token = self._token(self._container.lsns[0])
            if status != 200:
                failed = next(
                    number
                    for number, result in enumerate(results)
                    if result["statusCode"] != FAILED_DEPENDENCY
                )
                raise cosmos.CosmosBatchOperationError(
                    error_index=failed,
                    headers={TOKEN: token},
                    status_code=results[failed]["statusCode"],
                    message="an operation of the batch failed",
                    operation_responses=results,
                )
            return Answers([], token)

        about = f"{operations[0][0]} {_id_of(operations[0])} of {len(operations)}"
        answers: Answers = await self._call("batch", effect, about)
        return answers

    async def _write(self, operation: str, work: Callable[[], Written], about: str) -> Answer:
        def effect() -> Answer:
            written = work()
            row: Row | None = written.row
            return Answer(orjson.loads(row.body) if row is not None else {}, self._token(written.lsn))

        answer: Answer = await self._call(operation, effect, about)
        return answer

    async def _call(self, operation: str, work: Callable[[], Any], about: str) -> Any:
        def effect() -> Any:
            try:
                return work()
            except CosmosError as error:
                raise _client_error(error, self._token(self._container.lsns[0])) from None

        answer = await self._network.call("cosmos", operation, effect, ERRORS, f"{self._name} {about}")
        if isinstance(answer, Answer | Answers):
            token = answer.get_response_headers()[TOKEN]
            self._seen = max(self._seen, parse_token(token)[0])
        return answer

    def _key(self, value: str) -> PartitionKey:
        key = self._keys.get(value)
        if key is None:
            key = self._keys[value] = self._container.key.of_header(orjson.dumps([value]).decode())
        return key

    def _key_of(self, document: dict[str, Any]) -> PartitionKey:
        return self._key(document[self._container.body["partitionKey"]["paths"][0][1:]])

    @staticmethod
    def _token(lsn: int) -> str:
        return session_token(0, lsn)


async def _each(texts: Sequence[str]) -> AsyncIterator[Any]:
    for text in texts:
        yield orjson.loads(text)


def _id_of(operation: tuple[Any, ...]) -> str:
    first = operation[1][0]
    return str(first["id"] if isinstance(first, dict) else first)


def _batched(operation: tuple[Any, ...]) -> dict[str, Any]:
    """An operation as the SDK sends it."""
    kind, arguments = operation[0], operation[1]
    options = operation[2] if len(operation) > 2 else {}
    match kind:
        case "create" | "upsert":
            return {"operationType": kind.title(), "resourceBody": arguments[0]}
        case "replace":
            return {
                "operationType": "Replace",
                "id": arguments[0],
                "resourceBody": arguments[1],
                "ifMatch": options.get("if_match_etag"),
            }
        case "patch":
            body: dict[str, Any] = {"operations": arguments[1]}
            if options.get("filter_predicate"):
                body["condition"] = options["filter_predicate"]
            return {"operationType": "Patch", "id": arguments[0], "resourceBody": body}
        case "read" | "delete":
            return {"operationType": kind.title(), "id": arguments[0]}
    raise NotImplementedError(kind)


class SimulatedDatabase:
    """One host's client."""

    def __init__(self, server: CosmosServer, network: Network) -> None:
        self._server, self._network = server, network

    def get_container_client(self, name: str) -> SimulatedContainer:
        return SimulatedContainer(self._server.account, self._network, name)
