"""The dev host as a service: loads the app, starts its triggers, and drains them when it stops."""

import asyncio
import gc
import json
import logging
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from localcloud.clock import Clock, SystemClock
from localcloud.functions import timers
from localcloud.functions.admin import NOT_REPRODUCED, AdminApi
from localcloud.functions.definitions import (
    Function,
    HttpTrigger,
    McpResourceTrigger,
    McpToolTrigger,
    ServiceBusTrigger,
    TimerTrigger,
)
from localcloud.functions.dispatch import Dispatcher
from localcloud.functions.http_app import LIMITS, REASON, HttpApp
from localcloud.functions.http_values import decode_request
from localcloud.functions.invocation import Call, Invoker, pool_size
from localcloud.functions.keys import AccessKeys
from localcloud.functions.loader import LoadedApp, load_app
from localcloud.functions.mcp import PATH as MCP_PATH
from localcloud.functions.mcp import McpEndpoint
from localcloud.functions.messages import text_argument
from localcloud.functions.routes import Router
from localcloud.functions.schedule import parse_schedule
from localcloud.functions.servicebus import ServiceBusListener, connector
from localcloud.functions.settings import find_connection
from localcloud.httpd import HttpServer, Request, listen, port_of

log = logging.getLogger(__name__)

ADDRESS = "127.0.0.1"
STOP_RECEIVING_SECONDS = 3.0
CLOSE_SECONDS = 5.0
FLUSH_SECONDS = 5.0
GARBAGE_THRESHOLD = 10_000
GATE_SECONDS = 0.02


@dataclass(frozen=True)
class HostOptions:
    root: Path
    data: Path
    port: int = 7071
    enable_auth: bool = False
    drain_seconds: float = 10.0
    after: Path | None = None  # the file to wait for after the app is loaded


