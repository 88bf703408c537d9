"""What to do when a batch failed: how to cut it, how long to wait, and when to give up.

Every text has a bounded number of attempts, the first included, and the last one it has alone. So a text that
takes the encoder down is found, and the others of its batch are not blamed for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.core.errors import EncoderMemoryError, EncoderStartError, EncoderTimeoutError, PermanentError
from shared.pipeline.retry import exponential

Text = TypeVar("Text")


@dataclass(frozen=True)
class BatchAttempt(Generic[Text]):
    """Texts to be encoded together, and how it went with them so far."""

    items: tuple[Text, ...]
    failures: int = 0
    timeout_factor: float = 1.0

    def of(self, items: Iterable[Text]) -> "BatchAttempt[Text]":
        """The same for some of them."""
        return BatchAttempt(tuple(items), self.failures, self.timeout_factor)


@dataclass(frozen=True)
class BatchRetryPolicy:
    max_retries: int = 3
    memory_wait_seconds: float = 1.0
    memory_wait_cap_seconds: float = 15.0

    def after(self, tried: BatchAttempt[Text], error: Exception) -> list[BatchAttempt[Text]]:
        """The tries that follow; none where the text stood alone and its attempts are used up."""
        failures = tried.failures + 1
        alone = len(tried.items) == 1
        if alone and (failures > self.max_retries or isinstance(error, PermanentError)):
            return []
        factor = tried.timeout_factor * (2.0 if isinstance(error, EncoderTimeoutError) else 1.0)
        return [BatchAttempt(part, failures, factor) for part in self._parts(tried.items, failures)]

    def _parts(self, items: Sequence[Text], failures: int) -> list[tuple[Text, ...]]:
        """Cut so that the attempts that are left suffice to have every text alone in the last."""
        left = max(self.max_retries - failures + 1, 1)
        parts = 2
        while parts**left < len(items):
            parts += 1
        size = -(-len(items) // min(parts, len(items)))
        return [tuple(items[start : start + size]) for start in range(0, len(items), size)]

    def wait_seconds(self, failures: int, error: Exception) -> float:
        """Memory takes a while to become free. A process that died or hung is simply replaced."""
        if not isinstance(error, EncoderMemoryError | EncoderStartError):
            return 0.0
        return exponential(self.memory_wait_seconds, failures, self.memory_wait_cap_seconds)
