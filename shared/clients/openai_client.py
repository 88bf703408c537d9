"""The client of OpenAI's API, for chat and embeddings: Azure OpenAI by identity or key, or a compatible one.

The SDK's own retries are off: a throttled call is raised as transient with the wait that the service asks
for, and the stage's backoff honours it, as for every other dependency.
"""

import base64
import binascii
import json
import re
from collections.abc import AsyncIterator, Container, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from shared.clients.calls import Calls
from shared.clients.classify import retry_after_seconds
from shared.core.errors import PermanentError, PipelineError, TransientError, UnencodableTextError
from shared.core.lazy_import import lazy
from shared.core.runtime import Runtime

if TYPE_CHECKING:
    import openai
    from azure.identity import aio as identity_aio
else:
    openai = lazy("openai")
    identity_aio = lazy("azure.identity.aio")


class ChatRefusedError(PermanentError):
    """The endpoint refuses this request, and would refuse it again."""


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """How a chat model is asked. Endpoints differ in the last three."""

    model: str
    answer_tokens: int = 1000
    timeout_seconds: float = 120.0
    answer_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    answer_format: Literal["schema", "object", "off"] = "schema"
    """JSON that follows `answer_schema`, any JSON object, or whatever the model writes."""
    answer_schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A chat model's answer. The counts are 0 where the endpoint does not tell them."""

    text: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatPort(Protocol):
    async def complete(self, system: str, user: str, options: CompletionOptions) -> Completion: ...

    async def close(self) -> None: ...


class EmbeddingPort(Protocol):
    async def embed(
        self, texts: Sequence[str], *, model: str, dimensions: int | None
    ) -> list[NDArray[np.float32]]:
        """One vector a text, in their order. Raises UnencodableTextError where the texts are refused."""

    async def close(self) -> None: ...


AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
MAX_ANSWER_BYTES = 1024 * 1024
DEFAULT_SECONDS = 120.0
HANGING_UP = 5.0
# A role assignment takes minutes to reach the service; see shared/clients/classify.py.
_TRANSIENT = frozenset({401, 403, 408, 409, 425, 429})
_SERVER_ERROR = 500
_NOT_FOUND = 404
_FORMAT_REFUSED = re.compile(r"response_format|json_schema|schema|json_object", re.IGNORECASE)
_SIMPLER_FORMAT = {"schema": "object", "object": "off"}


class InvalidEndpointError(ValueError):
    """The endpoint's settings do not fit together."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    is_azure: bool = False
    api_key: str | None = None
    api_version: str = "2024-10-21"
    timeout_seconds: float = DEFAULT_SECONDS
    identity_client_id: str | None = (
        None  # Azure without a key: which managed identity, where there are several
    )


@dataclass(frozen=True)
class OpenAIService:
    """What an error is called, and which statuses blame the request itself."""

    name: str
    refusal: type[PermanentError]
    refused: Container[int]


CHAT = OpenAIService("the chat endpoint", ChatRefusedError, frozenset(range(400, 500)) - {_NOT_FOUND})
EMBEDDING = OpenAIService("the embedding service", UnencodableTextError, frozenset({400, 413, 422}))


class OpenAIClient:
    """Both ports (see ports.py) over one SDK client."""

    def __init__(
        self,
        sdk: "openai.AsyncOpenAI",
        identity: "identity_aio.DefaultAzureCredential | None" = None,
        runtime: Runtime | None = None,
    ) -> None:
        self._sdk, self._identity = sdk, identity
        self._runtime = runtime or Runtime()
        self._learned: dict[str, Any] = {}  # options that the endpoint wants otherwise than asked for
        self._embedding_calls, self._chat_calls = Calls("embedding"), Calls("chat")

    async def close(self) -> None:
        await self._sdk.close()
        if self._identity is not None:
            await self._identity.close()

    async def embed(
        self, texts: Sequence[str], *, model: str, dimensions: int | None
    ) -> list[NDArray[np.float32]]:
        options: dict[str, Any] = {} if dimensions is None else {"dimensions": dimensions}
        try:
            async with self._embedding_calls.measured("encode", writes=True, stage_seconds=self._patience()):
                answer = await self._sdk.embeddings.create(
                    model=model, input=list(texts), encoding_format="base64", **options
                )
        except openai.OpenAIError as error:
            raise self._translated(error, EMBEDDING, self._embedding_calls) from error
        except ValueError as error:  # the SDK lets what is no JSON through as it is
            raise TransientError(f"the embedding service gave no valid answer: {error}") from error
        return _vectors(answer.data, len(texts))

    async def complete(self, system: str, user: str, options: CompletionOptions) -> Completion:
        """Ask as the endpoint wants to be asked: an option that it refuses is changed, later calls too."""
        while True:
            asked = replace(options, **self._learned)
            try:
                return await self._complete(system, user, asked)
            except ChatRefusedError as error:
                change = _changed_option(asked, str(error))
                if not change:
                    raise
                self._learned |= change

    async def _complete(self, system: str, user: str, options: CompletionOptions) -> Completion:
        try:
            async with (
                self._chat_calls.measured("complete", stage_seconds=options.timeout_seconds + HANGING_UP),
                self._sdk.chat.completions.with_streaming_response.create(
                    model=options.model,
                    messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
                    temperature=0,
                    timeout=options.timeout_seconds,
                    extra_body=_body_options(options),
                ) as response,
            ):
                return _completion(await _bounded(response.iter_bytes()))
        except openai.OpenAIError as error:
            raise self._translated(error, CHAT, self._chat_calls) from error

    def _patience(self) -> float:
        """A little more than the SDK's own time-out, whose error says more."""
        timeout = self._sdk.timeout
        return (float(timeout) if isinstance(timeout, int | float) else DEFAULT_SECONDS) + HANGING_UP

    def _translated(self, error: "openai.OpenAIError", service: OpenAIService, calls: Calls) -> PipelineError:
        if isinstance(error, openai.APIStatusError) and error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            calls.throttled()
        return as_pipeline_error(error, service, self._runtime.now())


