"""Service Bus triggers: receive with the real SDK and dispatch to functions.

The listener retries broken connections and missing entities with backoff, and logs each outage once.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.aio import ServiceBusClient, ServiceBusReceiver

from localcloud.functions.definitions import ServiceBusTrigger
from localcloud.functions.dispatch import Dispatcher
from localcloud.functions.hostconfig import ServiceBusOptions

log = logging.getLogger(__name__)

RECEIVE_SECONDS = 1.0  # the duration of a receive call, and so the delay of a stop
LONGEST_BACKOFF_SECONDS = 30.0
# A few quick retries, because the listener itself retries longer outages. A socket timeout as long as the
# receive call, instead of 0.2 s, reduces the cost of an idle trigger to a fifth.
OPTIONS: dict[str, Any] = {
    "retry_total": 2,
    "retry_backoff_factor": 0.2,
    "socket_timeout": RECEIVE_SECONDS,
}

Connector = Callable[[], contextlib.AbstractAsyncContextManager[ServiceBusReceiver]]


def connector(connection: str, trigger: ServiceBusTrigger, options: ServiceBusOptions) -> Connector:
    """Return a function that creates receivers for this trigger's queue."""

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[ServiceBusReceiver]:
        # Entering the contexts connects here, because the timeout of a receive call may be too short for it.
        async with (
            ServiceBusClient.from_connection_string(connection, **OPTIONS) as client,
            client.get_queue_receiver(trigger.queue, prefetch_count=options.prefetch_count) as receiver,
        ):
            yield receiver

    return connect


class ServiceBusListener:
    def __init__(
        self,
        name: str,
        trigger: ServiceBusTrigger,
        options: ServiceBusOptions,
        dispatcher: Dispatcher,
        connect: Connector,
        *,
        first_backoff_seconds: float = 1.0,
    ) -> None:
        self._name = name
        self._queue = trigger.queue
        self._slots = asyncio.Semaphore(options.max_concurrent_calls)
        self._dispatcher = dispatcher
        self._connect = connect
        self._first_backoff = first_backoff_seconds
        self._stopping = asyncio.Event()
        self._receives_no_more = asyncio.Event()
        self._down = False
        self._retired: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Receive until stopped. Return when all receivers are closed."""
        failures = 0
        while not self._stopping.is_set():
            session = _Session()
            try:
                await session.open(self._connect())
                while not self._stopping.is_set():
                    await self._receive_once(session)
                    self._note_up()
                    failures = 0
            except Exception as error:  # noqa: BLE001 - the trigger must recover from any error
                self._note_down(error)
                failures += 1
            self._retire(session)
            if not self._stopping.is_set():
                await self._back_off(failures)
        self._receives_no_more.set()
        if self._retired:
            await asyncio.wait(self._retired)

    async def stop_receiving(self) -> None:
        """Stop receiving. Dispatched messages continue."""
        self._stopping.set()
        await self._receives_no_more.wait()

    async def _receive_once(self, session: "_Session") -> None:
        await self._slots.acquire()
        handed_over = False
        try:
            if self._stopping.is_set():
                return
            messages = await session.receiver.receive_messages(1, max_wait_time=RECEIVE_SECONDS)
            for message in messages:
                session.dispatch(self._dispatch(session.receiver, message))
                handed_over = True
        finally:
            if not handed_over:
                self._slots.release()

    async def _dispatch(self, receiver: ServiceBusReceiver, message: ServiceBusReceivedMessage) -> None:
        try:
            await self._dispatcher.dispatch(receiver, message)
        except Exception:
            log.exception("trigger %s could not dispatch a message", self._name)
        finally:
            self._slots.release()

    def _retire(self, session: "_Session") -> None:
        """Close the session when its messages are settled, without delaying the next session."""
        task = asyncio.create_task(session.close())
        self._retired.add(task)
        task.add_done_callback(self._retired.discard)

    async def _back_off(self, failures: int) -> None:
        delay = min(self._first_backoff * 2.0 ** min(failures - 1, 10), LONGEST_BACKOFF_SECONDS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(delay * random.uniform(0.75, 1.25)):
                await self._stopping.wait()

    def _note_down(self, error: Exception) -> None:
        if self._down:
            log.debug("trigger %s: still down: %s", self._name, error)
            return
        self._down = True
        line = "trigger %s cannot receive from '%s' (it keeps trying): %s: %s"
        log.error(line, self._name, self._queue, type(error).__name__, error)

    def _note_up(self) -> None:
        if self._down:
            self._down = False
            log.info("trigger %s receives from '%s' again", self._name, self._queue)


class _Session:
    """A receiver, and the dispatches that settle through it."""

    def __init__(self) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._dispatches: set[asyncio.Task[None]] = set()
        self.receiver: ServiceBusReceiver

    async def open(self, connection: contextlib.AbstractAsyncContextManager[ServiceBusReceiver]) -> None:
        self.receiver = await self._stack.enter_async_context(connection)

    def dispatch(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._dispatches.add(task)
        task.add_done_callback(self._dispatches.discard)

    async def close(self) -> None:
        if self._dispatches:
            await asyncio.wait(self._dispatches)
        try:
            await self._stack.aclose()
        except Exception as error:  # noqa: BLE001 - it is already broken
            log.debug("closing a receiver failed: %s", error)
