# ruff: noqa: N818 - named after the errors of Service Bus
"""Errors of a namespace, with their AMQP conditions and HTTP statuses."""

from typing import ClassVar


class BrokerError(Exception):
    """The local namespace failed on this request."""

    condition: ClassVar[str] = "amqp:internal-error"
    status: ClassVar[int] = 500  # of a $management reply

    def __init_subclass__(cls, *, condition: str = condition, status: int = status) -> None:
        cls.condition, cls.status = condition, status

    def __init__(self, description: str | None = None) -> None:
        self.description = description or (self.__doc__ or "")
        super().__init__(self.description)


class DecodeFailed(BrokerError, condition="amqp:decode-error", status=400):
    """The message is not a well-formed AMQP message."""


class EntityNotFound(BrokerError, condition="amqp:not-found", status=404):
    """The messaging entity could not be found."""


class MessageNotFound(BrokerError, condition="com.microsoft:message-not-found", status=404):
    """The message does not exist, is in another state, or is locked."""


class LockLost(BrokerError, condition="com.microsoft:message-lock-lost", status=410):
    """The lock supplied is invalid. Either the lock expired, or the message has already been removed."""


class NotAllowed(BrokerError, condition="amqp:not-allowed", status=400):
    """The entity does not allow the operation."""


class NotSupported(BrokerError, condition="amqp:not-implemented", status=501):
    """The local Service Bus does not implement this operation."""


class Unauthorized(BrokerError, condition="amqp:unauthorized-access", status=401):
    """$cbs got no valid token for this entity."""


class QuotaExceeded(BrokerError, condition="amqp:resource-limit-exceeded", status=403):
    """The entity has reached its maximum size."""


class MessageTooLarge(BrokerError, condition="amqp:link:message-size-exceeded", status=400):
    """The message is larger than the limit of 256 KB."""


class ArgumentInvalid(BrokerError, condition="com.microsoft:argument-error", status=400):
    """A field of the request is missing or has the wrong type."""


class ServerBusy(BrokerError, condition="com.microsoft:server-busy", status=503):
    """The server is busy: an injected fault."""
