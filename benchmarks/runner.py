"""Benchmark of the overhead of the stage runner and its clients over bare SDK calls.

    python -m benchmarks.runner [--events 60] [--rounds 6]

Bare SDK calls and a stage under the runner do the same work on the same local cloud, alternately: read many,
a transactional batch, an index upsert and a publish. The stage's own work (parsing documents to models and
creating new ones) is the same in both. The output has the wall and client CPU time of both, and the ratios.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from azure.core.credentials import AzureKeyCredential
from azure.cosmos.aio import CosmosClient
from azure.search.documents.aio import SearchClient
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from shared.azure.connections import TOPIC
from shared.models.containers import read_document
from shared.models.threads import Message
from shared.pipeline.delivery import Delivery
from shared.pipeline.event_types import JSONParsed
from shared.pipeline.runner import StageRunner
from shared.settings.app import Settings
from tests.support.cloud import local_cloud, servicebus
from tests.support.events import event_of
from tests.support.toy_stages import Bench, Toy, bench, chunk_of

MESSAGES_PER_EVENT = 20
Measure = tuple[float, float]


async def measure(work: Callable[[], Awaitable[None]]) -> Measure:
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return time.perf_counter() - wall, time.process_time() - cpu


class BareSdk:
    """The toy stage's calls, without code of this project around them."""

    def __init__(self, settings: Settings) -> None:
        assert settings.COSMOS_KEY is not None
        assert settings.SEARCH_KEY is not None
        assert settings.SERVICEBUS_CONNECTION is not None
        self.cosmos = CosmosClient(settings.COSMOS_ENDPOINT, settings.COSMOS_KEY.get_secret_value())
        database = self.cosmos.get_database_client(settings.COSMOS_DATABASE)
        self.messages = database.get_container_client("messages")
        self.chunks = database.get_container_client("chunks")
        key = AzureKeyCredential(settings.SEARCH_KEY.get_secret_value())
        self.index = SearchClient(
            settings.SEARCH_ENDPOINT,
            settings.SEARCH_INDEX,
            key,
            connection_verify=str(settings.SEARCH_CA_FILE),
        )
        self.bus = ServiceBusClient.from_connection_string(settings.SERVICEBUS_CONNECTION.get_secret_value())
        self.sender = self.bus.get_topic_sender(TOPIC)

    async def work(self, keys: list[str]) -> None:
        shelf = Message.partition_of("t1")
        stored = await self.messages.read_items([(key, shelf) for key in keys])
        messages = [read_document(Message, document) for document in stored]
        chunks = [chunk_of(message).to_cosmos() for message in messages]
        for chunk in chunks:
            chunk["id"] = chunk["chunk_id"] = f"b-{chunk['message_key']}"
        await self.chunks.execute_item_batch([("create", (chunk,)) for chunk in chunks], "t1")
        results = await self.index.merge_or_upload_documents(
            [
                {"chunk_id": chunk["id"], "thread_id": "t1", "text": chunk["text"], "embedding": [0.5] * 4}
                for chunk in chunks
            ]
        )
        assert all(result.succeeded for result in results)  # a response of 200 can have failed items
        batch = await self.sender.create_message_batch()
        body = json.dumps(
            {"event_type": "None", "data": {"chunk_ids": [chunk["id"] for chunk in chunks] * 3}}
        )
        batch.add_message(ServiceBusMessage(body, subject="None", message_id=keys[0]))
        await self.sender.send_messages(batch)

    async def close(self) -> None:
        await self.sender.close()
        await self.bus.close()
        await self.index.close()
        await self.cosmos.close()


async def prepare(place: Bench, events: int, rounds: int) -> list[list[JSONParsed]]:
    """Store the messages for all events of all rounds."""
    planned = []
    for number in range(rounds):
        batch = []
        for event in range(events):
            keys = [f"{number}-{event}-{i}" for i in range(MESSAGES_PER_EVENT)]
            await place.store_messages(*keys)
            batch.append(place.parsed(*keys))
        planned.append(batch)
    return planned


async def run(events: int, rounds: int) -> list[tuple[Measure, Measure]]:
    with tempfile.TemporaryDirectory() as folder, local_cloud() as cloud, servicebus(Path(folder)) as bus:
        settings = cloud.settings(bus)
        async with bench(settings) as place:
            bare, runner = BareSdk(settings), StageRunner(Toy(uploads=False).stage(), place.clients)
            planned = await prepare(place, events, rounds + 1)

            async def by_sdk(batch: list[JSONParsed]) -> None:
                for data in batch:
                    await bare.work(data.message_keys)

            async def by_runner(batch: list[JSONParsed]) -> None:
                for data in batch:
                    await runner.run(Delivery(event_of(data).to_json(), "id"))

            measured = []
            for number, batch in enumerate(planned):
                pair = [("sdk", by_sdk), ("runner", by_runner)]
                results = {}
                for name, work in pair if number % 2 else reversed(pair):
                    results[name] = await measure(lambda work=work, batch=batch: work(batch))  # type: ignore[misc]
                measured.append((results["sdk"], results["runner"]))
            await bare.close()
            return measured[1:]  # the first round opens the connections


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    measured = asyncio.run(run(options.events, options.rounds))
    print(f"{options.events} events of {MESSAGES_PER_EVENT} messages, {options.rounds} rounds, medians")
    print("                  bare SDK    runner   ratio")
    for index, name in enumerate(("wall ms/event", "CPU ms/event")):
        sdk = statistics.median(pair[0][index] for pair in measured) * 1000 / options.events
        ours = statistics.median(pair[1][index] for pair in measured) * 1000 / options.events
        ratio = statistics.median(found_run[1][index] / found_run[0][index] for found_run in measured)
        print(f"  {name:<14} {sdk:>9.2f} {ours:>9.2f} {ratio:>7.2f}")


if __name__ == "__main__":
    main()
