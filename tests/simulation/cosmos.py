"""The part of azure-cosmos that shared.azure.cosmos.store.Store uses, on an engine of Cosmos DB."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

import orjson
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.cosmos import exceptions as cosmos

from localcloud.testing import Clock, CosmosEngine
from tests.simulation.chance import Fault
from tests.simulation.network import Errors, Network

DATABASE = "consensus"
TOKEN = "x-ms-session-token"
NOT_IN_SESSION = 1002
FAILED_DEPENDENCY = 424
HTTP_OK = 200


class ContainerEngine(Protocol):
    """A container without a network. It raises CosmosEngine.Error."""

    @property
    def lsn(self) -> int: ...
    def view(self, seen: int) -> Any: ...
    def primary(self) -> Any: ...
    def lsn_of(self, view: Any) -> int: ...
    def read(self, view: Any, id_: str, partition: str) -> bytes: ...
    def query(
        self,
        view: Any,
        partition: str | None,
        text: str,
        values: Mapping[str, Any],
        max_items: int | None,
        continuation: str | None,
    ) -> CosmosEngine.Page: ...
    def create(self, document: dict[str, Any]) -> bytes: ...
    def upsert(self, document: dict[str, Any]) -> bytes: ...
    def replace(self, id_: str, document: dict[str, Any], etag: str | None) -> bytes: ...
    def patch(self, id_: str, partition: str, change: Mapping[str, Any]) -> bytes: ...
    def delete(self, id_: str, partition: str, etag: str | None) -> None: ...
    def batch(
        self, operations: Sequence[Mapping[str, Any]], partition: str
    ) -> tuple[int, list[dict[str, Any]]]: ...


class Engine(Protocol):
    @property
    def lag(self) -> float: ...
    def set_lag(self, seconds: float) -> None: ...
    def container(self, name: str) -> Any: ...
    def restart(self, clock: Clock, saved: Any) -> None: ...
    def save(self) -> Any: ...
    def rows(self, container: str) -> list[dict[str, Any]]: ...


class Answer(dict[str, Any]):
    """A document in the form that the SDK returns."""

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


_ANSWERS = (Answer, Answers)


def _broken(sent: bool) -> Exception:
    return (ServiceResponseError if sent else ServiceRequestError)("the connection broke")


def _refused(fault: Fault) -> Exception:
    status = 429 if fault is Fault.THROTTLE else 503
    return cosmos.CosmosHttpResponseError(status_code=status, message="refused by the simulation")


ERRORS = Errors(_broken, _refused, resends=False)  # it does not repeat a write whose answer was lost


def _client_error(error: CosmosEngine.Error, token: str) -> Exception:
    kind: Any = {
        404: cosmos.CosmosResourceNotFoundError,
        409: cosmos.CosmosResourceExistsError,
        412: cosmos.CosmosAccessConditionFailedError,
    }.get(error.status, cosmos.CosmosHttpResponseError)
    raised: Exception = kind(status_code=error.status, message=str(error))
    raised.headers = {TOKEN: token}  # type: ignore[attr-defined]  # the SDK sets them from the answer
    raised.sub_status = error.substatus  # type: ignore[attr-defined]
    return raised


class SimulatedContainer:
    """One host's client of a container. Like the SDK's, it remembers the session of its own calls."""

    def __init__(self, engine: ContainerEngine, network: Network, name: str) -> None:
        self._engine, self._network, self._name = engine, network, name
        self._seen = 0

    async def read_item(self, id_: str, partition: str, session_token: str | None = None) -> Answer:
        def work(view: Any) -> Answer:
            body = self._engine.read(view, id_, partition)
            return Answer(orjson.loads(body), CosmosEngine.token(self._engine.lsn_of(view)))

        found: Answer = await self._read("read", work, session_token, id_)
        return found

    async def read_items(self, keys: Sequence[tuple[str, str]], session_token: str | None = None) -> Answers:
        def work(view: Any) -> Answers:
            found = []
            for id_, partition in keys:
                try:
                    found.append(orjson.loads(self._engine.read(view, id_, partition)))
                except CosmosEngine.Error:
                    continue
            return Answers(found, CosmosEngine.token(self._engine.lsn_of(view)))

        if not keys:
            return Answers([], CosmosEngine.token(0))
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
        query = self._engine.query

        async def pages() -> AsyncIterator[AsyncIterator[Any]]:
            continuation: str | None = None
            while True:

                def work(view: Any, start: str | None = continuation) -> CosmosEngine.Page:
                    return query(view, partition_key, text, values, max_item_count, start)

                page = await self._read("query", work, session_token, text[7:60])
                yield _each(page.items)
                continuation = page.continuation
                if continuation is None:
                    return

        return SimpleNamespace(by_page=pages)

    async def _read(self, operation: str, work: Callable[[Any], Any], token: str | None, about: str) -> Any:
        engine = self._engine
        try:
            return await self._call(operation, lambda: work(engine.view(self._seen_by(token))), about)
        except cosmos.CosmosResourceNotFoundError as error:
            if error.sub_status != NOT_IN_SESSION:
                raise
        # The replica lags, so the SDK asks the write region.
        return await self._call(operation, lambda: work(engine.primary()), about)

    def _seen_by(self, token: str | None) -> int:
        return CosmosEngine.lsn(token) if token else self._seen

    # A container has one physical partition here. The SDK knows it without a call.

    async def read_feed_ranges(self, *, force_refresh: bool = False) -> AsyncIterator[dict[str, Any]]:
        yield {}

    async def feed_range_from_partition_key(self, partition: str) -> dict[str, Any]:
        return {}

    async def is_feed_range_subset(self, parent: dict[str, Any], child: dict[str, Any]) -> bool:
        return True

    async def create_item(self, document: dict[str, Any], no_response: bool = False) -> Answer:
        return await self._write("create", lambda: self._engine.create(dict(document)), document["id"])

    async def upsert_item(self, document: dict[str, Any], no_response: bool = False) -> Answer:
        return await self._write("upsert", lambda: self._engine.upsert(dict(document)), document["id"])

    async def replace_item(
        self, id_: str, document: dict[str, Any], etag: str | None = None, match_condition: Any = None
    ) -> Answer:
        return await self._write("replace", lambda: self._engine.replace(id_, dict(document), etag), id_)

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
        return await self._write("patch", lambda: self._engine.patch(id_, partition, change), id_)

    async def delete_item(
        self,
        id_: str,
        partition: str,
        response_hook: Callable[[dict[str, str], Any], None] | None = None,
        etag: str | None = None,
        match_condition: Any = None,
    ) -> None:
        def effect() -> bytes:
            self._engine.delete(id_, partition, etag)
            return b"{}"

        deleted = await self._write("delete", effect, id_)
        if response_hook is not None:
            response_hook(deleted.get_response_headers(), None)

    async def execute_item_batch(
        self,
        operations: Sequence[tuple[Any, ...]],
        partition: str,
        *,
        no_response: bool = False,
        session_token: str | None = None,
    ) -> Answers:
        # Copy the operations, because the caller may change its documents later.
        sent = orjson.loads(orjson.dumps([_batched(operation) for operation in operations]))

        def effect() -> Answers:
            status, results = self._engine.batch(sent, partition)
            if status != HTTP_OK:
                raise _batch_error(results, self._token())
            return Answers(results, self._token())

        about = f"{operations[0][0]} {_id_of(operations[0])} of {len(operations)}"
        answers: Answers = await self._call("batch", effect, about)
        return answers

    async def _write(self, operation: str, work: Callable[[], bytes], about: str) -> Answer:
        def effect() -> Answer:
            return Answer(orjson.loads(work()), self._token())

        answer: Answer = await self._call(operation, effect, about)
        return answer

    async def _call(self, operation: str, work: Callable[[], Any], about: str) -> Any:
        def effect() -> Any:
            try:
                return work()
            except CosmosEngine.Error as error:
                raise _client_error(error, self._token()) from None

        answer = await self._network.call("cosmos", operation, effect, ERRORS, f"{self._name} {about}")
        if isinstance(answer, _ANSWERS):
            self._seen = max(self._seen, CosmosEngine.lsn(answer.get_response_headers()[TOKEN]))
        return answer

    def _token(self) -> str:
        return CosmosEngine.token(self._engine.lsn)


def _batch_error(results: Sequence[Mapping[str, Any]], token: str) -> Exception:
    codes = [result["statusCode"] for result in results]
    failed = next(number for number, code in enumerate(codes) if code != FAILED_DEPENDENCY)
    return cosmos.CosmosBatchOperationError(
        error_index=failed,
        headers={TOKEN: token},
        status_code=codes[failed],
        message="an operation of the batch failed",
        operation_responses=results,
    )


async def _each(texts: Sequence[str]) -> AsyncIterator[Any]:
    for text in texts:
        yield orjson.loads(text)


def _id_of(operation: tuple[Any, ...]) -> str:
    first = operation[1][0]
    return str(first["id"] if isinstance(first, dict) else first)


def _batched(operation: tuple[Any, ...]) -> dict[str, Any]:
    """Return an operation in the form that the SDK sends."""
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
            etag = options.get("if_match_etag")
            return {"operationType": "Patch", "id": arguments[0], "resourceBody": body, "ifMatch": etag}
        case "read" | "delete":
            etag = options.get("if_match_etag")
            return {"operationType": kind.title(), "id": arguments[0], "ifMatch": etag}
    raise NotImplementedError(kind)


class SimulatedDatabase:
    """One host's client."""

    def __init__(self, server: Engine, network: Network) -> None:
        self._server, self._network = server, network

    def get_container_client(self, name: str) -> SimulatedContainer:
        return SimulatedContainer(self._server.container(name), self._network, name)
