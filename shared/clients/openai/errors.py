"""What the openai SDK raises, in the pipeline's terms."""

from datetime import UTC, datetime

import openai

from shared.core.errors import PermanentError, PipelineError, TransientError
from shared.core.retry_after import retry_after_seconds

__all__ = ["ChatRefusedError", "as_pipeline_error"]

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
        transient.retry_after = retry_after_seconds(error.response.headers, now=datetime.now(UTC))
        return transient
    if status == 404:  # noqa: PLR2004 -- not found
        return PermanentError(f"the chat endpoint does not know the model or deployment (404): {said}")
    return ChatRefusedError(f"the chat endpoint refused the request ({status}): {said}")
