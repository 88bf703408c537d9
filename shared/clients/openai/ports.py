"""What the app asks of an OpenAI-compatible endpoint. This module does not load the SDK."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from shared.core.errors import PermanentError


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
