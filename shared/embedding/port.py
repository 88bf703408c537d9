"""What embeds texts, as a stage sees it: asynchronous, so that writes overlap the next encoding."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shared.core.errors import PermanentError, UnencodableTextError
from shared.embedding.encoder import Vectors


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


class Embedder(Protocol):
    """Texts in, vectors out. What goes into documents and events: model, backend, dimension."""

    @property
    def model(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def window(self) -> int: ...

    async def count_tokens(self, texts: Sequence[str]) -> list[int]: ...

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """One normalised vector a text; raises where a text has none."""

    async def encode_each(self, texts: Sequence[str]) -> EncodingResult:
        """The vectors of all texts that have one, and the errors of those that have none.

        Raises a transient error where no text is to blame: the whole call may be repeated.
        """

    async def close(self) -> None: ...
