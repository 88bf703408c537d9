"""The example app's Service Bus functions, in a blueprint."""

import asyncio
import json
import os
import time
from pathlib import Path

import azure.functions as func

messages = func.Blueprint()


@messages.service_bus_queue_trigger(arg_name="msg", queue_name="%ORDERS_QUEUE%", connection="BUS")
async def on_order(msg: func.ServiceBusMessage) -> None:
    body = msg.get_body().decode()
    started = {"body": body, "id": msg.message_id, "count": msg.delivery_count, "at": time.monotonic()}
    record("orders", started)
    if body.startswith("fail"):
        raise RuntimeError(f"refused: {body}")
    if body.startswith("slow"):
        await asyncio.sleep(float(body.partition(" ")[2]))
    record("orders-done", {"body": body, "at": time.monotonic()})


@messages.service_bus_queue_trigger(arg_name="msg", queue_name="events", connection="BUS")
def on_event(msg: func.ServiceBusMessage) -> None:
    record(
        "events",
        {
            "body": msg.get_body().decode(),
            "subject": msg.subject,
            "properties": msg.user_properties,
            "sequence_number": msg.sequence_number,
            "enqueued": str(msg.enqueued_time_utc),
        },
    )


def record(name: str, value: object) -> None:
    with (Path(os.environ["EXAMPLE_OUTPUT"]) / name).open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")
