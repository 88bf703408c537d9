"""The local Cosmos DB inside the test's process: the real SDK and Store call the engine without a socket.

For tests of conditions and patches, which need the database but no other service.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast
from urllib.parse import urlsplit

from azure.core.pipeline.transport import AsyncHttpResponse, AsyncHttpTransport, HttpRequest
from azure.core.utils import CaseInsensitiveDict
from azure.cosmos.aio import CosmosClient

from localcloud.testing import CosmosEngine
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Store
from shared.azure.servicebus.bus import Bus
from shared.core.runtime import Runtime
from shared.models.base import Document
from shared.models.containers import CONTAINERS
from shared.models.queries.named_query import NamedQuery
from shared.settings.app import Settings

if TYPE_CHECKING:
    from shared.azure.blobs import Blobs
    from shared.azure.search.index import Index

__all__ = ["DATABASE", "changes_to", "clients_on_engine", "container_definitions", "stored_fields"]

ENDPOINT = "http://localhost:8081"
DATABASE = "test"


class _EngineResponse(AsyncHttpResponse):
    def __init__(self, request: HttpRequest, answer: CosmosEngine.Answer) -> None:
        super().__init__(request, answer)
        self.status_code = answer.status
        self.reason = ""
        self.headers = CaseInsensitiveDict(answer.headers)
        self.content_type = "application/json"
        self._body = answer.body

    def body(self) -> bytes:
        return self._body


class EngineTransport(AsyncHttpTransport[HttpRequest, AsyncHttpResponse]):
    """Passes the SDK's requests to the engine."""

    def __init__(self, engine: CosmosEngine) -> None:
        self._engine = engine

    async def send(self, request: HttpRequest, **_options: Any) -> AsyncHttpResponse:
        url = urlsplit(request.url)
        target = f"{url.path}?{url.query}" if url.query else url.path
        headers = {name.lower(): str(value) for name, value in request.headers.items()}
        body = request.data or b""
        raw = body.encode() if isinstance(body, str) else cast("bytes", body)
        await asyncio.sleep(0)  # as over a network, the answer arrives in a later turn of the loop
        return _EngineResponse(request, self._engine.answer(request.method, target, headers, raw))

    async def open(self) -> None:
        """Nothing to connect."""

    async def close(self) -> None:
        """Nothing to disconnect."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """Nothing to close."""


def container_definitions() -> list[dict[str, Any]]:
    """Return the app's containers, as the SDK would send them."""
    return [
        {
            "id": spec.name,
            "partitionKey": {"paths": [spec.partition_path], "kind": "Hash", "version": 2},
            "indexingPolicy": spec.indexing_policy(),
            **({} if spec.default_ttl is None else {"defaultTtl": spec.default_ttl}),
        }
        for spec in CONTAINERS.values()
    ]


@asynccontextmanager
async def clients_on_engine(
    bus: Bus | None = None,
    runtime: Runtime | None = None,
    engine: CosmosEngine | None = None,
    **settings: str,
) -> AsyncIterator[Clients]:
    """Return clients with an empty database of their own. There is no other service."""
    loaded = Settings.model_validate(
        {"COSMOS_ENDPOINT": ENDPOINT, "COSMOS_DATABASE": DATABASE, "SEARCH_ENDPOINT": ENDPOINT, **settings}
    )
    engine = engine or CosmosEngine(loaded.COSMOS_DATABASE, container_definitions())
    try:
        async with CosmosClient(ENDPOINT, CosmosEngine.KEY, transport=EngineTransport(engine)) as cosmos:
            store = Store(cosmos.get_database_client(loaded.COSMOS_DATABASE))
            absent = (cast("Index", None), cast("Blobs", None))
            clients = Clients(
                loaded, store, cast("Bus", bus), *absent, cosmos, AsyncExitStack(), runtime or Runtime()
            )
            yield clients
    finally:
        engine.close()


async def stored_fields(store: Store, document: Document, session: Session | None = None) -> dict[str, Any]:
    """Return the stored document, without the database's own fields."""
    query = NamedQuery("stored", document.container, "SELECT * FROM c WHERE c.id = @id")
    (stored,) = [row async for row in store.query(query, session or Session(), id=document.id)]
    return {name: value for name, value in stored.items() if not name.startswith("_")}


async def changes_to(
    store: Store, document: Document, change: Callable[[], Awaitable[Any]]
) -> dict[str, Any]:
    """Store the document, make the change, and return the fields that changed."""
    await store.upsert(document, Session())
    before = await stored_fields(store, document)
    await change()
    after = await stored_fields(store, document)
    return {name: after.get(name) for name in before | after if before.get(name) != after.get(name)}
