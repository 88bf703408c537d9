"""ServiceBusMessageActions for functions of the dev host: the methods of the preview extension.

In Azure, `azurefunctions-extensions-bindings-servicebus` sends these calls over gRPC to the host's settlement
service. The dev host runs functions in its own process, so the methods call the receiver directly.
"""

import asyncio
import copy
import sys
from collections.abc import Coroutine
from typing import Any

from azure.servicebus import ServiceBusReceivedMessage

from localcloud.functions.settlement import Settlement

_EXTENSION_MODULE = "azurefunctions.extensions.bindings.servicebus.serviceBusMessageActions"
SETTLE_SECONDS = 60.0


class SettlementError(Exception):
    """Replaces the extension's SettlementError if the extension is not imported."""

    def __init__(self, method: str, details: str, original: BaseException) -> None:
        super().__init__(f"[{method}] {details}. Underlying error: {original}")
        self.method = method
        self.details = details
        self.original = original


def detached(message: ServiceBusReceivedMessage) -> ServiceBusReceivedMessage:
    """Return a copy without its receiver, which a function can read but not settle, as in Azure."""
    return copy.copy(message)


class MessageActions:
    """Synchronous actions, like the extension's. Functions call them, never the host's loop."""

    def __init__(self, settlement: Settlement, loop: asyncio.AbstractEventLoop) -> None:
        self._settlement = settlement
        self._loop = loop

    def complete(self, message: ServiceBusReceivedMessage) -> None:
        self._settle("complete", message, "complete")

    def abandon(self, message: ServiceBusReceivedMessage) -> None:
        self._settle("abandon", message, "abandon")

    def deadletter(
        self,
        message: ServiceBusReceivedMessage,
        deadletter_reason: str | None = None,
        deadletter_error_description: str | None = None,
    ) -> None:
        arguments = {"reason": deadletter_reason, "error_description": deadletter_error_description}
        self._settle("deadletter", message, "dead_letter", **arguments)

    def defer(self, message: ServiceBusReceivedMessage) -> None:
        self._settle("defer", message, "defer")

    def renew_message_lock(self, message: ServiceBusReceivedMessage) -> None:
        token = _lock_token("renew_message_lock", message)
        self._wait("renew_message_lock", token, self._settlement.renew(token))

    def _refuse_session(self, *_: object, **__: object) -> None:
        raise _error("sessions", "the dev host has no sessions", NotImplementedError("sessions"))

    set_session_state = release_session = renew_session_lock = _refuse_session

    def _settle(
        self, method: str, message: ServiceBusReceivedMessage, operation: str, **arguments: Any
    ) -> None:
        token = _lock_token(method, message)
        self._wait(method, token, self._settlement.settle(operation, token, **arguments))

    def _wait(self, method: str, token: str, work: Coroutine[Any, Any, None]) -> None:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            future.result(SETTLE_SECONDS)
        except Exception as error:
            future.cancel()
            raise _error(method, f"Failed to {method} message {token}", error) from error


def _lock_token(method: str, message: ServiceBusReceivedMessage) -> str:
    if not message.lock_token:
        error = ValueError("lockToken is required in ServiceBusReceivedMessage.")
        raise _error(method, "the message has no lock token", error)
    return str(message.lock_token)


def _error(method: str, details: str, original: BaseException) -> Exception:
    """Return the extension's own error if the app uses the extension, so that `except` clauses match."""
    kind = getattr(sys.modules.get(_EXTENSION_MODULE), "SettlementError", SettlementError)
    error: Exception = kind(method, details, original)
    return error
