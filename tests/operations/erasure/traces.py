"""Search everything that is stored anywhere, through the SDKs, for words that must be gone."""

import asyncio
import gzip
import json
from collections.abc import Callable, Iterable

from azure.servicebus import ServiceBusSubQueue
from azure.servicebus.aio import ServiceBusClient
from azure.storage.blob.aio import BlobServiceClient

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.models.containers import CONTAINERS
from shared.models.queries.named_query import NamedQuery
from shared.pipeline.topology import QUEUES

GZIP = b"\x1f\x8b"


async def places_of(clients: Clients, words: Iterable[str]) -> dict[str, set[str]]:
    """Return the places of each word in every container, the index, every blob and every queue."""
    found: dict[str, set[str]] = {word: set() for word in words}
    read = {"containers": 0, "passages": 0, "blobs": 0, "queues": 0}

    def look(place: str, text: str) -> None:
        for word, places in found.items():
            if word.lower() in text.lower():
                places.add(place)

    for name in CONTAINERS:
        query = NamedQuery("everything", name, "SELECT * FROM c")
        read["containers"] += 1
        async for row in clients.store.query(query, Session()):
            look(f"{name}/{row['id']}", json.dumps(row, ensure_ascii=False))
    for hit in await clients.index.search("*", top=1000):
        read["passages"] += 1
        look(f"index/{hit.chunk_id}", json.dumps(hit.payload, default=str, ensure_ascii=False))
    async with _blobs(clients) as service:
        async for container in service.list_containers():
            client = service.get_container_client(container.name)
            async for blob in client.list_blobs():
                content = await (await client.download_blob(blob.name)).readall()
                content = gzip.decompress(content) if content.startswith(GZIP) else content
                read["blobs"] += 1
                look(f"blob {container.name}/{blob.name}", content.decode("utf-8", "replace"))
    await _queues(clients, look, read)
    assert read["containers"] == len(CONTAINERS)
    assert min(read["passages"], read["blobs"]) > 0
    assert read["queues"] == 2 * len(QUEUES)
    return {word: places for word, places in found.items() if places}


def _blobs(clients: Clients) -> BlobServiceClient:
    connection = clients.settings.STORAGE_CONNECTION
    assert connection is not None
    return BlobServiceClient.from_connection_string(connection.get_secret_value())


async def _queues(clients: Clients, look: Callable[[str, str], None], read: dict[str, int]) -> None:
    connection = clients.settings.SERVICEBUS_CONNECTION
    assert connection is not None
    async with ServiceBusClient.from_connection_string(connection.get_secret_value()) as bus:

        async def peek(queue: str, part: ServiceBusSubQueue | None) -> None:
            async with bus.get_queue_receiver(queue, sub_queue=part) as receiver:
                for message in await receiver.peek_messages(max_message_count=200):
                    look(f"queue {queue}", f"{message} {message.application_properties}")
            read["queues"] += 1

        for queue in QUEUES:
            await asyncio.gather(peek(queue, None), peek(queue, ServiceBusSubQueue.DEAD_LETTER))
