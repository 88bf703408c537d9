"""The `context` that a function may ask for, and the `func.Out` of an output binding."""

import threading
from dataclasses import dataclass, field
from typing import Any

import azure.functions as func
from azure.functions._abc import RetryContext, RpcException, TraceContext

__all__ = ["InvocationContext", "Output", "Retry", "Trace", "thread_local_storage"]

thread_local_storage = threading.local()


@dataclass(frozen=True)
class Trace(TraceContext):
    """The W3C trace context that came with the trigger."""

    parent: str = ""
    state: str = ""
    extra: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def trace_parent(self) -> str:
        return self.parent

    @property
    def trace_state(self) -> str:
        return self.state

    @property
    def attributes(self) -> dict[str, str]:
        return self.extra

    # The names that the worker had first, and still has.
    Traceparent = trace_parent
    Tracestate = trace_state
    Attributes = attributes


@dataclass
class FormerError(RpcException):
    """Why the attempt before this one failed."""

    error: BaseException

    @property
    def source(self) -> str:
        return type(self.error).__module__

    @property
    def stack_trace(self) -> str:
        return ""

    @property
    def message(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


@dataclass(frozen=True)
class Retry(RetryContext):
    count: int = 0
    max_count: int = 0
    error: BaseException | None = None

    @property
    def retry_count(self) -> int:
        return self.count

    @property
    def max_retry_count(self) -> int:
        return self.max_count

    @property
    def exception(self) -> RpcException:
        return FormerError(self.error) if self.error else None  # type: ignore[return-value] # as the worker

    rpc_exception = exception


class InvocationContext(func.Context):
    def __init__(
        self, invocation_id: str, function_name: str, function_directory: str, trace: Trace, retry: Retry
    ) -> None:
        self._invocation_id = invocation_id
        self._function_name = function_name
        self._function_directory = function_directory
        self._trace = trace
        self._retry = retry

    @property
    def invocation_id(self) -> str:
        return self._invocation_id

    @property
    def thread_local_storage(self) -> Any:
        return thread_local_storage

    @property
    def function_name(self) -> str:
        return self._function_name

    @property
    def function_directory(self) -> str:
        return self._function_directory

    @property
    def trace_context(self) -> TraceContext:
        return self._trace

    @property
    def retry_context(self) -> RetryContext:
        return self._retry


class Output(func.Out[Any]):
    def __init__(self) -> None:
        self._value: Any = None

    def set(self, val: Any) -> None:
        self._value = val

    def get(self) -> Any:
        return self._value
