"""host.json: the settings that the dev host supports, with `AzureFunctionsJobHost__*` overrides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localcloud.functions.problems import Problems
from localcloud.functions.settings import read_json_object
from localcloud.timespan import parse_timespan

HOST_JSON = "host.json"
OVERRIDE_PREFIX = "AzureFunctionsJobHost"
DEFAULT_TIMEOUT_SECONDS = 30 * 60.0


@dataclass(frozen=True)
class ServiceBusOptions:
    auto_complete_messages: bool = True
    max_concurrent_calls: int = 16
    prefetch_count: int = 0
    max_auto_lock_renewal_seconds: float = 300.0


@dataclass(frozen=True)
class McpOptions:
    """The settings of the MCP endpoint: its description, and whether it requires a key."""

    server_name: str = "Azure Functions dev host"
    server_version: str = "1.0.0"
    instructions: str = ""
    is_anonymous: bool = False


@dataclass(frozen=True)
class HostConfig:
    route_prefix: str = "api"
    function_timeout_seconds: float | None = DEFAULT_TIMEOUT_SECONDS  # None: unlimited
    functions: frozenset[str] | None = None  # in lower case, None: all
    service_bus: ServiceBusOptions = field(default_factory=ServiceBusOptions)
    mcp: McpOptions = field(default_factory=McpOptions)


def load_host_config(root: Path, environ: Mapping[str, str], problems: Problems) -> HostConfig:
    path = root / HOST_JSON
    if not path.exists():
        problems.error(HOST_JSON, f"not found in {root}", 'create it with at least {"version": "2.0"}')
        return HostConfig()
    document = read_json_object(path, problems)
    if document is None:
        return HostConfig()
    if document.get("version") != "2.0":
        problem = f"version is {document.get('version')!r}"
        problems.error(HOST_JSON, problem, 'set "version": "2.0", as Functions 2.x and later require')
    _lay_over(document, environ)
    return _read(_Section(HOST_JSON, document, problems))


def _lay_over(document: dict[str, Any], environ: Mapping[str, str]) -> None:
    """Apply overrides: `AzureFunctionsJobHost__a__b=c` sets a.b to c. Names ignore case, as in .NET."""
    for variable, value in environ.items():
        parts = variable.replace("__", ":").split(":")
        if len(parts) > 1 and parts[0].lower() == OVERRIDE_PREFIX.lower() and all(parts):
            _set_at(document, parts[1:], value)


def _set_at(node: dict[str, Any], path: list[str], value: str) -> None:
    for part in path[:-1]:
        key = _key(node, part)
        if isinstance(node.get(key), list):
            node[key] = {str(index): item for index, item in enumerate(node[key])}
        if not isinstance(node.get(key), dict):
            node[key] = {}
        node = node[key]
    node[_key(node, path[-1])] = value


def _key(node: dict[str, Any], name: str) -> str:
    return next((key for key in node if key.lower() == name.lower()), name)


def _read(root: "_Section") -> HostConfig:
    extensions = root.section("extensions")
    return HostConfig(
        route_prefix=extensions.section("http").text("routePrefix", "api").strip("/"),
        function_timeout_seconds=_timeout(root),
        functions=_names(root),
        service_bus=_service_bus(extensions.section("serviceBus")),
        mcp=_mcp(extensions.section("mcp")),
    )


def _timeout(root: "_Section") -> float | None:
    if root.text("functionTimeout", "") == "-1":
        return None
    seconds = root.seconds("functionTimeout", DEFAULT_TIMEOUT_SECONDS)
    if seconds <= 0:
        root.refuse("functionTimeout", "is not positive", "write it as hh:mm:ss, or -1 for no limit")
    return seconds


def _names(root: "_Section") -> frozenset[str] | None:
    value = root.value("functions")
    if value is None:
        return None
    names = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        root.refuse("functions", "is not an array of function names", "list names, or leave it out")
        return None
    return frozenset(name.lower() for name in names)


def _mcp(section: "_Section") -> McpOptions:
    level = section.section("system").text("webhookAuthorizationLevel", "System")
    return McpOptions(
        section.text("serverName", McpOptions.server_name),
        section.text("serverVersion", McpOptions.server_version),
        section.text("instructions", ""),
        level.lower() == "anonymous",
    )


def _service_bus(section: "_Section") -> ServiceBusOptions:
    defaults = ServiceBusOptions()
    for obsolete in ("messageHandlerOptions", "batchOptions", "sessionHandlerOptions"):
        if section.value(obsolete) is not None:
            problem = f"{obsolete} is a setting of extension 4.x, which 5.x ignores"
            section.problems.warn(section.path, problem, f"move its settings up into {section.path}")
    if section.text("transportType", "amqpTcp").lower() != "amqptcp":
        section.refuse("transportType", "is not supported by the dev host", "set amqpTcp")
    return ServiceBusOptions(
        auto_complete_messages=section.boolean("autoCompleteMessages", default=True),
        max_concurrent_calls=section.integer("maxConcurrentCalls", defaults.max_concurrent_calls, minimum=1),
        prefetch_count=section.integer("prefetchCount", 0, minimum=0),
        max_auto_lock_renewal_seconds=section.seconds(
            "maxAutoLockRenewalDuration", defaults.max_auto_lock_renewal_seconds
        ),
    )


class _Section:
    """An object of host.json. Values can be strings, because overrides are strings."""

    def __init__(self, path: str, node: Mapping[str, Any], problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self._node = {key.lower(): value for key, value in node.items()}

    def refuse(self, name: str, problem: str, remedy: str) -> None:
        self.problems.error(f"{self.path}: {name}", problem, remedy)

    def value(self, name: str) -> Any:
        return self._node.get(name.lower())

    def section(self, name: str) -> "_Section":
        value = self.value(name)
        if value is not None and not isinstance(value, dict):
            self.refuse(name, "is not an object", "write it as name: value pairs")
            value = None
        return _Section(f"{self.path}: {name}", value or {}, self.problems)

    def text(self, name: str, default: str) -> str:
        value = self.value(name)
        if value is None:
            return default
        if not isinstance(value, str):
            self.refuse(name, f"is {value!r}", "write it as a string")
            return default
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self.value(name)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
        self.refuse(name, f"is {value!r}", "set it to true or false")
        return default

    def integer(self, name: str, default: int, *, minimum: int) -> int:
        value = self.value(name)
        if value is None:
            return default
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            self.refuse(name, f"is {value!r}", f"set it to a whole number from {minimum} up")
            return default
        return value

    def seconds(self, name: str, default: float) -> float:
        value = self.value(name)
        if value is None:
            return default
        try:
            return parse_timespan(value if isinstance(value, str) else repr(value))
        except ValueError as error:
            self.refuse(name, str(error), "or leave it out for the default")
            return default
