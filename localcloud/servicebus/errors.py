# ruff: noqa: N818 - named after the errors of Service Bus
"""The errors of a namespace, and how they appear on the wire.

BrokerError                    condition, status of a $management reply
 |- DecodeFailed               amqp:decode-error, 400
 |- EntityNotFound             amqp:not-found, 404
 |- MessageNotFound            com.microsoft:message-not-found, 404
 |- LockLost                   com.microsoft:message-lock-lost, 410
 |- NotAllowed                 amqp:not-allowed, 400
 |- NotSupported               amqp:not-implemented, 501
 |- Unauthorized               amqp:unauthorized-access, 401
 |- QuotaExceeded              amqp:resource-limit-exceeded, 403
 |- MessageTooLarge            amqp:link:message-size-exceeded, 400
 |- ArgumentInvalid            com.microsoft:argument-error, 400
 `- ServerBusy                 com.microsoft:server-busy, 503
"""

from typing import ClassVar


class BrokerError(Exception):
    """The local namespace failed on this request."""

    condition: ClassVar[str] = "amqp:internal-error"
    status: ClassVar[int] = 500

    def __init__(self, description: str | None = None) -> None:
        self.description = description or (self.__doc__ or "")
        super().__init__(self.description)


class DecodeFailed(BrokerError):
    """The message is not a well-formed AMQP message."""

    condition = "amqp:decode-error"
    status = 400


class EntityNotFound(BrokerError):
    """The messaging entity could not be found."""

    condition = "amqp:not-found"
    status = 404


class MessageNotFound(BrokerError):
    """No such message: it does not exist, is in another state, or is locked."""

    condition = "com.microsoft:message-not-found"
    status = 404


class LockLost(BrokerError):
    """The lock supplied is invalid. Either the lock expired, or the message has already been removed."""

    condition = "com.microsoft:message-lock-lost"
    status = 410


class NotAllowed(BrokerError):
    """The entity does not allow the operation."""

    condition = "amqp:not-allowed"
    status = 400


class NotSupported(BrokerError):
    """The local Service Bus does not implement this operation."""

    condition = "amqp:not-implemented"
    status = 501


class Unauthorized(BrokerError):
    """No valid token for this entity was put on $cbs."""

    condition = "amqp:unauthorized-access"
    status = 401


class QuotaExceeded(BrokerError):
    """The entity has reached its maximum size."""

    condition = "amqp:resource-limit-exceeded"
    status = 403


class MessageTooLarge(BrokerError):
    """The message is larger than the limit of 256 KB."""

    condition = "amqp:link:message-size-exceeded"
    status = 400


class ArgumentInvalid(BrokerError):
    """A field of the request is missing or has the wrong type."""

    condition = "com.microsoft:argument-error"
    status = 400


class ServerBusy(BrokerError):
    """The server is busy: an injected fault."""

    condition = "com.microsoft:server-busy"
    status = 503
