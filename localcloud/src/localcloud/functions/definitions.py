"""The parts of a loaded app: its functions, their triggers, and how to call them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HttpTrigger:
    route: str
    methods: frozenset[str] | None  # None: all
    auth_level: str  # anonymous, function or admin
    largest_body: int | None = None  # bytes, where the app declares `maxBodyBytes`; Azure ignores it

    kind = "httpTrigger"


@dataclass(frozen=True)
class TimerTrigger:
    schedule: str
    run_on_startup: bool
    use_monitor: bool

    kind = "timerTrigger"


@dataclass(frozen=True)
class ServiceBusTrigger:
    connection: str
    queue: str
    auto_complete: bool | None  # None: use host.json

    kind = "serviceBusTrigger"


@dataclass(frozen=True)
class McpToolTrigger:
    tool_name: str
    description: str
    properties: tuple[dict[str, Any], ...]  # as the app declares them

    kind = "mcpToolTrigger"


@dataclass(frozen=True)
class McpResourceTrigger:
    uri: str  # a template if it has {variables}
    name: str
    description: str
    mime_type: str

    kind = "mcpResourceTrigger"


Trigger = HttpTrigger | TimerTrigger | ServiceBusTrigger | McpToolTrigger | McpResourceTrigger


@dataclass(frozen=True)
class CallPlan:
    """How to call a Python function, derived from its signature."""

    call: Callable[..., Any]
    is_async: bool
    trigger_parameter: str
    sdk_message: bool  # it is a ServiceBusReceivedMessage of the preview extension
    takes_context: bool
    actions_parameter: str | None  # receives a ServiceBusMessageActions
    returns_response: bool  # has a $return binding


@dataclass(frozen=True)
class Function:
    name: str
    trigger: Trigger
    plan: CallPlan
    bindings: tuple[dict[str, Any], ...]
    directory: str
    disabled: bool = False
