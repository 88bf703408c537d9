"""Encoders and embedders: their interfaces, and how texts are put into batches. It imports no Azure SDK."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shared.core.errors import PermanentError, UnencodableTextError

Vectors: TypeAlias = NDArray[np.float32]


class DescribedModel(Protocol):
    """What goes into documents and events. `window` counts special tokens, too."""

    model: str
    backend: str
    dimension: int
    window: int


class Encoder(DescribedModel, Protocol):
    """A model in this process. A batch may hold `token_budget` tokens, padding included."""

    token_budget: int

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text before it is cut to the window, special tokens included."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One normalised vector a text, in the order of the texts."""

    def tokenizer(self) -> str:
        """The definition of its tokenizer (tokenizer.json): chunks are measured in these tokens."""


def normalised(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled


def require_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("texts must be a sequence of strings")


@dataclass
class EncodingResult:
    """What came of each text: a vector, or the error that it ends with (its row is zero then)."""

    vectors: Vectors
    failed: dict[int, PermanentError] = field(default_factory=dict)
    truncated: tuple[int, ...] = ()  # their vectors speak for the window's tokens only

    def complete(self) -> Vectors:
        """All vectors, or the error of the first text that has none."""
        if not self.failed:
            return self.vectors
        index = min(self.failed)
        message = f"{len(self.failed)} of {len(self.vectors)} texts have no vector; the first is text {index}"
        raise UnencodableTextError(f"{message}: {self.failed[index]}") from self.failed[index]


class Embedder(DescribedModel, Protocol):
    async def count_tokens(self, texts: Sequence[str]) -> list[int]: ...

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """One normalised vector a text; raises where a text has none."""

    async def encode_each(self, texts: Sequence[str]) -> EncodingResult:
        """The vectors of all texts that have one, and the errors of those that have none.

        Raises a transient error where no text is to blame.
        """

    async def close(self) -> None: ...


log = logging.getLogger(__name__)
MAX_TEXTS = 64
_NAMED = 20


class Plan(NamedTuple):
    """Positions of the texts, batch by batch; each position stands in exactly one batch."""

    batches: tuple[tuple[int, ...], ...]
    truncated: tuple[int, ...]


def plan_batches(
    token_counts: Sequence[int], *, budget: int, window: int, max_texts: int = MAX_TEXTS
) -> Plan:
    """Put texts of these lengths (at most the window) into batches of `budget` tokens, the longest first."""
    if budget < 1 or window < 1 or max_texts < 1:
        raise ValueError("the budget, the window and the number of texts must be positive")
    lengths = [min(count, window) for count in token_counts]
    # The longest first: what does not fit into memory shows at once, and not after an hour.
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


# A window of 256 tokens is some 1,500 characters. What is far beyond is cut before it costs any time.
MAX_CHARACTERS = 64 * 1024


def clean_for_tokenizer(text: str) -> str:
    """The text cut to a bounded length, without lone surrogates: no tokenizer takes those."""
    cut = text[:MAX_CHARACTERS]
    return cut if cut.isascii() else cut.encode("utf-8", "replace").decode("utf-8")
