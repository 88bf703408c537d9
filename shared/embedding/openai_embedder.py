"""Get vectors from Azure OpenAI or an OpenAI-compatible endpoint."""

import asyncio
from collections.abc import Sequence
from typing import Self

import numpy as np

from shared.azure.openai_client import Endpoint, OpenAIClient
from shared.core.errors import PermanentError, RefusesEverythingError, TransientError, UnencodableTextError
from shared.embedding.encoder import (
    EncodingResult,
    Vectors,
    clean_for_tokenizer,
    normalised,
    plan_batches,
    report_truncated,
    require_texts,
)
from shared.settings.app import Settings

# Limits of the service: 2,048 texts and 300,000 tokens a request, 8,191 tokens a text. The token counts are
# estimates, so the limits here are lower.
MAX_TEXTS = 512
TOKEN_BUDGET = 200_000
WINDOW = 8191
REQUEST_SECONDS = 60.0  # For one request of MAX_TEXTS texts.
REQUESTS_AT_ONCE = 4  # Of all events together. The service would throttle more.
_HARMLESS = "ok"
_TOKEN_BYTES = 3  # A token has four bytes in English, and fewer in code and other scripts.
# Only the third generation accepts a vector length.
_FIXED_LENGTH = ("text-embedding-ada",)


class OpenAIEmbedder:
    window = WINDOW

    def __init__(self, client: OpenAIClient, *, model: str, backend: str, dimension: int) -> None:
        self.model, self.backend, self.dimension = model, backend, dimension
        self._client = client
        self._turns = asyncio.Semaphore(REQUESTS_AT_ONCE)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        if settings.EMBEDDING_ENDPOINT is None or settings.EMBEDDING_DIMENSION is None:
            raise ValueError("EMBEDDING_ENDPOINT and EMBEDDING_DIMENSION are needed")
        key = settings.EMBEDDING_API_KEY
        endpoint = Endpoint(
            settings.EMBEDDING_ENDPOINT,
            is_azure=settings.EMBEDDING_BACKEND == "azureopenai",
            api_key=key.get_secret_value() if key else None,
            timeout_seconds=REQUEST_SECONDS,
            identity_client_id=settings.AZURE_CLIENT_ID,
        )
        return cls(
            OpenAIClient(endpoint),
            model=settings.EMBEDDING_MODEL,
            backend=settings.EMBEDDING_BACKEND,
            dimension=settings.EMBEDDING_DIMENSION,
        )

    async def close(self) -> None:
        await self._client.close()

    async def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return estimates that are too high for most texts, because the tokenizer would be a download."""
        require_texts(texts)
        return [max(-(-len(clean_for_tokenizer(text).encode()) // _TOKEN_BYTES), 1) for text in texts]

    async def encode(self, texts: Sequence[str]) -> Vectors:
        return (await self.encode_each(texts)).complete()

    async def encode_each(self, texts: Sequence[str]) -> EncodingResult:
        """See Embedder. A batch that is refused for its content is halved down to the refused text."""
        counts = await self.count_tokens(texts)
        plan = plan_batches(counts, budget=TOKEN_BUDGET, window=WINDOW, max_texts=MAX_TEXTS)
        result = EncodingResult(np.zeros((len(texts), self.dimension), np.float32), truncated=plan.truncated)
        report_truncated(plan.truncated, len(texts), WINDOW)
        waiting = [list(batch) for batch in reversed(plan.batches)]
        while waiting:
            batch = waiting.pop()
            try:
                result.vectors[batch] = await self._request([texts[position] for position in batch])
            except UnencodableTextError as error:
                middle = len(batch) // 2
                if middle:
                    waiting += [batch[middle:], batch[:middle]]
                    continue
                try:  # A service that refuses every text may recover, so test it first.
                    await self._request([_HARMLESS])
                except UnencodableTextError as refused:
                    message = f"the embedding service refuses every text: {refused}"
                    raise RefusesEverythingError(message) from refused
                result.failed[batch[0]] = error
        return result

    async def _request(self, texts: Sequence[str]) -> Vectors:
        # The service refuses an empty text, so a space replaces it.
        cut = [clean_for_tokenizer(text).encode()[: WINDOW * _TOKEN_BYTES] for text in texts]
        inputs = [text.decode("utf-8", "ignore") or " " for text in cut]
        dimensions = None if self.model.startswith(_FIXED_LENGTH) else self.dimension
        try:
            async with self._turns:
                rows = await self._client.embed(inputs, model=self.model, dimensions=dimensions)
        except UnencodableTextError:
            raise
        # The deployment is missing or the request is wrong, so the cause is not a text
        except PermanentError as error:
            raise RefusesEverythingError(str(error)) from error
        wrong = next((len(row) for row in rows if len(row) != self.dimension), None)
        if wrong is not None:
            raise RefusesEverythingError(
                f"{self.model} gives vectors of {wrong} numbers, EMBEDDING_DIMENSION says {self.dimension}"
            )
        vectors = normalised(np.stack(rows))
        if not np.isfinite(vectors).all():
            raise TransientError("the embedding service returned numbers that are not finite")
        return vectors
