"""Parsing of the namespace's Config.json, in the format of the official emulator.

All problems of a file are reported together. The official emulator's limits apply unless a test lifts them,
because a file that works here must also work there.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localcloud.servicebus.filters import CorrelationFilter, Filter, Rule, TrueFilter
from localcloud.servicebus.messages import SYSTEM_PROPERTIES
from localcloud.servicebus.options import EntityOptions

MINUTE = 60_000
# The official emulator's limits. Durations are in milliseconds.
TTL_RANGE = (5 * MINUTE, 60 * MINUTE)
LOCK_RANGE = (5_000, 5 * MINUTE)
SUBSCRIPTION_LOCK_RANGE = (MINUTE, 5 * MINUTE)
DUPLICATE_WINDOW_RANGE = (5_000, 5 * MINUTE)
MAX_DELIVERY_COUNT = 10
MAX_ENTITIES = 50
MAX_SUBSCRIPTIONS = 50
UNCLAMPED = (1, 2**53)  # for tests: any positive value

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?")
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


class ConfigError(ValueError):
    """An invalid Service Bus configuration. The message lists all problems."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(
            "the Service Bus configuration is invalid:\n" + "\n".join(f"  - {p}" for p in problems)
        )


@dataclass(frozen=True)
class EntityConfig:
    name: str
    options: EntityOptions
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class TopicConfig:
    name: str
    options: EntityOptions
    subscriptions: tuple[EntityConfig, ...]


@dataclass(frozen=True)
class NamespaceConfig:
    name: str = "sbemulatorns"
    queues: tuple[EntityConfig, ...] = ()
    topics: tuple[TopicConfig, ...] = ()


def load_config(path: Path, *, clamp: bool = True) -> NamespaceConfig:
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {error.strerror}"]) from error
    except ValueError as error:
        raise ConfigError([f"{path} is not JSON: {error}"]) from error
    return parse_config(document, clamp=clamp)


def parse_config(document: Any, *, clamp: bool = True) -> NamespaceConfig:
    reader = _Reader(clamp=clamp)
    namespace = reader.namespace(document)
    if reader.problems:
        raise ConfigError(reader.problems)
    return namespace


