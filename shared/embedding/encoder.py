"""What computes vectors, in whatever process: synchronous, and with every core it may have.

This module and what an encoder needs import no SDK of Azure: the encoder's process starts in a blink.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]


class DescribedModel(Protocol):
    """What goes into documents and events: model, backend, dimension."""

    @property
    def model(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def window(self) -> int:
        """How many tokens of a text count, special tokens included."""


class Encoder(DescribedModel, Protocol):
    """A model in this process."""

    @property
    def token_budget(self) -> int:
        """How many tokens a batch may hold, padding included."""

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
