"""Conversion of a function's raw bindings to its trigger."""

import json
from collections.abc import Mapping
from typing import Any

from localcloud.functions import definitions
from localcloud.functions.problems import Problems
from localcloud.functions.schedule import ScheduleError, parse_schedule
from localcloud.functions.settings import find_connection

DEFAULT_CONNECTION = "AzureWebJobsServiceBus"
MCP_TRIGGERS = frozenset({"mcpToolTrigger", "mcpResourceTrigger"})
SUPPORTED = frozenset({"httpTrigger", "timerTrigger", "serviceBusTrigger", "http"}) | MCP_TRIGGERS


def refuse_unsupported(where: str, bindings: list[dict[str, Any]], problems: Problems) -> bool:
    """Report unsupported bindings, and return whether there are none."""
    others = [binding["type"] for binding in bindings if binding.get("type") not in SUPPORTED]
    others += [f"http as {b['name']!r}" for b in bindings if b["type"] == "http" and b["name"] != "$return"]
    for kind in others:
        remedy = "use HTTP, timer, Service Bus and MCP triggers, and the SDKs for the rest"
        problems.error(where, f"binding type {kind!r} is not supported by the dev host", remedy)
    return not others


def parse_trigger(
    where: str, raw: dict[str, Any], name: str, environ: Mapping[str, str], problems: Problems
) -> definitions.Trigger | None:
    if raw["type"] == "httpTrigger":
        return _http(raw, name)
    if raw["type"] == "timerTrigger":
        return _timer(where, raw, environ, problems)
    if raw["type"] in MCP_TRIGGERS:
        return _mcp(where, raw, problems)
    return _service_bus(where, raw, environ, problems)


def _mcp(where: str, raw: dict[str, Any], problems: Problems) -> definitions.Trigger | None:
    description = raw.get("description") or ""
    if raw["type"] == "mcpResourceTrigger":
        mime_type = raw.get("mimeType") or "text/plain"
        return definitions.McpResourceTrigger(raw["uri"], raw["resourceName"], description, mime_type)
    try:
        properties = json.loads(raw.get("toolProperties") or "[]")
        named = all(isinstance(item["propertyName"], str) for item in properties)
    except (ValueError, TypeError, KeyError):
        named = False
    if not named:
        remedy = 'give a JSON array of {"propertyName", "propertyType", "description", "isRequired"}'
        problems.error(where, "tool_properties cannot be read", remedy)
        return None
    return definitions.McpToolTrigger(raw["toolName"], description, tuple(properties))


def _http(raw: dict[str, Any], name: str) -> definitions.HttpTrigger:
    methods = raw.get("methods")
    return definitions.HttpTrigger(
        route=raw.get("route") or name,
        methods=frozenset(method.upper() for method in methods) if methods else None,
        auth_level=str(raw.get("authLevel", "function")).lower(),
        largest_body=raw.get("maxBodyBytes"),
    )


def _timer(
    where: str, raw: dict[str, Any], environ: Mapping[str, str], problems: Problems
) -> definitions.TimerTrigger | None:
    schedule = raw.get("schedule", "")
    try:
        parse_schedule(schedule, environ.get("WEBSITE_TIME_ZONE"))
    except ScheduleError as error:
        remedy = "write six NCRONTAB fields, seconds first, such as '0 */5 * * * *'"
        problems.error(where, f"schedule {schedule!r}: {error}", remedy)
        return None
    return definitions.TimerTrigger(
        schedule, bool(raw.get("runOnStartup", False)), bool(raw.get("useMonitor", True))
    )


def _service_bus(
    where: str, raw: dict[str, Any], environ: Mapping[str, str], problems: Problems
) -> definitions.ServiceBusTrigger | None:
    connection = raw.get("connection") or DEFAULT_CONNECTION
    sound = True
    if find_connection(connection, environ) is None:
        problems.error(where, f"connection {connection!r} is not set", "set it to a connection string")
        sound = False
    if not raw.get("queueName"):
        problems.error(where, "has no queue name", "set queue_name, and forward subscriptions to a queue")
        sound = False
    for name, taken in (("isSessionsEnabled", "False"), ("cardinality", "one"), ("dataType", "undefined")):
        if str(raw.get(name) or taken).lower() != taken.lower():
            problem = f"{name} {raw[name]!r} is not supported by the dev host"
            problems.error(
                where, problem, "remove it: messages are delivered one at a time, without sessions"
            )
            sound = False
    if not sound:
        return None
    return definitions.ServiceBusTrigger(connection, raw["queueName"], _flag(raw.get("autoCompleteMessages")))


def _flag(value: Any) -> bool | None:
    return None if value is None else str(value).lower() == "true"


def warn_of_retry_policy(where: str, declared: Mapping[str, Any] | None, problems: Problems) -> None:
    if declared:
        problem = (
            "its retry policy is ignored: Azure has none for HTTP and Service Bus, and the dev host has none"
        )
        problems.warn(
            where, problem, "remove it: the broker redelivers messages up to the max delivery count"
        )