def open_client(endpoint: Endpoint, runtime: Runtime | None = None) -> OpenAIClient:
    if not endpoint.url.startswith(("https://", "http://")):
        raise InvalidEndpointError(f"the endpoint {endpoint.url!r} has to start with https:// or http://")
    options: dict[str, Any] = {"max_retries": 0, "timeout": endpoint.timeout_seconds}
    if not endpoint.is_azure:
        # Ollama and llama.cpp want no key, the SDK wants one.
        key = endpoint.api_key or "none"
        return OpenAIClient(
            openai.AsyncOpenAI(base_url=endpoint.url, api_key=key, **options), runtime=runtime
        )
    identity = None
    if endpoint.api_key:
        options["api_key"] = endpoint.api_key
    else:
        identity = identity_aio.DefaultAzureCredential(managed_identity_client_id=endpoint.identity_client_id)
        options["azure_ad_token_provider"] = identity_aio.get_bearer_token_provider(identity, AZURE_SCOPE)
    sdk = openai.AsyncAzureOpenAI(azure_endpoint=endpoint.url, api_version=endpoint.api_version, **options)
    return OpenAIClient(sdk, identity, runtime)


# embeddings


def _vectors(data: Sequence[Any], expected: int) -> list[NDArray[np.float32]]:
    if sorted(item.index for item in data) != list(range(expected)):
        raise TransientError(f"the embedding service answered {len(data)} vectors to {expected} texts")
    return [_floats(item.embedding) for item in sorted(data, key=lambda item: item.index)]


def _floats(embedding: Any) -> NDArray[np.float32]:
    """As base64 or as a list: compatible servers do not all know both."""
    if isinstance(embedding, str):
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), np.float32)
        except (ValueError, binascii.Error) as error:
            raise TransientError("the embedding service answered no valid base64") from error
    return np.asarray(embedding, np.float32)


# chat


def _changed_option(options: CompletionOptions, refusal: str) -> dict[str, str]:
    """What to ask for instead, by the words of the refusal; empty where they name no such option."""
    if "max_completion_tokens" in refusal and options.answer_limit == "max_tokens":
        return {"answer_limit": "max_completion_tokens"}  # OpenAI's newer models
    if _FORMAT_REFUSED.search(refusal) and options.answer_format in _SIMPLER_FORMAT:
        return {"answer_format": _SIMPLER_FORMAT[options.answer_format]}
    return {}


def _body_options(options: CompletionOptions) -> dict[str, Any]:
    body: dict[str, Any] = {options.answer_limit: options.answer_tokens}
    if options.answer_format == "schema" and options.answer_schema is not None:
        schema = {"name": "answer", "strict": True, "schema": options.answer_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif options.answer_format != "off":
        body["response_format"] = {"type": "json_object"}
    return body


async def _bounded(pieces: AsyncIterator[bytes]) -> bytes:
    """The body, up to a bound: an endpoint may send for ever."""
    received = bytearray()
    async for piece in pieces:
        received += piece
        if len(received) > MAX_ANSWER_BYTES:
            raise ChatRefusedError(f"the chat endpoint's answer is longer than {MAX_ANSWER_BYTES} bytes")
    return bytes(received)


def _completion(body: bytes) -> Completion:
    """The answer's text and price. What is no completion has no text, and is treated as an empty answer."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return Completion()
    text = _at(answer, "choices", 0, "message", "content")
    total = _count(_at(answer, "usage", "total_tokens"))
    prompt = min(_count(_at(answer, "usage", "prompt_tokens")), total)
    return Completion(text if isinstance(text, str) else "", prompt, total - prompt)


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return int(value) if is_count else 0


def _at(value: Any, *path: str | int) -> Any:
    """The value at this path of nested objects and lists; None where the path leads nowhere."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


# errors


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
