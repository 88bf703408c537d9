"""Vectors from Azure OpenAI, or from an endpoint that is compatible with OpenAI's.

The SDK's own retries are off: a throttled call is raised as transient with the wait that the service asked
for, and the stage's backoff honours it, as for every other dependency.
"""

import asyncio
import base64
import binascii
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider
from openai import APIConnectionError, APIError, APIStatusError, AsyncAzureOpenAI, AsyncOpenAI

from shared.clients.call_metrics import Calls
from shared.core.errors import PermanentError, TransientError, UnencodableTextError
from shared.core.retry_after import retry_after_seconds
from shared.embedding.batching import plan_batches, report_truncated
from shared.embedding.encoder import Vectors, normalised, require_texts
from shared.embedding.port import EncodingResult
from shared.embedding.text_limits import clean_for_tokenizer
from shared.settings.app import Settings

__all__ = ["OpenAIEmbedder"]

# Limits of the service: 2,048 texts and 300,000 tokens a request, 8,191 tokens a text. Tokens are estimated,
# so there is room left.
MAX_TEXTS = 512
TOKEN_BUDGET = 200_000
WINDOW = 8191
REQUESTS_AT_ONCE = 4  # of all events together: more would only be throttled
_TOKEN_BYTES = 3  # a token has four in English, and fewer in code and other scripts
_SCOPE = "https://cognitiveservices.azure.com/.default"
_TOO_MANY_REQUESTS = 429
_REFUSED = frozenset({400, 413, 422})
_WAIT_A_WHILE = frozenset({401, 403, 408, 409, 429})
# Only from the third generation on can the length of a vector be asked for.
_FIXED_LENGTH = ("text-embedding-ada",)


class OpenAIEmbedder:
    window = WINDOW

    def __init__(
        self,
        client: AsyncOpenAI,
        *,
        model: str,
        backend: str,
        dimension: int,
        credential: DefaultAzureCredential | None = None,
    ) -> None:
        self.model, self.backend, self.dimension = model, backend, dimension
        self._client, self._credential = client, credential
        self._calls = Calls("embedding")
        self._turns = asyncio.Semaphore(REQUESTS_AT_ONCE)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        if settings.EMBEDDING_ENDPOINT is None or settings.EMBEDDING_DIMENSION is None:
            raise ValueError("EMBEDDING_ENDPOINT and EMBEDDING_DIMENSION are needed")
        key = settings.EMBEDDING_API_KEY
        options: dict[str, Any] = {"max_retries": 0, "timeout": settings.EMBEDDING_BATCH_SECONDS}
        credential = None
        if settings.EMBEDDING_BACKEND == "openai":
            options["api_key"] = key.get_secret_value() if key else ""
            client = AsyncOpenAI(base_url=settings.EMBEDDING_ENDPOINT, **options)
        else:
            if key is None:
                credential = DefaultAzureCredential(managed_identity_client_id=settings.AZURE_CLIENT_ID)
                options["azure_ad_token_provider"] = get_bearer_token_provider(credential, _SCOPE)
            else:
                options["api_key"] = key.get_secret_value()
            client = AsyncAzureOpenAI(
                azure_endpoint=settings.EMBEDDING_ENDPOINT,
                api_version=settings.EMBEDDING_API_VERSION,
                **options,
            )
        return cls(
            client,
            model=settings.EMBEDDING_MODEL,
            backend=settings.EMBEDDING_BACKEND,
            dimension=settings.EMBEDDING_DIMENSION,
            credential=credential,
        )

    async def close(self) -> None:
        await self._client.close()
        if self._credential is not None:
            await self._credential.close()

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """An estimate from above for most texts: the service's own tokenizer would have to be downloaded."""
        require_texts(texts)
        return [max(-(-len(clean_for_tokenizer(text).encode()) // _TOKEN_BYTES), 1) for text in texts]

    async def encode(self, texts: Sequence[str]) -> Vectors:
        return (await self.encode_each(texts)).complete()

    async def encode_each(self, texts: Sequence[str]) -> EncodingResult:
        """See Embedder. A request that is refused for what it holds is halved until the text stands alone."""
        counts = await self.count_tokens(texts)
        plan = plan_batches(counts, budget=TOKEN_BUDGET, window=WINDOW, max_texts=MAX_TEXTS)
        settled = EncodingResult(np.zeros((len(texts), self.dimension), np.float32), truncated=plan.truncated)
        report_truncated(plan.truncated, len(texts), WINDOW)
        waiting = [list(batch) for batch in reversed(plan.batches)]
        while waiting:
            batch = waiting.pop()
            try:
                settled.vectors[batch] = await self._request([texts[position] for position in batch])
            except UnencodableTextError as error:
                if len(batch) == 1:
                    settled.failed[batch[0]] = error
                else:
                    middle = len(batch) // 2
                    waiting += [batch[middle:], batch[:middle]]
        return settled

    async def _request(self, texts: Sequence[str]) -> Vectors:
        # The service refuses an empty text; a space has a vector.
        inputs = [_within_window(clean_for_tokenizer(text)) or " " for text in texts]
        options: dict[str, Any] = {"encoding_format": "base64"}
        if not self.model.startswith(_FIXED_LENGTH):
            options["dimensions"] = self.dimension
        try:
            async with self._turns, self._calls.measured("encode"):
                answer = await self._client.embeddings.create(model=self.model, input=inputs, **options)
        except APIError as error:
            raise self._sorted(error) from error
        except ValueError as error:  # the SDK lets what is no JSON through as it is
            raise TransientError(f"the embedding service gave no valid answer: {error}") from error
        return self._vectors(answer.data, len(inputs))

    def _vectors(self, data: Sequence[Any], expected: int) -> Vectors:
        if sorted(item.index for item in data) != list(range(expected)):
            raise TransientError(f"the embedding service answered {len(data)} vectors to {expected} texts")
        rows = [_floats(item.embedding) for item in sorted(data, key=lambda item: item.index)]
        wrong = next((len(row) for row in rows if len(row) != self.dimension), None)
        if wrong is not None:
            raise PermanentError(
                f"{self.model} gives vectors of {wrong} numbers, EMBEDDING_DIMENSION says {self.dimension}"
            )
        vectors = normalised(np.stack(rows))
        if not np.isfinite(vectors).all():
            raise TransientError("the embedding service answered numbers that are not finite")
        return vectors

    def _sorted(self, error: APIError) -> PermanentError | TransientError:
        """The SDK's error in our tree."""
        if not isinstance(error, APIStatusError):
            kind = "cannot be reached" if isinstance(error, APIConnectionError) else "gave no valid answer"
            return TransientError(f"the embedding service {kind}: {error}")
        status = error.status_code
        message = f"the embedding service answered {status}: {error.message}"
        if status == _TOO_MANY_REQUESTS:
            self._calls.throttled()
        if status in _WAIT_A_WHILE or status >= 500:  # noqa: PLR2004 - the server's errors
            transient = TransientError(message)
            transient.retry_after = retry_after_seconds(error.response.headers)
            return transient
        return UnencodableTextError(message) if status in _REFUSED else PermanentError(message)


def _floats(embedding: Any) -> Vectors:
    """As base64 or as a list: compatible servers do not all know both."""
    if isinstance(embedding, str):
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), np.float32)
        except (ValueError, binascii.Error) as error:
            raise TransientError("the embedding service answered no valid base64") from error
    return np.asarray(embedding, np.float32)


def _within_window(text: str) -> str:
    limit = WINDOW * _TOKEN_BYTES
    encoded = text.encode()
    return text if len(encoded) <= limit else encoded[:limit].decode("utf-8", "ignore")
