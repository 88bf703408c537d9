"""Runs functions within the time limit: async functions on their own loop, sync functions in threads.

The host's loop never runs code of the app, so a blocking function delays neither HTTP nor lock renewal.
"""

import asyncio
import contextlib
import functools
import logging
import os
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import uvloop

from localcloud.functions.bridge import FunctionThreads, LoopBridge, LoopThread
from localcloud.functions.context import InvocationContext, Trace, thread_local_storage
from localcloud.functions.definitions import Function
from localcloud.timespan import format_timespan

log = logging.getLogger(__name__)

LARGEST_POOL = 1000
NO_TRACE = Trace()


class FunctionTimeout(Exception):  # noqa: N818 - named after the setting that it enforces
    """The function ran longer than functionTimeout."""


def _new_id() -> str:
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


@dataclass(slots=True)
class Call:
    """The trigger's data for an invocation."""

    argument: Any
    reason: str
    trace: Trace = NO_TRACE
    actions: Any = None
    encode: Callable[[Any], Any] | None = None  # of the function's return value
    _id: str = field(default="", init=False)

    @property
    def invocation_id(self) -> str:
        """The invocation id, created at the first access. Async functions without logging never need it."""
        self._id = self._id or _new_id()
        return self._id


@dataclass(slots=True)
class Outcome:
    error: BaseException | None = None
    value: Any = None

    @property
    def succeeded(self) -> bool:
        return self.error is None


@dataclass(slots=True, eq=False)
class _Run:
    """A running invocation, as the host's loop sees it."""

    function: Function
    call: Call
    ended: Callable[[Outcome], None]
    started: float
    function_task: asyncio.Task[None] | None = None
    host_task: asyncio.Task[Any] | None = None  # the task that waits for it, if any
    in_thread: bool = False


class Invoker:
    """Runs functions. It belongs to the host's loop, which creates it."""

    def __init__(self, *, timeout_seconds: float | None, threads: int | None = None) -> None:
        self._timeout = timeout_seconds
        self._functions = LoopThread(uvloop.new_event_loop())
        self._host_loop = asyncio.get_running_loop()
        self._to_functions = LoopBridge(self._functions.loop, self._host_loop)
        self._from_functions = LoopBridge(self._host_loop, self._functions.loop)
        self._from_threads = LoopBridge(self._host_loop)
        self._threads = FunctionThreads(threads or min(32, (os.cpu_count() or 1) + 4), self._host_loop)
        self._running: set[_Run] = set()
        self._run_ended = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None
        if timeout_seconds is not None:
            self._watch = self._host_loop.create_task(self._enforce_timeout(timeout_seconds))

    @property
    def outstanding(self) -> int:
        return len(self._running)

    async def invoke(self, function: Function, call: Call) -> Outcome:
        """Run the function to its end. An exception becomes part of the outcome."""
        done: asyncio.Future[Outcome] = self._host_loop.create_future()
        run = self.start(function, call, functools.partial(_resolve, done))
        run.host_task = asyncio.current_task()
        try:
            return await done
        except asyncio.CancelledError:
            self._give_up(run, asyncio.CancelledError("cancelled by the host"))
            raise

    def start(self, function: Function, call: Call, ended: Callable[[Outcome], None]) -> _Run:
        """Start the function, and report its outcome on the host's loop. This is cheaper than a task."""
        if log.isEnabledFor(logging.INFO):
            name, reason, invocation_id = function.name, call.reason, call.invocation_id
            log.info("Executing 'Functions.%s' (Reason='%s', Id=%s)", name, reason, invocation_id)
        run = _Run(function, call, ended, time.perf_counter())
        self._running.add(run)
        arguments = _arguments(run)
        if function.plan.is_async:
            self._to_functions.call(self._start_task, run, arguments)
        else:
            run.in_thread = True
            self._threads.submit(self._run_in_thread, run, arguments, call.invocation_id)
        return run

    def _finish(self, run: _Run, outcome: Outcome) -> None:
        """End a run. Only its first outcome counts: the function's, a timeout or a cancellation."""
        if run not in self._running:
            return
        self._running.discard(run)
        if outcome.error is None:
            _encode(run, outcome)
        _log_end(run, outcome)
        self._run_ended.set()
        run.ended(outcome)

    def _start_task(self, run: _Run, arguments: dict[str, Any]) -> None:
        run.function_task = self._functions.loop.create_task(self._run_async(run, arguments))

    async def _run_async(self, run: _Run, arguments: dict[str, Any]) -> None:
        try:
            outcome = Outcome(value=await run.function.plan.call(**arguments))
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001 - it is the outcome
            outcome = Outcome(error)
        self._from_functions.call(self._finish, run, outcome)

    def _run_in_thread(self, run: _Run, arguments: dict[str, Any], invocation_id: str) -> None:
        thread_local_storage.invocation_id = invocation_id
        try:
            outcome = Outcome(value=run.function.plan.call(**arguments))
        except BaseException as error:  # noqa: BLE001 - any exception of the app is the outcome
            outcome = Outcome(error)
        thread_local_storage.invocation_id = None
        with contextlib.suppress(RuntimeError):  # the host's loop may have ended
            self._from_threads.call(self._finish, run, outcome)

    def _give_up(self, run: _Run, error: BaseException) -> None:
        """End a run early. A coroutine is canceled, but a thread cannot be stopped."""
        if run.in_thread:
            name = run.function.name
            log.warning("'Functions.%s' is a sync function: its thread continues in the background", name)
        else:
            self._to_functions.call(_cancel, run)
        self._finish(run, Outcome(error))

    async def _enforce_timeout(self, seconds: float) -> None:
        limit = format_timespan(seconds)
        while True:
            await asyncio.sleep(min(1.0, seconds / 4))
            latest = time.perf_counter() - seconds
            for run in [run for run in self._running if run.started < latest]:
                message = f"Timeout value of {limit} exceeded by function 'Functions.{run.function.name}'"
                log.error("%s (Id: '%s'). Initiating cancellation.", message, run.call.invocation_id)
                self._give_up(run, FunctionTimeout(message))

    async def on_function_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine of the host on the loop of the app's async functions."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._functions.loop))

    async def drain(self, seconds: float) -> None:
        """Wait until running invocations end, and cancel the late ones."""
        if not self._running:
            return
        log.info("draining: %d invocation(s) are running", len(self._running))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._running:
                    self._run_ended.clear()
                    await self._run_ended.wait()
        await self._cancel_late()

    async def _cancel_late(self) -> None:
        late = list(self._running)
        if late:
            log.warning("draining: %d invocation(s) did not end in time and are canceled", len(late))
        for run in late:
            if run.host_task is None:
                self._give_up(run, asyncio.CancelledError("cancelled by the host"))
            else:
                run.host_task.cancel()
        if tasks := {run.host_task for run in late if run.host_task is not None}:
            await asyncio.wait(tasks, timeout=5.0)

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._threads.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2.0):
                await self.on_function_loop(_cancel_others())
        await asyncio.to_thread(self._functions.stop, 2.0)


