"""The client of the OpenAI API for chat and embeddings: Azure OpenAI, or a compatible endpoint."""

import asyncio
import base64
import binascii
import json
import re
from collections.abc import AsyncIterator, Container, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shared.azure.calls import Calls
from shared.azure.classify import retry_after_seconds
from shared.core.errors import (
    DependencyError,
    PermanentError,
    PipelineError,
    TransientError,
    UnencodableTextError,
)
from shared.core.lazy_import import lazy
from shared.core.runtime import Runtime

if TYPE_CHECKING:
    import openai
    from azure.identity import aio as identity_aio
else:
    openai = lazy("openai")
    identity_aio = lazy("azure.identity.aio")


class ChatRefusedError(PermanentError):
    """The endpoint refuses this request permanently."""


@dataclass(frozen=True, slots=True)
class CompletionOptions:
    """The options of a chat request. Endpoints differ in the last four."""

    model: str
    answer_tokens: int = 1000
    timeout_seconds: float = 120.0
    answer_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    answer_format: Literal["schema", "object", "off"] = "schema"
    """JSON that follows `answer_schema`, any JSON object, or free text."""
    answer_schema: dict[str, Any] | None = None
    temperature: float | None = 0.0
    """None for a model that accepts only its default."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A chat model's answer. The counts are 0 if the endpoint does not return them."""

    text: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
MAX_ANSWER_BYTES = 1024 * 1024
DEFAULT_SECONDS = 120.0
HANGING_UP = 5.0
MOST_CALLS = 4
"""Concurrent calls of one worker to one chat endpoint. A local model answers one call after another."""
# A role assignment takes minutes to reach the service. See shared/azure/classify.py.
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
    identity_client_id: str | None = None  # the managed identity for Azure without a key


@dataclass(frozen=True)
class OpenAIService:
    name: str
    refusal: type[PermanentError]
    refused: Container[int]


CHAT = OpenAIService("the chat endpoint", ChatRefusedError, frozenset(range(400, 500)) - {_NOT_FOUND})
EMBEDDING = OpenAIService("the embedding service", UnencodableTextError, frozenset({400, 413, 422}))


class OpenAIClient:
    def __init__(self, endpoint: Endpoint, runtime: Runtime | None = None) -> None:
        if not endpoint.url.startswith(("https://", "http://")):
            raise InvalidEndpointError(f"the endpoint {endpoint.url!r} has to start with https:// or http://")
        self._runtime = runtime or Runtime()
        self._patience = endpoint.timeout_seconds + HANGING_UP  # the SDK's own timeout has a better message
        self._learned: dict[str, Any] = {}  # options that the endpoint requires to differ from the request
        self._slots = asyncio.Semaphore(MOST_CALLS)
        self._quiet_until: datetime | None = None  # from Retry-After
        self._embedding_calls, self._chat_calls = Calls("embedding"), Calls("chat")
        self._identity: identity_aio.DefaultAzureCredential | None = None
        self._sdk = self._connected(endpoint)

    def _connected(self, endpoint: Endpoint) -> "openai.AsyncOpenAI":
        options: dict[str, Any] = {"max_retries": 0, "timeout": endpoint.timeout_seconds}
        if not endpoint.is_azure:
            # Ollama and llama.cpp need no key, but the SDK requires one.
            return openai.AsyncOpenAI(base_url=endpoint.url, api_key=endpoint.api_key or "none", **options)
        if endpoint.api_key:
            options["api_key"] = endpoint.api_key
        else:
            client_id = endpoint.identity_client_id
            self._identity = identity_aio.DefaultAzureCredential(managed_identity_client_id=client_id)
            token = identity_aio.get_bearer_token_provider(self._identity, AZURE_SCOPE)
            options["azure_ad_token_provider"] = token
        return openai.AsyncAzureOpenAI(
            azure_endpoint=endpoint.url, api_version=endpoint.api_version, **options
        )

    async def close(self) -> None:
        await self._sdk.close()
        if self._identity is not None:
            await self._identity.close()

    async def embed(
        self, texts: Sequence[str], *, model: str, dimensions: int | None
    ) -> list[NDArray[np.float32]]:
        """Return one vector for each text, in order. Raise UnencodableTextError if the texts are refused."""
        options: dict[str, Any] = {} if dimensions is None else {"dimensions": dimensions}
        try:
            async with self._embedding_calls.measured("encode", writes=True, stage_seconds=self._patience):
                answer = await self._sdk.embeddings.create(
                    model=model, input=list(texts), encoding_format="base64", **options
                )
        except openai.OpenAIError as error:
            raise self._translated(error, EMBEDDING, self._embedding_calls) from error
        except ValueError as error:  # the SDK passes invalid JSON on
            raise TransientError(f"the embedding service gave no valid answer: {error}") from error
        return _vectors(answer.data, len(texts))

    async def complete(self, system: str, user: str, options: CompletionOptions) -> Completion:
        """Send the request. An option that the endpoint refuses is changed for this and all later calls."""
        await self._wait_for_slot(options.timeout_seconds)
        try:
            self._keep_quiet()
            while True:
                asked = replace(options, **self._learned)
                try:
                    return await self._complete(system, user, asked)
                except ChatRefusedError as error:
                    change = _changed_option(asked, str(error))
                    if not change:
                        raise
                    self._learned |= change
        finally:
            self._slots.release()

    async def _wait_for_slot(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise DependencyError(
                f"{CHAT.name} has {MOST_CALLS} calls open, and none ended in time"
            ) from None

    def _keep_quiet(self) -> None:
        """Raise while the endpoint's Retry-After, which holds for all calls, has not expired."""
        now = self._runtime.now()
        if self._quiet_until is not None and now < self._quiet_until:
            waiting = DependencyError(
                f"{CHAT.name} asked for no calls until {self._quiet_until:%H:%M:%S} UTC"
            )
            waiting.retry_after = (self._quiet_until - now).total_seconds()
            raise waiting

    async def _complete(self, system: str, user: str, options: CompletionOptions) -> Completion:
        try:
            async with (
                self._chat_calls.measured("complete", stage_seconds=options.timeout_seconds + HANGING_UP),
                self._sdk.chat.completions.with_streaming_response.create(
                    model=options.model,
                    messages=[{"role": "system", "content": system}, {"role": "user", "content": user}],
                    timeout=options.timeout_seconds,
                    extra_body=_body_options(options),
                ) as response,
            ):
                return _completion(await _bounded(response.iter_bytes()))
        except openai.OpenAIError as error:
            translated = self._translated(error, CHAT, self._chat_calls)
            if isinstance(translated, TransientError) and translated.retry_after:
                self._quiet_until = self._runtime.now() + timedelta(seconds=translated.retry_after)
            raise translated from error

    def _translated(self, error: "openai.OpenAIError", service: OpenAIService, calls: Calls) -> PipelineError:
        name = service.name
        if isinstance(error, openai.APIStatusError):
            if error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
                calls.throttled()
            return _by_status(error, service, self._runtime.now())
        if isinstance(error, openai.APIConnectionError):
            unreached = DependencyError(f"{name} cannot be reached: {error}")
            unreached.timed_out = isinstance(error, openai.APITimeoutError)
            return unreached
        if isinstance(error, openai.APIError):
            return TransientError(f"{name} gave no valid answer: {error}")
        return PermanentError(f"{name} cannot be asked: {error}")


def _vectors(data: Sequence[Any], expected: int) -> list[NDArray[np.float32]]:
    if sorted(item.index for item in data) != list(range(expected)):
        raise TransientError(f"the embedding service answered {len(data)} vectors to {expected} texts")
    return [_floats(item.embedding) for item in sorted(data, key=lambda item: item.index)]


def _floats(embedding: Any) -> NDArray[np.float32]:
    """Decode a vector from base64 or a list, because compatible servers support either."""
    if not isinstance(embedding, str):
        return np.asarray(embedding, np.float32)
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), np.float32)
    except (ValueError, binascii.Error) as error:
        raise TransientError("the embedding service answered no valid base64") from error


