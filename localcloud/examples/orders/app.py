"""An app with only Microsoft's SDKs: `localcloud up --only cosmos,servicebus --once -- python app.py`."""

import json
import os

from azure.cosmos import CosmosClient, PartitionKey
from azure.servicebus import ServiceBusClient, ServiceBusMessage


def main() -> None:
    with (
        ServiceBusClient.from_connection_string(os.environ["SERVICEBUS_CONNECTION"]) as bus,
        CosmosClient(os.environ["COSMOS_ENDPOINT"], os.environ["COSMOS_KEY"]) as cosmos,
    ):
        with bus.get_queue_sender("orders") as sender:
            orders = [{"id": str(number), "customer": "Ada", "total": number * 10} for number in range(1, 4)]
            sender.send_messages([ServiceBusMessage(json.dumps(order)) for order in orders])
        shop = cosmos.create_database_if_not_exists("shop")
        kept = shop.create_container_if_not_exists("orders", PartitionKey("/customer"))
        with bus.get_queue_receiver("orders", max_wait_time=2) as receiver:
            for message in receiver:
                kept.upsert_item(json.loads(str(message)))
                receiver.complete_message(message)

        query = "SELECT VALUE SUM(c.total) FROM c WHERE c.customer = @name"
        sums = kept.query_items(query, [{"name": "@name", "value": "Ada"}], partition_key="Ada")
        print(f"Ada ordered for {next(iter(sums))}.")


main()
