"""What the openai SDK raises, in the pipeline's terms."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import openai

from shared.core.errors import PermanentError, PipelineError, TransientError

__all__ = ["ChatRefusedError", "as_pipeline_error"]

_MAX_RETRY_AFTER = 3600.0
# A role assignment takes minutes to reach the service; see shared/core/errors.py.
_PASSING = frozenset({401, 403, 408, 409, 425, 429})
_SERVER_ERROR = 500


class ChatRefusedError(PermanentError):
    """The endpoint refuses this request, and would refuse it again."""


def as_pipeline_error(error: openai.OpenAIError) -> PipelineError:
    """Transient where another try may help, with the wait that the endpoint asks for; else permanent."""
    if isinstance(error, openai.APIStatusError):
        return _by_status(error)
    if isinstance(error, openai.APIConnectionError):
        return TransientError(f"the chat endpoint cannot be reached: {error}")
    return PermanentError(f"the chat model cannot be asked: {error}")


def _by_status(error: openai.APIStatusError) -> PipelineError:
    status = error.status_code
    said = " ".join(str(error.message).split())[:500]
    if status in _PASSING or status >= _SERVER_ERROR:
        transient = TransientError(f"the chat endpoint answered {status}: {said}")
        transient.retry_after = _retry_after(error)
        return transient
    if status == 404:  # noqa: PLR2004 -- not found
        return PermanentError(f"the chat endpoint does not know the model or deployment (404): {said}")
    return ChatRefusedError(f"the chat endpoint refused the request ({status}): {said}")


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Seconds, from any of the three forms that endpoints use."""
    headers = error.response.headers
    for name, factor in (("retry-after-ms", 0.001), ("x-ms-retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is not None and (seconds := _seconds(value)) is not None:
            return min(max(seconds * factor, 0.0), _MAX_RETRY_AFTER)
    return None


def _seconds(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return (aware - datetime.now(UTC)).total_seconds()
