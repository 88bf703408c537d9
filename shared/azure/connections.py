"""The connections of a process: with keys locally, and with a managed identity in Azure."""

import asyncio
import urllib.request
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar

from azure.core.credentials import AzureKeyCredential

from shared.azure.blobs import Blobs
from shared.azure.calls import STAGE_TIMES, Calls
from shared.azure.cosmos.store import Store
from shared.azure.search.index import Index
from shared.azure.servicebus.bus import Bus
from shared.azure.telemetry.setup import telemetry_ready
from shared.core.concurrency import Closable, StartedOnce
from shared.core.lazy_import import lazy, tune_garbage_collector
from shared.core.runtime import Runtime
from shared.models.containers import CONTAINERS, ContainerSpec
from shared.settings.app import Settings, settings

if TYPE_CHECKING:
    from azure import cosmos
    from azure.core.pipeline import transport
    from azure.cosmos import aio as cosmos_aio
    from azure.identity import aio as identity_aio
    from azure.search.documents import aio as search_aio
    from azure.search.documents.indexes import aio as search_admin
    from azure.servicebus import aio as servicebus_aio
    from azure.storage.blob import aio as blob_aio

    Identity = identity_aio.DefaultAzureCredential
else:
    transport = lazy("azure.core.pipeline.transport")
    cosmos, cosmos_aio = lazy("azure.cosmos"), lazy("azure.cosmos.aio")
    identity_aio = lazy("azure.identity.aio")
    search_aio, search_admin = lazy("azure.search.documents.aio"), lazy("azure.search.documents.indexes.aio")
    servicebus_aio = lazy("azure.servicebus.aio")
    blob_aio = lazy("azure.storage.blob.aio")

Closed = TypeVar("Closed", bound=Closable)
TOPIC = "events"  # as infra/servicebus/Config.json and the Bicep name it
TOO_MANY_REQUESTS = 429
# The SDK retries short failures. The runner retries longer failures, because it counts and reports them.
QUICK_RETRIES = 2
QUICKLY: dict[str, Any] = {"retry_total": QUICK_RETRIES, "retry_backoff_factor": 0.2}
BLOCK_BYTES = 1024 * 1024  # a larger body would block the event loop during its write


class _FirstUse:
    """Initialize the Cosmos DB client on first use, not at the start."""

    def __init__(self, client: "cosmos_aio.CosmosClient") -> None:
        self._client = client
        self._entering: asyncio.Task[Any] | None = None

    async def __call__(self) -> None:
        entering = self._entering
        if entering is None or (entering.done() and (entering.cancelled() or entering.exception())):
            entering = self._entering = asyncio.create_task(self._client.__aenter__())
        if not entering.done() or entering.exception():
            await asyncio.shield(entering)  # the deadline of one caller does not cancel it for other callers

    async def close(self) -> None:
        if self._entering is not None:
            self._entering.cancel()
            await asyncio.wait({self._entering})


class LayoutError(Exception):
    """Another version created the containers with other partition keys."""


@dataclass(eq=False)
class Clients:
    """The clients of all services, with the settings and the runtime."""

    settings: Settings
    store: Store
    bus: Bus
    index: Index
    blobs: Blobs
    _cosmos: "cosmos_aio.CosmosClient"
    _exit: AsyncExitStack
    runtime: Runtime = field(default_factory=Runtime)
    resources: StartedOnce = field(default_factory=StartedOnce)  # started by higher packages on first use
    connected_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.connected_at = self.runtime.now()

    @classmethod
    async def connect(cls, settings: Settings, runtime: Runtime | None = None) -> Self:
        runtime, calls = runtime or Runtime(), partial(Calls, request_seconds=settings.REQUEST_SECONDS)
        async with AsyncExitStack() as opened:

            def opening(client: Closed) -> Closed:
                opened.push_async_callback(client.close)
                return client

            # One credential for all services. It caches the tokens, and does nothing if keys are used.
            client_id = settings.AZURE_CLIENT_ID
            identity = opening(identity_aio.DefaultAzureCredential(managed_identity_client_id=client_id))
            cosmos = opening(_cosmos(settings, identity))
            namespace, most = _service_bus(settings, identity), settings.SERVICEBUS_MAX_CONNECTIONS
            bus = opening(Bus(namespace, TOPIC, calls("servicebus"), most))
            index = opening(_index(settings, identity, runtime, calls("search")))
            blobs = opening(Blobs(_blob_service(settings, identity), calls("blobs")))
            connected = opening(_FirstUse(cosmos))
            database = cosmos.get_database_client(settings.COSMOS_DATABASE)
            store = Store(database, calls("cosmos"), connected=connected)
            return cls(settings, store, bus, index, blobs, cosmos, opened.pop_all(), runtime)

    def calls(self, dependency: str) -> Calls:
        return Calls(dependency, request_seconds=self.settings.REQUEST_SECONDS)

    async def ensure_containers(self) -> None:
        """Create the database and its missing containers. In Azure the deployment creates them."""
        await self._cosmos.__aenter__()
        database = await self._cosmos.create_database_if_not_exists(self.settings.COSMOS_DATABASE)
        existing = {container["id"]: container async for container in database.list_containers()}
        for spec in CONTAINERS.values():
            if spec.name in existing:
                _check_layout(spec, existing[spec.name])
                continue
            options: dict[str, Any] = {} if spec.default_ttl is None else {"default_ttl": spec.default_ttl}
            with suppress(cosmos.exceptions.CosmosResourceExistsError):  # another process was faster
                key, indexing = cosmos.PartitionKey(spec.partition_path), spec.indexing_policy()
                await database.create_container(spec.name, key, indexing_policy=indexing, **options)

    async def close(self) -> None:
        try:
            await self.resources.close()
        finally:
            await self._exit.aclose()