def parse_duration(text: str) -> int:
    """Return the milliseconds of an ISO 8601 duration of days, hours, minutes and seconds."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is not an ISO 8601 duration such as PT1M")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return round(((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000)


_TOPIC_PROPERTIES = frozenset(
    {"DefaultMessageTimeToLive", "DuplicateDetectionHistoryTimeWindow", "RequiresDuplicateDetection"}
)
_SUBSCRIPTION_PROPERTIES = frozenset(
    {
        "DeadLetteringOnMessageExpiration",
        "DefaultMessageTimeToLive",
        "ForwardDeadLetteredMessagesTo",
        "ForwardTo",
        "LockDuration",
        "MaxDeliveryCount",
        "RequiresSession",
    }
)
_QUEUE_PROPERTIES = _SUBSCRIPTION_PROPERTIES | _TOPIC_PROPERTIES
_TYPES: dict[str, type] = {
    "DeadLetteringOnMessageExpiration": bool,
    "RequiresDuplicateDetection": bool,
    "RequiresSession": bool,
    "MaxDeliveryCount": int,
}


@dataclass
class _Reader:
    clamp: bool
    problems: list[str] = field(default_factory=list)

    def namespace(self, document: Any) -> NamespaceConfig:
        user = document.get("UserConfig") if isinstance(document, dict) else None
        namespaces = user.get("Namespaces") if isinstance(user, dict) else None
        if not isinstance(namespaces, list) or len(namespaces) != 1 or not isinstance(namespaces[0], dict):
            self.problems.append("UserConfig.Namespaces must have exactly one namespace")
            return NamespaceConfig()
        given = namespaces[0]
        self._check_known(given, {"Name", "Queues", "Topics"}, "the namespace")
        if self.clamp and given.get("Name") != "sbemulatorns":
            self.problems.append("the namespace's name must be sbemulatorns")
        queues = tuple(self._entity(item, "queue") for item in self._list(given, "Queues", "the namespace"))
        topics = tuple(self._topic(item) for item in self._list(given, "Topics", "the namespace"))
        config = NamespaceConfig(str(given.get("Name")), queues, topics)
        self._check_names(config)
        self._check_forwarding(config)
        return config

    def _check_known(self, given: dict[str, Any], allowed: set[str] | frozenset[str], where: str) -> None:
        for name in sorted(set(given) - allowed):
            self.problems.append(f"{where}: {name} is unknown: use {', '.join(sorted(allowed))}")

    def _list(self, given: dict[str, Any], name: str, where: str) -> list[dict[str, Any]]:
        items = given.get(name) or []
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            self.problems.append(f"{where}: {name} is an array of objects")
            return []
        return items

    def _name(self, given: dict[str, Any], kind: str) -> str:
        name = given.get("Name")
        if not isinstance(name, str) or not _NAME.fullmatch(name) or "/subscriptions/" in name.lower():
            self.problems.append(f"{kind} {name!r}: a name has letters, digits and . - _ /, at most 260")
            return str(name)
        return name

    def _topic(self, given: dict[str, Any]) -> TopicConfig:
        name = self._name(given, "topic")
        where = f"topic {name}"
        self._check_known(given, {"Name", "Properties", "Subscriptions"}, where)
        options = self._options(given, where, _TOPIC_PROPERTIES, LOCK_RANGE)
        subscriptions = tuple(
            self._entity(item, f"subscription {name}/") for item in self._list(given, "Subscriptions", where)
        )
        names = [subscription.name.lower() for subscription in subscriptions]
        if len(set(names)) != len(names):
            self.problems.append(f"{where}: two subscriptions have the same name")
        if self.clamp and not 1 <= len(subscriptions) <= MAX_SUBSCRIPTIONS:
            self.problems.append(f"{where}: a topic has 1 to {MAX_SUBSCRIPTIONS} subscriptions")
        return TopicConfig(name, options, subscriptions)

    def _entity(self, given: dict[str, Any], kind: str) -> EntityConfig:
        name = self._name(given, kind)
        where = f"{kind}{name}" if kind.endswith("/") else f"{kind} {name}"
        if kind == "queue":
            self._check_known(given, {"Name", "Properties"}, where)
            return EntityConfig(name, self._options(given, where, _QUEUE_PROPERTIES, LOCK_RANGE))
        self._check_known(given, {"Name", "Properties", "Rules"}, where)
        options = self._options(given, where, _SUBSCRIPTION_PROPERTIES, SUBSCRIPTION_LOCK_RANGE)
        rules = tuple(self._rule(item, where) for item in self._list(given, "Rules", where))
        # As in Azure, a subscription without rules gets a rule that selects everything.
        return EntityConfig(name, options, rules or (Rule("$Default", TrueFilter()),))

    def _options(
        self, given: dict[str, Any], where: str, allowed: frozenset[str], lock_range: tuple[int, int]
    ) -> EntityOptions:
        properties = given.get("Properties") or {}
        if not isinstance(properties, dict):
            self.problems.append(f"{where}: Properties is an object")
            properties = {}
        self._check_known(properties, allowed, where)
        values = {name: self._value(properties, name, where) for name in allowed}
        if values.get("RequiresSession"):
            self.problems.append(f"{where}: RequiresSession: the local Service Bus has no sessions")
        window = self._duration(
            values, "DuplicateDetectionHistoryTimeWindow", where, 5 * MINUTE, DUPLICATE_WINDOW_RANGE
        )
        return EntityOptions(
            lock_duration=self._duration(values, "LockDuration", where, MINUTE, lock_range),
            max_delivery_count=self._max_delivery_count(values, where),
            default_ttl=self._duration(values, "DefaultMessageTimeToLive", where, 60 * MINUTE, TTL_RANGE),
            dead_letter_on_expiration=bool(values.get("DeadLetteringOnMessageExpiration")),
            duplicate_window=window if values.get("RequiresDuplicateDetection") else 0,
            forward_to=values.get("ForwardTo"),
            forward_dead_letters_to=values.get("ForwardDeadLetteredMessagesTo"),
        )

    def _value(self, properties: dict[str, Any], name: str, where: str) -> Any:
        value = properties.get(name)
        wanted = _TYPES.get(name, str)
        if value is None or value == "":  # the emulator's sample files have "" for no forwarding
            return None
        if type(value) is not wanted:
            self.problems.append(f"{where}: {name} is a {wanted.__name__}, not {value!r}")
            return None
        return value

    def _duration(
        self, values: dict[str, Any], name: str, where: str, default: int, limits: tuple[int, int]
    ) -> int:
        if values.get(name) is None:
            return default
        try:
            duration = parse_duration(values[name])
        except ValueError as error:
            self.problems.append(f"{where}: {name}: {error}")
            return default
        low, high = limits if self.clamp else UNCLAMPED
        if not low <= duration <= high:
            self.problems.append(
                f"{where}: {name} is {values[name]}, but the emulator allows "
                f"{low / 1000:g} to {high / 1000:g} seconds"
            )
        return duration

    def _max_delivery_count(self, values: dict[str, Any], where: str) -> int:
        count = values.get("MaxDeliveryCount")
        if count is None:
            return MAX_DELIVERY_COUNT
        high = MAX_DELIVERY_COUNT if self.clamp else UNCLAMPED[1]
        if not 1 <= count <= high:
            self.problems.append(f"{where}: MaxDeliveryCount is {count}, but the emulator allows 1 to {high}")
        return int(count)

    def _rule(self, given: dict[str, Any], where: str) -> Rule:
        name = str(given.get("Name"))
        where = f"{where}, rule {name}"
        properties = given.get("Properties")
        if not isinstance(given.get("Name"), str) or not isinstance(properties, dict):
            self.problems.append(f"{where}: a rule has a Name and Properties")
            return Rule(name, CorrelationFilter())  # a placeholder, because the file is refused anyway
        if properties.get("Action"):
            self.problems.append(f"{where}: the local Service Bus has no rule actions")
        self._check_known(properties, {"FilterType", "CorrelationFilter", "SqlFilter", "Action"}, where)
        return Rule(name, self._filter(properties, where))

    def _filter(self, properties: dict[str, Any], where: str) -> Filter:
        kind = properties.get("FilterType")
        body = properties.get(f"{kind}Filter")
        if kind not in {"Correlation", "Sql"} or not isinstance(body, dict):
            self.problems.append(
                f"{where}: FilterType must be Correlation or Sql, with a filter of that type"
            )
            return CorrelationFilter()
        return self._correlation(body, where) if kind == "Correlation" else self._sql(body, where)

    def _correlation(self, body: dict[str, Any], where: str) -> Filter:
        self._check_known(body, {*SYSTEM_PROPERTIES, "Properties"}, where)
        system = {SYSTEM_PROPERTIES[name]: value for name, value in body.items() if name in SYSTEM_PROPERTIES}
        application = body.get("Properties") or {}
        simple = isinstance(application, dict) and all(
            isinstance(value, str | int | float | bool) for value in application.values()
        )
        if not simple or not all(isinstance(value, str) for value in system.values()):
            self.problems.append(
                f"{where}: a correlation filter has strings, and simple values in Properties"
            )
            return CorrelationFilter()
        if not system and not application:
            self.problems.append(f"{where}: a correlation filter names at least one property")
        return CorrelationFilter(system, application)

    def _sql(self, body: dict[str, Any], where: str) -> Filter:
        if body != {"SqlExpression": TrueFilter.sql}:
            self.problems.append(
                f"{where}: SqlFilter supports only {TrueFilter.sql}: use a correlation filter"
            )
        return TrueFilter()

    def _check_names(self, config: NamespaceConfig) -> None:
        names = _names(config)
        for name in sorted({name for name in names if names.count(name) > 1}):
            self.problems.append(f"{name}: two queues or topics have this name")
        if self.clamp and len(names) > MAX_ENTITIES:
            self.problems.append(
                f"there are {len(names)} queues and topics; the emulator allows {MAX_ENTITIES}"
            )

    def _check_forwarding(self, config: NamespaceConfig) -> None:
        known = set(_names(config))
        subscriptions = [sub for topic in config.topics for sub in topic.subscriptions]
        for entity in (*config.queues, *subscriptions):
            options = entity.options
            for target in (options.forward_to, options.forward_dead_letters_to):
                if target is not None and target.lower() not in known:
                    self.problems.append(
                        f"{entity.name}: forwards to {target}, which is not a queue or topic"
                    )
        for queue in config.queues:
            if queue.name.lower() == (queue.options.forward_to or "").lower():
                self.problems.append(f"queue {queue.name}: forwards to itself")


def _names(config: NamespaceConfig) -> list[str]:
    """Return the lower-case names of queues and topics, which must be unique."""
    return [queue.name.lower() for queue in config.queues] + [topic.name.lower() for topic in config.topics]