def _log_end(run: _Run, outcome: Outcome) -> None:
    if outcome.error is None and not log.isEnabledFor(logging.INFO):
        return
    duration = (time.perf_counter() - run.started) * 1000
    name, invocation_id = run.function.name, run.call.invocation_id
    if outcome.error is None:
        log.info("Executed 'Functions.%s' (Succeeded, Id=%s, Duration=%.0fms)", name, invocation_id, duration)
        return
    line = "Executed 'Functions.%s' (Failed, Id=%s, Duration=%.0fms)"
    log.error(line, name, invocation_id, duration, exc_info=outcome.error)


def _resolve(done: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not done.done():
        done.set_result(outcome)


def _arguments(run: _Run) -> dict[str, Any]:
    function, call = run.function, run.call
    plan = function.plan
    arguments = {plan.trigger_parameter: call.argument}
    if plan.takes_context:
        arguments["context"] = InvocationContext(
            call.invocation_id, function.name, function.directory, call.trace
        )
    if plan.actions_parameter:
        arguments[plan.actions_parameter] = call.actions
    return arguments


def _encode(run: _Run, outcome: Outcome) -> None:
    """Encode the outcome for the trigger's reply. A value that cannot be encoded fails the invocation."""
    call = run.call
    if outcome.value is not None and not run.function.plan.returns_response:
        message = f"function {run.function.name!r} without a $return binding returned a non-None value"
        outcome.error = RuntimeError(message)
    elif call.encode is not None:
        try:
            outcome.value = call.encode(outcome.value)
        except Exception as error:  # noqa: BLE001 - the app can return anything
            outcome.error = error


def _cancel(run: _Run) -> None:
    if run.function_task is not None:
        run.function_task.cancel()


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def pool_size(text: str | None) -> int | None:
    """Return PYTHON_THREADPOOL_THREAD_COUNT if it is 1 to 1000, as in the worker, else None."""
    if text is None:
        return None
    if not text.strip().isdecimal() or not 1 <= int(text) <= LARGEST_POOL:
        log.warning("PYTHON_THREADPOOL_THREAD_COUNT is %r, not 1 to %d: ignored", text, LARGEST_POOL)
        return None
    return int(text)