def _check_layout(spec: ContainerSpec, existing: Mapping[str, Any]) -> None:
    """Raise LayoutError if the partition key differs, because it cannot be changed."""
    (found,) = existing["partitionKey"]["paths"]
    if found != spec.partition_path:
        raise LayoutError(
            f"the container {spec.name} is partitioned by {found}, but this version needs"
            f" {spec.partition_path}. An earlier version created it."
            " Locally, start with an empty folder (make run ARGS=--fresh)."
            " In Azure, set COSMOS_DATABASE to another name, deploy, and upload the archives again."
        )


def _cosmos(settings: Settings, identity: "Identity") -> "cosmos_aio.CosmosClient":
    calls = Calls("cosmos")

    def observe(response: Any) -> None:
        headers, path = response.http_response.headers, response.http_request.url
        container = path.partition("/colls/")[2].partition("/")[0]
        calls.request_units(float(headers.get("x-ms-request-charge") or 0), container)
        if response.http_response.status_code == TOO_MANY_REQUESTS:
            calls.throttled()

    key = settings.COSMOS_KEY
    return cosmos_aio.CosmosClient(
        settings.COSMOS_ENDPOINT,
        credential=identity if key is None else key.get_secret_value(),
        raw_response_hook=observe,
        # aiohttp reads the proxy settings on every request, in a thread: a third of the cost of a call.
        transport=transport.AioHttpTransport(use_env_settings=bool(urllib.request.getproxies())),
    )


def _service_bus(settings: Settings, identity: "Identity") -> "servicebus_aio.ServiceBusClient":
    # The SDK's own limit applies to calls of its senders and receivers that do not use our Calls.
    options = {**QUICKLY, "try_timeout": STAGE_TIMES * settings.REQUEST_SECONDS}
    make, connection = servicebus_aio.ServiceBusClient, settings.SERVICEBUS_CONNECTION
    if connection is not None:
        return make.from_connection_string(connection.get_secret_value(), **options)
    return make(settings.SERVICEBUS_CONNECTION__fullyQualifiedNamespace or "", identity, **options)


def _index(settings: Settings, identity: "Identity", runtime: Runtime, calls: Calls) -> Index:
    key = settings.SEARCH_KEY
    credential = identity if key is None else AzureKeyCredential(key.get_secret_value())
    options = {**QUICKLY}
    if settings.SEARCH_CA_FILE is not None:
        options["connection_verify"] = str(settings.SEARCH_CA_FILE)
    endpoint = settings.SEARCH_ENDPOINT
    return Index(
        lambda name: search_aio.SearchClient(endpoint, name, credential, **options),
        search_admin.SearchIndexClient(endpoint, credential, **options),
        settings.SEARCH_INDEX,
        settings.EMBEDDING_MODEL,
        runtime=runtime,
        calls=calls,
    )


def _blob_service(settings: Settings, identity: "Identity") -> "blob_aio.BlobServiceClient":
    options: dict[str, Any] = {
        "retry_policy": blob_aio.LinearRetry(backoff=1, retry_total=QUICK_RETRIES, random_jitter_range=1),
        "max_block_size": BLOCK_BYTES,
        "max_single_put_size": BLOCK_BYTES,
    }
    make, connection = blob_aio.BlobServiceClient, settings.STORAGE_CONNECTION
    if connection is not None:
        return make.from_connection_string(connection.get_secret_value(), **options)
    return make(settings.STORAGE_BLOB_ENDPOINT or "", identity, **options)


def _import_sdks() -> None:
    """Import the SDKs. It runs in a thread, because it would block the event loop."""
    for module in (cosmos_aio, identity_aio, search_aio, search_admin, servicebus_aio, blob_aio):
        import_module(module.__name__)
    tune_garbage_collector()


async def _connect() -> Clients:
    await telemetry_ready()
    await asyncio.to_thread(_import_sdks)
    return await Clients.connect(settings())


_connected = StartedOnce()


async def clients() -> Clients:
    """Return the connections of this process, created on first use. Every trigger starts here."""
    return await _connected.get(asyncio.get_running_loop(), _connect)
