"""Classify errors of the SDKs: race (a document cannot be read yet), transient, or permanent."""

import errno
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

from shared.core.errors import (
    _DETAILS,
    ClassifiedError,
    DependencyError,
    DocumentNotFoundError,
    ErrorKind,
    PipelineError,
    ServiceSilentError,
    TransientError,
)
from shared.core.lazy_import import lazy

if TYPE_CHECKING:
    from azure.cosmos import exceptions as cosmos
    from azure.servicebus import exceptions as bus
else:
    cosmos = lazy("azure.cosmos.exceptions")
    bus = lazy("azure.servicebus.exceptions")

MAX_RETRY_AFTER_SECONDS = 3600.0  # a hostile or broken server cannot delay the work for longer
# In order of precision. Azure sends the first two in addition to the standard header.
_HEADERS = (("x-ms-retry-after-ms", 0.001), ("retry-after-ms", 0.001), ("retry-after", 1.0))
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{0,12})?")


def retry_after_seconds(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the wait in seconds, at most an hour. `now` is needed to parse an HTTP date."""
    values = {name.lower(): str(value).strip() for name, value in headers.items()}
    for name, factor in _HEADERS:
        value = values.get(name, "")
        seconds = float(value) * factor if _NUMBER.fullmatch(value) else _seconds_until(value, now)
        if seconds is not None:
            return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)
    return None


def _seconds_until(date: str, now: datetime | None) -> float | None:
    if now is None or not date:
        return None
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - now).total_seconds()


# The errors of a service that does not work: the base class of the Azure SDKs, and a missed deadline.
SDK_ERRORS = (AzureError, ServiceSilentError)

# 401 and 403: a role assignment takes minutes to reach a service. 409 and 412: a retry reads again.
_TRANSIENT_STATUS = frozenset({401, 403, 408, 409, 410, 412, 429, 449})
_CONFLICTS = frozenset({409, 410, 412, 449})  # conflicts with other writers, while the service works
_SERVER_ERRORS = range(500, 600)
_NOT_IMPLEMENTED = frozenset({501, 505})
_NOT_FOUND = 404
_READ_SESSION_NOT_AVAILABLE = 1002
# A lack of resources that an operator has to fix. The work itself is not the cause.
_NO_ROOM = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EIO}
)
_TRANSIENT_TYPES = (TransientError, MemoryError, ClientAuthenticationError, ConnectionError, TimeoutError)


def classify(error: BaseException) -> ClassifiedError:
    kind = _kind(error)
    # Errors of other libraries may quote their input, which may be mail.
    ours = type(error).__module__.partition(".")[0] in _OURS
    return ClassifiedError(
        kind,
        type(error).__name__,
        _message(error),
        _retry_after(error) if kind is ErrorKind.TRANSIENT else None,
        getattr(error, _DETAILS, {}),
        safe_to_log=ours or isinstance(error, AzureError | OSError),
        is_outage=kind is ErrorKind.TRANSIENT and _is_outage(error),
    )


def _kind(error: BaseException) -> ErrorKind:
    if isinstance(error, DocumentNotFoundError) or _session_not_available(error):
        return ErrorKind.RACE
    return ErrorKind.TRANSIENT if _is_transient(error) else ErrorKind.PERMANENT


def _is_transient(error: BaseException) -> bool:
    if isinstance(error, _TRANSIENT_TYPES) or (isinstance(error, OSError) and error.errno in _NO_ROOM):
        return True
    if isinstance(error, HttpResponseError):
        status = error.status_code
        failed = status in _SERVER_ERRORS and status not in _NOT_IMPLEMENTED
        return status is None or status in _TRANSIENT_STATUS or failed
    if isinstance(error, bus.MessageSizeExceededError | bus.MessagingEntityNotFoundError):
        return False
    if isinstance(error, bus.ServiceBusError):
        transient = (bus.MessageLockLostError, bus.ServiceBusQuotaExceededError)
        # The SDK raises the base class for a link or connection that broke for an unknown reason.
        is_bare = type(error) is bus.ServiceBusError
        return is_bare or isinstance(error, transient) or bool(getattr(error, "_retryable", False))
    # Other SDK errors have no status: the response was incomplete or missing.
    return isinstance(error, AzureError)


def _is_outage(error: BaseException) -> bool:
    """Return whether the dependency causes a transient failure: it is silent, refuses or throttles."""
    if isinstance(error, HttpResponseError):
        return error.status_code not in _CONFLICTS
    if isinstance(error, PipelineError):
        return isinstance(error, DependencyError)
    return not isinstance(error, MemoryError | bus.MessageLockLostError)


def _session_not_available(error: BaseException) -> bool:
    if isinstance(error, KeyError) and error.__context__ is not None:
        # The SDK deletes its own token before it raises this error, and fails if the token is gone.
        return _session_not_available(error.__context__)
    return (
        isinstance(error, cosmos.CosmosHttpResponseError)
        and error.status_code == _NOT_FOUND
        and error.sub_status == _READ_SESSION_NOT_AVAILABLE
    )


def _retry_after(error: BaseException) -> float | None:
    if isinstance(error, TransientError):
        return error.retry_after
    response = getattr(error, "response", None)
    return retry_after_seconds(getattr(error, "headers", None) or getattr(response, "headers", None) or {})


_MESSAGE_LENGTH = 2000
_OURS = frozenset({"localcloud", "ops", "shared", "stages", "web"})


def _message(error: BaseException) -> str:
    """Return the error's text on one line, cut to what fits a document and an event."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _MESSAGE_LENGTH else text[: _MESSAGE_LENGTH - 1] + "…"
