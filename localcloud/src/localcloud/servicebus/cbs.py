"""$cbs: authorizes a connection by tokens (claims-based security)."""

from typing import TYPE_CHECKING

from localcloud.clock import Clock
from localcloud.servicebus.auth import AccessKey, entity_path
from localcloud.servicebus.errors import NotSupported, QuotaExceeded
from localcloud.servicebus.requests import Reply, Request

if TYPE_CHECKING:
    from localcloud.servicebus.amqp.connection import Connection

MAX_TOKENS = 1000


class TokenNode:
    """The $cbs node. It ignores a request's token type, because SDKs sometimes declare a SAS token as jwt."""

    def __init__(self, connection: "Connection", access_key: AccessKey, clock: Clock) -> None:
        self._connection = connection
        self._access_key = access_key
        self._clock = clock

    def operation_name(self, request: Request) -> str:
        return f"cbs.{request.operation}"

    def answer(self, request: Request) -> Reply:
        if request.operation != "put-token":
            raise NotSupported(f"$cbs: '{request.operation}' is not implemented, only put-token is.")
        audience = str(request.properties.get("name", ""))
        token = request.body if isinstance(request.body, str) else ""
        end = self._access_key.check_token(token, audience, self._clock.now())
        tokens = self._connection.tokens
        path = entity_path(audience)
        if len(tokens) >= MAX_TOKENS and path not in tokens:
            raise QuotaExceeded(f"A connection can have at most {MAX_TOKENS} tokens.")
        tokens[path] = end
        return Reply(202, "Accepted")