class FunctionsHost:
    def __init__(self, options: HostOptions, clock: Clock | None = None) -> None:
        self._options = options
        self._clock = clock or SystemClock()
        self._listeners: list[ServiceBusListener] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._timers: list[timers.TimerListener] = []
        self._app: LoadedApp
        self._invoker: Invoker
        self._admin: AdminApi
        self._server: HttpServer

    async def start(self) -> dict[str, str]:
        stdout, sys.stdout = sys.stdout, sys.stderr
        try:
            await self._start()
        finally:
            sys.stdout = stdout
        # Standard output is reserved for the READY line, so the app's prints go to the log. This takes effect
        # after the line is printed, because the loop runs again only then.
        asyncio.get_running_loop().call_soon(setattr, sys, "stdout", sys.stderr)
        return {"http": f"http://{ADDRESS}:{self._port}"}

    async def _start(self) -> None:
        os.chdir(self._options.root)
        self._app = load_app(self._options.root)
        gate = self._options.after
        while gate is not None and not gate.exists():  # noqa: ASYNC110 - another process creates the file
            await asyncio.sleep(GATE_SECONDS)
        functions = {function.name: function for function in self._app.functions}
        self._invoker = Invoker(
            timeout_seconds=self._app.config.function_timeout_seconds,
            threads=pool_size(os.environ.get("PYTHON_THREADPOOL_THREAD_COUNT")),
        )
        listener = listen(ADDRESS, self._options.port)  # before the app is told its port
        self._port = port_of(listener)
        base_url = f"http://localhost:{self._port}"
        os.environ.setdefault("WEBSITE_HOSTNAME", f"localhost:{self._port}")
        self._admin = AdminApi(functions, self._app.config.route_prefix, self._call_directly, base_url)
        keys = None
        if self._options.enable_auth:
            keys = AccessKeys(self._options.data / "keys.json", functions)
        mcp = McpEndpoint(functions, self._invoker, self._app.config.mcp)
        app = HttpApp(functions, Router(self._app.routes), self._invoker, keys, self._admin, mcp)
        self._server = HttpServer(app.handle, limits=LIMITS, largest_body=app.largest_body)
        await self._server.serve(listener)
        self._start_triggers()
        self._print_banner(base_url)
        # The loaded objects are permanent, so exclude them from garbage collection.
        gc.collect()
        gc.freeze()
        gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)  # a request creates dozens of objects without cycles

    def _start_triggers(self) -> None:
        for function in self._app.functions:
            if function.disabled:
                log.info("function %s is disabled", function.name)
            elif isinstance(function.trigger, TimerTrigger):
                self._timers.append(self._timer(function, function.trigger))
                self._timers[-1].start()
            elif isinstance(function.trigger, ServiceBusTrigger):
                listener = self._listener(function, function.trigger)
                self._listeners.append(listener)
                self._tasks.append(asyncio.create_task(listener.run()))

    def _timer(self, function: Function, trigger: TimerTrigger) -> timers.TimerListener:
        schedule = parse_schedule(trigger.schedule, os.environ.get("WEBSITE_TIME_ZONE"))
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        monitored = trigger.use_monitor and not schedule.is_sub_minute(now)
        rules = timers.TimerRules(schedule, run_on_startup=trigger.run_on_startup, monitored=monitored)

        async def invoke(argument: Any) -> None:
            reason = f"Timer fired at {datetime.fromtimestamp(self._clock.now(), UTC).isoformat()}"
            await self._invoker.invoke(function, Call(argument, reason))

        monitor = timers.ScheduleMonitor(self._options.data / "timers")
        return timers.TimerListener(function.name, rules, invoke, monitor, self._clock)

    def _listener(self, function: Function, trigger: ServiceBusTrigger) -> ServiceBusListener:
        options = self._app.config.service_bus
        connection = find_connection(trigger.connection, os.environ)
        assert connection is not None  # noqa: S101 - the loader has reported it otherwise
        dispatcher = Dispatcher(function, trigger, options, self._invoker)
        connect = connector(connection, trigger, options)
        return ServiceBusListener(function.name, trigger, options, dispatcher, connect)

    async def _call_directly(self, function: Function, given: Any) -> None:
        """Run a function for POST /admin/functions/{name}, with the given input as the trigger's value."""
        text = (
            given
            if isinstance(given, str)
            else ""
            if given is None
            else json.dumps(given, ensure_ascii=False)
        )
        trigger = function.trigger
        argument: Any
        if isinstance(trigger, TimerTrigger):
            argument = timers.timer_argument(None, past_due=False)
        elif isinstance(trigger, HttpTrigger):
            argument = decode_request(Request("POST", "/", {"host": "localhost"}, text.encode()), {})
        elif isinstance(trigger, ServiceBusTrigger):
            argument = text_argument(text)
        else:
            argument = text
        await self._invoker.invoke(function, Call(argument, REASON))

    def _print_banner(self, base_url: str) -> None:
        notice = "Azure Functions dev host of localcloud. It is not the real host: it does not reproduce"
        lines = [f"{notice} {', '.join(NOT_REPRODUCED)}."]
        lines += [f"  {_describe(function, self._app, base_url)}" for function in self._app.functions]
        if self._options.enable_auth:
            lines.append(f"Keys are required: see {self._options.data / 'keys.json'}.")
        else:
            lines.append("Authorization levels are not enforced: start with --enable-auth to do so.")
        lines += [f"warning: {warning}" for warning in self._app.warnings]
        print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - at any log level

    async def stop(self) -> None:
        """Stop receiving, let running invocations end or cancel them, and close."""
        self._admin.state = "Stopping"
        self._server.stop_listening()
        for timer in self._timers:
            timer.stop()
        deadline = asyncio.get_running_loop().time() + self._options.drain_seconds
        await self._stop_receiving()
        await self._invoker.drain(max(deadline - asyncio.get_running_loop().time(), 0.1))
        for timer in self._timers:
            await timer.close()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
        await self._server.stop(grace_seconds=1.0)
        await self._invoker.close()
        await _flush_telemetry()

    async def _stop_receiving(self) -> None:
        """Stop the listeners. The wait is limited, because a listener without a free slot waits for one."""
        stops = [asyncio.create_task(listener.stop_receiving()) for listener in self._listeners]
        if stops:
            await asyncio.wait(stops, timeout=min(STOP_RECEIVING_SECONDS, self._options.drain_seconds))


async def _flush_telemetry() -> None:
    """Flush the app's telemetry before the process ends."""
    if "opentelemetry.trace" not in sys.modules:
        return
    from opentelemetry import metrics, trace  # noqa: PLC0415 - only if the app has it
    from opentelemetry._logs import get_logger_provider  # noqa: PLC0415

    providers = (trace.get_tracer_provider(), metrics.get_meter_provider(), get_logger_provider())
    flushes = [provider.force_flush for provider in providers if hasattr(provider, "force_flush")]
    try:
        async with asyncio.timeout(FLUSH_SECONDS):
            for flush in flushes:
                await asyncio.to_thread(flush)
    except TimeoutError:
        log.warning("telemetry could not be sent within %.0f s", FLUSH_SECONDS)


def _describe(function: Function, app: LoadedApp, base_url: str) -> str:
    trigger = function.trigger
    if isinstance(trigger, HttpTrigger):
        methods = ",".join(sorted(trigger.methods)) if trigger.methods else "all methods"
        path = f"{app.config.route_prefix}/{trigger.route.strip('/')}".strip("/")
        return f"{function.name}: [{methods}] {base_url}/{path}"
    if isinstance(trigger, TimerTrigger):
        return f"{function.name}: timer '{trigger.schedule}'"
    if isinstance(trigger, McpToolTrigger | McpResourceTrigger):
        target = trigger.tool_name if isinstance(trigger, McpToolTrigger) else trigger.uri
        return f"{function.name}: MCP {base_url}{MCP_PATH} ({target})"
    return f"{function.name}: Service Bus '{trigger.queue}'"
