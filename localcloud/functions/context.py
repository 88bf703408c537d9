"""The `context` that a function may ask for, and the `func.Out` of an output binding.

azure.functions declares their values as abstract properties; here they are attributes, given a default in the
class so that it counts as complete.
"""

import threading
from typing import Any

import azure.functions as func
from azure.functions._abc import RetryContext, RpcException, TraceContext

thread_local_storage = threading.local()


class Trace(TraceContext):
    """The W3C trace context that came with the trigger, also under the names that the worker had first."""

    trace_parent = trace_state = ""
    attributes: dict[str, str] = {}  # noqa: RUF012 - every instance has its own

    def __init__(self, parent: str = "", state: str = "") -> None:
        self.trace_parent = self.Traceparent = parent
        self.trace_state = self.Tracestate = state
        self.attributes = {}
        self.Attributes = self.attributes


class FormerError(RpcException):
    """Why the attempt before this one failed."""

    source = message = stack_trace = ""

    def __init__(self, error: BaseException) -> None:
        self.source = type(error).__module__
        self.message = f"{type(error).__name__}: {error}"


class Retry(RetryContext):
    retry_count = max_retry_count = 0
    exception: Any = None

    def __init__(self, count: int = 0, max_count: int = 0, error: BaseException | None = None) -> None:
        self.retry_count = count
        self.max_retry_count = max_count
        self.exception = self.rpc_exception = FormerError(error) if error else None


class InvocationContext(func.Context):
    invocation_id = function_name = function_directory = ""
    trace_context: Any = None
    retry_context: Any = None
    thread_local_storage: Any = thread_local_storage

    def __init__(
        self, invocation_id: str, function_name: str, function_directory: str, trace: Trace, retry: Retry
    ) -> None:
        self.invocation_id = invocation_id
        self.function_name = function_name
        self.function_directory = function_directory
        self.trace_context = trace
        self.retry_context = retry


class Output(func.Out[Any]):
    def __init__(self) -> None:
        self._value: Any = None

    def set(self, val: Any) -> None:
        self._value = val

    def get(self) -> Any:
        return self._value