def _changed_option(options: CompletionOptions, refusal: str) -> dict[str, Any]:
    """Return the changed option according to the refusal's text, or nothing if it names no option."""
    if "max_completion_tokens" in refusal and options.answer_limit == "max_tokens":
        return {"answer_limit": "max_completion_tokens"}  # OpenAI's newer models
    if "temperature" in refusal and options.temperature is not None:
        return {"temperature": None}  # models that reason
    if _FORMAT_REFUSED.search(refusal) and options.answer_format in _SIMPLER_FORMAT:
        return {"answer_format": _SIMPLER_FORMAT[options.answer_format]}
    return {}


def _body_options(options: CompletionOptions) -> dict[str, Any]:
    body: dict[str, Any] = {options.answer_limit: options.answer_tokens}
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.answer_format == "schema" and options.answer_schema is not None:
        schema = {"name": "answer", "strict": True, "schema": options.answer_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif options.answer_format != "off":
        body["response_format"] = {"type": "json_object"}
    return body


async def _bounded(pieces: AsyncIterator[bytes]) -> bytes:
    """Return the body up to a limit, because a response may be endless."""
    received = bytearray()
    async for piece in pieces:
        received += piece
        if len(received) > MAX_ANSWER_BYTES:
            raise ChatRefusedError(f"the chat endpoint's answer is longer than {MAX_ANSWER_BYTES} bytes")
    return bytes(received)


def _completion(body: bytes) -> Completion:
    """Return the answer's text and token counts. An invalid completion counts as an empty answer."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return Completion()
    text = _at(answer, "choices", 0, "message", "content")
    total = _count(_at(answer, "usage", "total_tokens"))
    prompt = min(_count(_at(answer, "usage", "prompt_tokens")), total)
    return Completion(text if isinstance(text, str) else "", prompt, total - prompt)


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _at(value: Any, *path: str | int) -> Any:
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


def _by_status(error: "openai.APIStatusError", service: OpenAIService, now: datetime) -> PipelineError:
    status = error.status_code
    text = " ".join(str(error.message).split())[:500]
    if status in _TRANSIENT or status >= _SERVER_ERROR:
        transient = DependencyError(f"{service.name} answered {status}: {text}")
        transient.retry_after = retry_after_seconds(error.response.headers, now=now)
        return transient
    if status in service.refused:
        return service.refusal(f"{service.name} refused the request ({status}): {text}")
    if status == _NOT_FOUND:
        return PermanentError(f"{service.name} does not know the model or deployment (404): {text}")
    return PermanentError(f"{service.name} answered {status}: {text}")
