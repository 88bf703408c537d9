"""The `context` argument of a function.

azure.functions declares the values as abstract properties. The class attributes make the classes concrete.
"""

import threading
from typing import Any

import azure.functions as func
from azure.functions._abc import RetryContext, TraceContext

thread_local_storage = threading.local()


class Trace(TraceContext):
    """The W3C trace context of the trigger, also under the attribute names of older workers."""

    trace_parent = trace_state = ""
    attributes: dict[str, str] = {}  # noqa: RUF012 - each instance has its own

    def __init__(self, parent: str = "", state: str = "") -> None:
        self.trace_parent = self.Traceparent = parent
        self.trace_state = self.Tracestate = state
        self.attributes = {}
        self.Attributes = self.attributes


class NoRetry(RetryContext):
    """The dev host has no retry policies, so every attempt is the first."""

    retry_count = max_retry_count = 0
    exception: Any = None


class InvocationContext(func.Context):
    invocation_id = function_name = function_directory = ""
    trace_context: Any = None
    retry_context: Any = NoRetry()
    thread_local_storage: Any = thread_local_storage

    def __init__(self, invocation_id: str, function_name: str, function_directory: str, trace: Trace) -> None:
        self.invocation_id = invocation_id
        self.function_name = function_name
        self.function_directory = function_directory
        self.trace_context = trace
