"""Turns a function's raw bindings, as the app declares them, into its trigger."""

from collections.abc import Mapping
from typing import Any

from localcloud.functions import definitions
from localcloud.functions.problems import Problems
from localcloud.functions.schedule import ScheduleError, parse_schedule
from localcloud.functions.settings import find_connection
from localcloud.timespan import parse_timespan

DEFAULT_CONNECTION = "AzureWebJobsServiceBus"
LONGEST_DELAY_SECONDS = 2_147_483_647.0
SUPPORTED = frozenset({"httpTrigger", "timerTrigger", "serviceBusTrigger", "http"})


def refuse_unsupported(where: str, bindings: list[dict[str, Any]], problems: Problems) -> bool:
    """Whether every binding is one that the dev host runs."""
    others = [binding["type"] for binding in bindings if binding.get("type") not in SUPPORTED]
    for kind in others:
        remedy = "use HTTP, timer and Service Bus triggers, and the SDKs for the rest"
        problems.error(where, f"binding type {kind!r} is not supported by the dev host", remedy)
    return not others


def parse_trigger(
    where: str, raw: dict[str, Any], name: str, environ: Mapping[str, str], problems: Problems
) -> definitions.Trigger | None:
    if raw["type"] == "httpTrigger":
        return _http(raw, name)
    if raw["type"] == "timerTrigger":
        return _timer(where, raw, environ, problems)
    return _service_bus(where, raw, environ, problems)


def _http(raw: dict[str, Any], name: str) -> definitions.HttpTrigger:
    methods = raw.get("methods")
    return definitions.HttpTrigger(
        route=raw.get("route") or name,
        methods=frozenset(method.upper() for method in methods) if methods else None,
        auth_level=str(raw.get("authLevel", "function")).lower(),
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
        remedy = f"set {connection} to a connection string, or {connection}__fullyQualifiedNamespace"
        problems.error(where, f"connection {connection!r} is not set", remedy)
        sound = False
    queue, topic, subscription = raw.get("queueName"), raw.get("topicName"), raw.get("subscriptionName")
    if not queue and not (topic and subscription):
        problems.error(where, "names no queue", "give queue_name, or topic_name and subscription_name")
        sound = False
    if raw.get("isSessionsEnabled"):
        problems.error(where, "sessions are not supported by the dev host", "take isSessionsEnabled out")
        sound = False
    if not sound:
        return None
    return definitions.ServiceBusTrigger(
        connection=connection,
        queue=queue,
        topic=topic,
        subscription=subscription,
        many=str(raw.get("cardinality", "one")).lower() == "many",
        auto_complete=_flag(raw.get("autoCompleteMessages")),
        binary=str(raw.get("dataType", "")).lower() == "binary",
    )


def _flag(value: Any) -> bool | None:
    return None if value is None else str(value).lower() == "true"


def parse_retry_policy(
    where: str, trigger: definitions.Trigger, declared: Mapping[str, Any] | None, problems: Problems
) -> definitions.RetryPolicy | None:
    if not declared:
        return None
    if not isinstance(trigger, definitions.TimerTrigger):
        what = f"its retry policy is ignored: the host has none for {trigger.kind}"
        remedy = "remove it; redelivery up to max delivery count is the broker's"
        problems.warn(
            where, what, remedy if isinstance(trigger, definitions.ServiceBusTrigger) else "remove it"
        )
        return None
    exponential = declared.get("strategy") == "exponential_backoff"
    try:
        return definitions.RetryPolicy(
            max_retries=int(declared["max_retry_count"]),
            first_delay_seconds=_delay(
                declared, "minimum_interval" if exponential else "delay_interval", 0.0
            ),
            max_delay_seconds=_delay(declared, "maximum_interval", LONGEST_DELAY_SECONDS),
            exponential=exponential,
        )
    except (KeyError, TypeError, ValueError) as error:
        problems.error(where, f"its retry policy is malformed ({error})", "give a count and hh:mm:ss delays")
        return None


def _delay(declared: Mapping[str, Any], name: str, default: float) -> float:
    return parse_timespan(declared[name]) if declared.get(name) else default
