"""What the openai SDK raises, in the pipeline's terms."""

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from shared.clients.openai.ports import ChatRefusedError
from shared.core.errors import PermanentError, PipelineError, TransientError, UnencodableTextError
from shared.core.lazy_import import lazy
from shared.core.retry_after import retry_after_seconds

if TYPE_CHECKING:
    import openai
else:
    openai = lazy("openai")

# A role assignment takes minutes to reach the service; see shared/clients/classify.py.
_TRANSIENT = frozenset({401, 403, 408, 409, 425, 429})
_SERVER_ERROR = 500
_NOT_FOUND = 404


@dataclass(frozen=True)
class OpenAIService:
    """What an error is called, and which statuses blame the request itself."""

    name: str
    refusal: type[PermanentError]
    refused: Container[int]


CHAT = OpenAIService("the chat endpoint", ChatRefusedError, frozenset(range(400, 500)) - {_NOT_FOUND})
EMBEDDING = OpenAIService("the embedding service", UnencodableTextError, frozenset({400, 413, 422}))


def as_pipeline_error(error: "openai.OpenAIError", service: OpenAIService, now: datetime) -> PipelineError:
    """Transient where another try may help, with the wait that the service asks for; else permanent."""
    if isinstance(error, openai.APIStatusError):
        return _by_status(error, service, now)
    if isinstance(error, openai.APIConnectionError):
        unreached = TransientError(f"{service.name} cannot be reached: {error}")
        unreached.timed_out = isinstance(error, openai.APITimeoutError)
        return unreached
    if isinstance(error, openai.APIError):
        return TransientError(f"{service.name} gave no valid answer: {error}")
    return PermanentError(f"{service.name} cannot be asked: {error}")


def _by_status(error: "openai.APIStatusError", service: OpenAIService, now: datetime) -> PipelineError:
    status = error.status_code
    text = " ".join(str(error.message).split())[:500]
    if status in _TRANSIENT or status >= _SERVER_ERROR:
        transient = TransientError(f"{service.name} answered {status}: {text}")
        transient.retry_after = retry_after_seconds(error.response.headers, now=now)
        return transient
    if status in service.refused:
        return service.refusal(f"{service.name} refused the request ({status}): {text}")
    if status == _NOT_FOUND:
        return PermanentError(f"{service.name} does not know the model or deployment (404): {text}")
    return PermanentError(f"{service.name} answered {status}: {text}")
