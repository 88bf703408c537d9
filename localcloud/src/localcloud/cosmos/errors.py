"""Errors of the account, with the status and substatus that the SDKs act on."""

from functools import partial
from http import HTTPStatus
from typing import Any

import orjson

_CODES = {status.value: status.phrase.replace(" ", "") for status in HTTPStatus}
_CODES |= {413: "RequestEntityTooLarge", 449: "RetryWith"}


class CosmosError(Exception):
    """An error response of the account."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        substatus: int = 0,
        headers: tuple[tuple[str, str], ...] = (),
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.substatus = substatus
        self.headers = headers
        self.details = details or {}

    @property
    def body(self) -> dict[str, Any]:
        return {"code": _CODES.get(self.status, "Error"), "message": str(self), **self.details}


bad_request = partial(CosmosError, 400)
unauthorized = partial(CosmosError, 401)
conflict = partial(CosmosError, 409)
precondition_failed = partial(CosmosError, 412)
too_large = partial(CosmosError, 413)


def cross_partition_disabled() -> CosmosError:
    return bad_request(
        "Cross partition query is required but disabled. Please set "
        "x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, "
        "or revise your query to avoid this exception."
    )


def not_found(resource: str, *, substatus: int = 0) -> CosmosError:
    return CosmosError(404, f"Resource Not Found: {resource} does not exist", substatus=substatus)


def not_implemented(
    feature: str, instead: str = "see docs/cosmos.md for the supported features"
) -> CosmosError:
    return CosmosError(501, f"{feature} is not part of the local Cosmos DB: {instead}")


def parse_json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError as error:
        raise _not_json(body, error) from None


def _not_json(body: bytes, error: ValueError) -> CosmosError:
    """Return the error for a body that is not JSON.

    The first byte identifies the .NET SDK's binary formats.
    """
    if body[:1] == b"\x81":
        return bad_request(
            "the body is HybridRow, in which the .NET SDK sends transactional batches and bulk requests; the "
            "local Cosmos DB reads JSON: set AllowBulkExecution = false and write the items one by one, or "
            "use the Python, JavaScript or Java SDK, which send batches as JSON"
        )
    if body[:1] == b"\x80":
        return bad_request(
            "the body is Cosmos DB's binary JSON; the local Cosmos DB reads text: set "
            "AZURE_COSMOS_BINARY_ENCODING_ENABLED=false where the client runs"
        )
    return bad_request(f"the body is not JSON: {error}")


def session_not_available() -> CosmosError:
    return CosmosError(
        404,
        "The read session is not available for the input session token: this replica has not caught up yet",
        substatus=1002,
    )


def throttled(retry_after_ms: int) -> CosmosError:
    return CosmosError(
        429,
        "The request rate is too large: wait x-ms-retry-after-ms and try again",
        substatus=3200,
        headers=(("x-ms-retry-after-ms", str(retry_after_ms)),),
    )
