"""The interfaces of encoders and embedders, and the batching of texts. Imports no Azure SDK."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shared.core.errors import PermanentError, UnencodableTextError

Vectors: TypeAlias = NDArray[np.float32]


class DescribedModel(Protocol):
    """The model's properties in documents and events. `window` includes special tokens."""

    model: str
    backend: str
    dimension: int
    window: int


class Encoder(DescribedModel, Protocol):
    """A model in this process. A batch may have `token_budget` tokens, including padding."""

    token_budget: int

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, including special tokens, before the cut to the window."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a normalized vector for each text, in order."""

    def tokenizer(self) -> str:
        """Return the tokenizer definition (tokenizer.json), which chunking uses, too."""


def normalised(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled


def require_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("texts must be a sequence of strings")


@dataclass
class EncodingResult:
    """A vector or a final error for each text. The vector of a failed text is zero."""

    vectors: Vectors
    failed: dict[int, PermanentError] = field(default_factory=dict)
    truncated: tuple[int, ...] = ()  # Their vectors represent only the tokens in the window.

    def complete(self) -> Vectors:
        """Return all vectors, or raise the error of the first failed text."""
        if not self.failed:
            return self.vectors
        index = min(self.failed)
        message = f"{len(self.failed)} of {len(self.vectors)} texts have no vector; the first is text {index}"
        raise UnencodableTextError(f"{message}: {self.failed[index]}") from self.failed[index]


class Embedder(DescribedModel, Protocol):
    async def count_tokens(self, texts: Sequence[str]) -> list[int]: ...

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a normalized vector for each text. Raise if a text has none."""

    async def encode_each(self, texts: Sequence[str]) -> EncodingResult:
        """Return vectors and errors of the texts. Raise a transient error if the cause is not a text."""

    async def close(self) -> None: ...


log = logging.getLogger(__name__)
MAX_TEXTS = 64
_NAMED = 20


class Plan(NamedTuple):
    """Positions of texts in batches. Each position is in exactly one batch."""

    batches: tuple[tuple[int, ...], ...]
    truncated: tuple[int, ...]


def plan_batches(
    token_counts: Sequence[int], *, budget: int, window: int, max_texts: int = MAX_TEXTS
) -> Plan:
    """Put texts of these lengths (at most the window) into batches of `budget` tokens, longest first."""
    if budget < 1 or window < 1 or max_texts < 1:
        raise ValueError("the budget, the window and the number of texts must be positive")
    lengths = [min(count, window) for count in token_counts]
    # The longest first, so that a lack of memory shows at the start.
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    batches: list[list[int]] = []
    longest = 0
    for position in order:
        if not batches or len(batches[-1]) >= min(max_texts, budget // max(longest, 1)):
            batches.append([])
            longest = lengths[position]
        batches[-1].append(position)
    truncated = tuple(position for position, count in enumerate(token_counts) if count > window)
    return Plan(tuple(tuple(batch) for batch in batches), truncated)


def report_truncated(truncated: Sequence[int], texts: int, window: int) -> None:
    if truncated:
        log.warning(
            "%d of %d texts exceed the window of %d tokens and were cut: %s",
            len(truncated), texts, window, list(truncated[:_NAMED]),
        )  # fmt: skip


# A window of 256 tokens is about 1,500 characters. A much longer text is cut before it takes time.
MAX_CHARACTERS = 64 * 1024


def clean_for_tokenizer(text: str) -> str:
    """Return the text cut to a limited length, without lone surrogates, which tokenizers reject."""
    cut = text[:MAX_CHARACTERS]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode("utf-8")
