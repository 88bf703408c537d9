"""Remove the pauses of the Service Bus SDK in the tests' process.

The SDK takes about nine steps to open a link and sleeps for 50 ms after each, even if the broker has
answered. To close a link it waits for its keep-alive, which sleeps for a second at a time. The tests open and
close many links and spent most of their time in these pauses. The SDK also reads the system's certificates
for each connection, which takes 16 ms, although the broker has no TLS. Here it reads them once. The frames
and their order do not change. The app in its host, a separate process, has the unmodified SDK.
"""

import asyncio
import time
from typing import Any

import pytest
from azure.servicebus._pyamqp.aio._client_async import AMQPClientAsync
from azure.servicebus._pyamqp.aio._transport_async import AsyncTransportMixin
from azure.servicebus._pyamqp.client import AMQPClient

__all__ = ["with_pauses", "without_pauses"]

MOST_STEPS = 50  # then the SDK checks its deadline again
NOTHING_CAME_SECONDS = 0.15  # a step that reads no frame takes the socket's timeout, 0.2 s

_AS_IT_COMES: tuple[tuple[type, str, Any], ...] = (
    (AMQPClientAsync, "client_ready_async", AMQPClientAsync.client_ready_async),
    (AMQPClientAsync, "close_async", AMQPClientAsync.close_async),
    (AMQPClient, "client_ready", AMQPClient.client_ready),
    (AMQPClient, "close", AMQPClient.close),
)


def with_pauses(patch: pytest.MonkeyPatch) -> None:
    """Restore the unmodified SDK, for the tests that show that it works with our broker."""
    for client, name, method in _AS_IT_COMES:
        patch.setattr(client, name, method)


def without_pauses(patch: pytest.MonkeyPatch) -> None:
    _async_without_pauses(patch)
    _blocking_without_pauses(patch)
    _certificates_read_once(patch)


def _certificates_read_once(patch: pytest.MonkeyPatch) -> None:
    build: Any = AsyncTransportMixin._build_ssl_opts
    known: dict[str, Any] = {}

    def build_once(self: Any, options: Any) -> Any:
        key = repr(options)
        if key not in known:
            known[key] = build(self, options)
        return known[key]

    patch.setattr(AsyncTransportMixin, "_build_ssl_opts", build_once)


def _async_without_pauses(patch: pytest.MonkeyPatch) -> None:
    client_ready: Any = AMQPClientAsync.client_ready_async
    close: Any = AMQPClientAsync.close_async

    async def client_ready_at_once(self: Any) -> bool:
        for _ in range(MOST_STEPS):
            began = time.monotonic()
            if await client_ready(self):
                return True
            if time.monotonic() - began > NOTHING_CAME_SECONDS:
                break
        return False

    async def close_at_once(self: Any) -> None:
        turning: asyncio.Task[None] | None = self._keep_alive_thread
        self._keep_alive_thread = None
        if turning is not None:
            turning.cancel()
            await asyncio.gather(turning, return_exceptions=True)
        await close(self)

    patch.setattr(AMQPClientAsync, "client_ready_async", client_ready_at_once)
    patch.setattr(AMQPClientAsync, "close_async", close_at_once)


def _blocking_without_pauses(patch: pytest.MonkeyPatch) -> None:
    client_ready: Any = AMQPClient.client_ready
    close: Any = AMQPClient.close

    def client_ready_at_once(self: Any) -> bool:
        for _ in range(MOST_STEPS):
            began = time.monotonic()
            if client_ready(self):
                return True
            if time.monotonic() - began > NOTHING_CAME_SECONDS:
                break
        return False

    def close_at_once(self: Any) -> None:
        self._keep_alive_thread = None  # `close` tells it to end
        close(self)

    patch.setattr(AMQPClient, "client_ready", client_ready_at_once)
    patch.setattr(AMQPClient, "close", close_at_once)
