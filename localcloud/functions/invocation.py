"""Runs functions: async ones on a loop of their own, sync ones in a thread pool, each within the time limit.

The host's loop never runs an app's code, so a function that blocks holds up neither HTTP nor lock renewal.
"""

import asyncio
import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from localcloud.functions.context import InvocationContext, Output, Retry, Trace, thread_local_storage
from localcloud.functions.definitions import Function
from localcloud.functions.timespan import format_timespan

__all__ = ["Call", "FunctionTimeout", "Invoker", "Outcome", "pool_size"]

log = logging.getLogger(__name__)

LARGEST_POOL = 1000


class FunctionTimeout(Exception):  # noqa: N818 - named as the setting that it enforces
    """The function ran longer than functionTimeout."""


@dataclass
class Call:
    """One invocation to come: what triggered the function, and with what."""

    argument: Any
    reason: str
    trace: Trace = field(default_factory=Trace)
    retry: Retry = field(default_factory=Retry)
    actions: Any = None
    encode: Callable[[Any], Any] | None = None  # of what the function returned, or set on its func.Out
    invocation_id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass
class Outcome:
    error: BaseException | None = None
    value: Any = None

    @property
    def succeeded(self) -> bool:
        return self.error is None


class Invoker:
    def __init__(self, *, timeout_seconds: float | None, threads: int | None) -> None:
        self._timeout = timeout_seconds
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="function")
        self._loop = asyncio.new_event_loop()
        self._loop_thread = threading.Thread(target=self._run_loop, name="functions-loop", daemon=True)
        self._running: set[asyncio.Task[Any]] = set()
        self._threads_left = 0
        self._loop_thread.start()

    @property
    def outstanding(self) -> int:
        return len(self._running)

    @property
    def threads_left(self) -> int:
        """Threads that still run a function whose time was up: Python cannot stop them."""
        return self._threads_left

    async def invoke(self, function: Function, call: Call) -> Outcome:
        """Run the function to its end. What it raises stands in the outcome."""
        started = time.perf_counter()
        log.info(
            "Executing 'Functions.%s' (Reason='%s', Id=%s)", function.name, call.reason, call.invocation_id
        )
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine that runs has one
        self._running.add(task)
        try:
            outcome = await self._run(function, call)
        except asyncio.CancelledError:
            self._log_end(function, call, Outcome(asyncio.CancelledError("cancelled by the host")), started)
            raise
        finally:
            self._running.discard(task)
        self._log_end(function, call, outcome, started)
        return outcome

    def _log_end(self, function: Function, call: Call, outcome: Outcome, started: float) -> None:
        duration = (time.perf_counter() - started) * 1000
        if outcome.succeeded:
            line = "Executed 'Functions.%s' (Succeeded, Id=%s, Duration=%.0fms)"
            log.info(line, function.name, call.invocation_id, duration)
            return
        line = "Executed 'Functions.%s' (Failed, Id=%s, Duration=%.0fms)"
        log.error(line, function.name, call.invocation_id, duration, exc_info=outcome.error)

    async def _run(self, function: Function, call: Call) -> Outcome:
        arguments, output = _arguments(function, call)
        plan = function.plan
        if plan.is_async:
            future = asyncio.run_coroutine_threadsafe(_outcome_of(plan.call(**arguments)), self._loop)
        else:
            future = self._pool.submit(_run_sync, plan.call, arguments, call.invocation_id)
        outcome = await self._await(future, function, call)
        return _encoded(function, call, outcome, output) if outcome.succeeded else outcome

    async def _await(self, future: "Future[Outcome]", function: Function, call: Call) -> Outcome:
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._note_thread(future, function)
            limit = format_timespan(self._timeout or 0)
            message = f"Timeout value of {limit} exceeded by function 'Functions.{function.name}'"
            log.error("%s (Id: '%s'). Initiating cancellation.", message, call.invocation_id)  # noqa: TRY400
            return Outcome(FunctionTimeout(message))
        except asyncio.CancelledError:
            self._note_thread(future, function)
            raise

    def _note_thread(self, future: "Future[Outcome]", function: Function) -> None:
        """wrap_future has cancelled the future by now, which ends a coroutine but not a thread."""
        if function.plan.is_async or future.cancelled():
            return
        self._threads_left += 1
        future.add_done_callback(self._forget_thread)
        log.warning("'Functions.%s' is a sync function: its thread runs on in the background", function.name)

    def _forget_thread(self, _future: "Future[Outcome]") -> None:
        self._threads_left -= 1

    async def on_function_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run the host's own business with the app where its async functions run."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._loop))

    async def drain(self, seconds: float) -> None:
        """Let what runs end; cancel what does not in time."""
        running = {task for task in self._running if task is not asyncio.current_task()}
        if not running:
            return
        log.info("draining: %d invocation(s) run", len(running))
        _, late = await asyncio.wait(running, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            log.warning("draining: %d invocation(s) did not end within %.0f s", len(late), seconds)
            await asyncio.wait(late, timeout=1.0)

    async def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                await self.on_function_loop(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._loop_thread.join, 2.0)

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()


def _arguments(function: Function, call: Call) -> tuple[dict[str, Any], Output | None]:
    plan = function.plan
    arguments = {plan.trigger_parameter: call.argument}
    if plan.takes_context:
        arguments["context"] = InvocationContext(
            call.invocation_id, function.name, function.directory, call.trace, call.retry
        )
    if plan.actions_parameter:
        arguments[plan.actions_parameter] = call.actions
    if plan.http_out_parameter is None:
        return arguments, None
    output = Output()
    arguments[plan.http_out_parameter] = output
    return arguments, output


def _encoded(function: Function, call: Call, outcome: Outcome, output: Output | None) -> Outcome:
    """The outcome with what the trigger's reply is made of; what cannot be one fails the invocation."""
    if outcome.value is not None and not function.plan.returns_response:
        message = f"function {function.name!r} without a $return binding returned a non-None value"
        return Outcome(RuntimeError(message))
    if call.encode is None:
        return outcome
    try:
        return Outcome(value=call.encode(outcome.value if output is None else output.get()))
    except (TypeError, ValueError) as error:
        return Outcome(error)


async def _outcome_of(coroutine: Coroutine[Any, Any, Any]) -> Outcome:
    try:
        return Outcome(value=await coroutine)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Outcome(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the app raises is the outcome
        return Outcome(error)


def _run_sync(call: Any, arguments: dict[str, Any], invocation_id: str) -> Outcome:
    thread_local_storage.invocation_id = invocation_id
    try:
        return Outcome(value=call(**arguments))
    except BaseException as error:  # noqa: BLE001 - whatever the app raises is the outcome
        return Outcome(error)
    finally:
        thread_local_storage.invocation_id = None


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def pool_size(text: str | None) -> int | None:
    """PYTHON_THREADPOOL_THREAD_COUNT as the worker takes it: 1 to 1000, else Python's own default."""
    if text is None:
        return None
    if not text.strip().isdecimal() or not 1 <= int(text) <= LARGEST_POOL:
        log.warning("PYTHON_THREADPOOL_THREAD_COUNT is %r, not 1 to %d: ignored", text, LARGEST_POOL)
        return None
    return int(text)
