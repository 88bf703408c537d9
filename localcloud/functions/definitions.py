"""What a loaded app consists of: its functions, their triggers, and how each is called."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HttpTrigger:
    route: str
    methods: frozenset[str] | None  # None: all
    auth_level: str  # anonymous, function or admin

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
    queue: str | None
    topic: str | None
    subscription: str | None
    many: bool
    auto_complete: bool | None  # None: as host.json says
    binary: bool

    kind = "serviceBusTrigger"

    @property
    def entity(self) -> str:
        return self.queue or f"{self.topic}/Subscriptions/{self.subscription}"


Trigger = HttpTrigger | TimerTrigger | ServiceBusTrigger


@dataclass(frozen=True)
class RetryPolicy:
    """Honoured for timers; the real host ignores it for Service Bus and HTTP triggers."""

    max_retries: int  # -1: without end
    first_delay_seconds: float
    max_delay_seconds: float
    exponential: bool

    def delay(self, attempt: int) -> float:
        """Seconds to wait before the retry of this number, from 1 up."""
        if not self.exponential:
            return self.first_delay_seconds
        return min(self.first_delay_seconds * 2.0 ** min(attempt - 1, 40), self.max_delay_seconds)


@dataclass(frozen=True)
class CallPlan:
    """How the Python function is called, read off its signature."""

    call: Callable[..., Any]
    is_async: bool
    trigger_parameter: str
    plain_body: bool  # the trigger's parameter is annotated str or bytes: it gets the bare body
    sdk_message: bool  # it is a ServiceBusReceivedMessage of the preview extension
    takes_context: bool
    actions_parameter: str | None  # gets a ServiceBusMessageActions
    http_out_parameter: str | None  # a func.Out for the HTTP response
    returns_response: bool  # has a $return binding


@dataclass(frozen=True)
class Function:
    name: str
    trigger: Trigger
    plan: CallPlan
    bindings: tuple[dict[str, Any], ...]
    directory: str
    retry: RetryPolicy | None = None
    disabled: bool = False
