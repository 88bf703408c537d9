"""Errors as problem details (RFC 9457), with the parameter or JSON pointer of each fault."""

import errno
import json
import logging
from typing import Any

import azure.functions as func
from pydantic import ValidationError

from shared.azure.classify import classify
from shared.core.concurrency import QueueFullError
from shared.core.errors import (
    EditConflictError,
    ErrorKind,
    InvalidCursorError,
    InvalidEditError,
    NotFoundError,
)
from shared.pipeline.retry import GaveUpError
from shared.settings.app import SettingsError

log = logging.getLogger(__name__)
RETRY_SECONDS, UNAVAILABLE = "30", 503
TITLES = {
    400: "Bad request",
    401: "Sign-in required",
    403: "Not allowed",
    404: "Not found",
    409: "Conflict",
    411: "Length required",
    412: "Precondition failed",
    413: "Too large",
    415: "Not a mail archive",
    422: "Invalid input",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
}


_STATUS: dict[type[Exception], int] = {
    NotFoundError: 404,
    InvalidEditError: 422,
    EditConflictError: 409,
    QueueFullError: 503,
}


class Problem(Exception):  # noqa: N818 - the term of RFC 9457
    """An error that ends a request with this status and detail."""

    def __init__(self, status: int, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.more = more
        self.headers = {"Retry-After": RETRY_SECONDS} if status == UNAVAILABLE else {}

    def response(self) -> func.HttpResponse:
        body = {
            "type": "about:blank",
            "title": TITLES.get(self.status, "Error"),
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }
        return func.HttpResponse(
            json.dumps(body),
            status_code=self.status,
            mimetype="application/problem+json",
            headers={"X-Content-Type-Options": "nosniff", **self.headers},
        )


def bad_parameter(name: str, detail: str) -> Problem:
    return Problem(422, f"{name}: {detail}", errors=[{"parameter": name, "detail": detail}])


def bad_field(name: str, detail: str) -> Problem:
    return Problem(422, f"/{name}: {detail}", errors=[{"pointer": f"/{name}", "detail": detail}])


def answer(status: int, body: Any, **headers: str) -> func.HttpResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return func.HttpResponse(json.dumps(body), status_code=status, mimetype="application/json", headers=named)


def invalid(error: ValidationError) -> Problem:
    faults = [_fault(fault) for fault in error.errors(include_input=False, include_url=False)[:20]]
    detail = "; ".join(f"{fault['pointer'] or '/'}: {fault['detail']}" for fault in faults[:3])
    return Problem(422, detail, errors=faults)


def _fault(problem: Any) -> dict[str, str]:
    message = problem["msg"].removeprefix("Value error, ")
    path = [str(part) for part in problem["loc"]]
    if not path and ": " in message:  # a rule over several fields names the faulty field
        named, _, rest = message.partition(": ")
        if named.isidentifier():
            path, message = [named], rest
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
    return {"pointer": pointer, "detail": message}


def as_problem(error: Exception) -> Problem:
    """Return the problem for the client. Unexpected errors are logged, and their text is not shown."""
    match error:
        case Problem():
            return error
        case _ if type(error) in _STATUS:
            return Problem(_STATUS[type(error)], str(error))
        case InvalidCursorError():
            return bad_parameter("after", str(error))
        case ValidationError():
            return invalid(error)
        case SettingsError():
            return Problem(503, "The app is not configured.", problems=str(error).splitlines())
    log.error("a request failed", exc_info=error)
    return _unexpected(error)


def _unexpected(error: Exception) -> Problem:
    failure = error.failure if isinstance(error, GaveUpError) else classify(error)
    if failure.kind is ErrorKind.PERMANENT:
        return Problem(500, "Internal error. See the log.")
    cause = error.__cause__ if isinstance(error, GaveUpError) else error
    if isinstance(cause, OSError) and cause.errno == errno.ENOSPC:
        return Problem(503, "The disk of the app's host is full. Tell its operator.")
    service = str(failure.details.get("service", "a required service"))
    return Problem(503, f"{service[0].upper()}{service[1:]} is not responding. Try again later.")
