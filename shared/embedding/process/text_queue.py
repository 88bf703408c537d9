"""The queue of texts that wait for the encoder, from all calls.

The oldest call goes first, but every second turn belongs to a small call if one waits. Texts of similar
length from the oldest calls fill the batch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from shared.core.concurrency import batches_of
from shared.core.errors import EncoderMemoryError, EncoderStartError, EncoderTimeoutError, PermanentError
from shared.embedding.encoder import MAX_TEXTS, EncodingResult
from shared.pipeline.retry import exponential

if TYPE_CHECKING:
    import asyncio


# A text shorter than half of the longest would be mostly padding.
_LIKE_LENGTH = 0.5
# The number of texts that are searched for similar lengths: about two groups of the stage.
POOL = 256
SMALL = 16


@dataclass(eq=False)
class Call:
    texts: Sequence[str]
    lengths: Sequence[int]  # In tokens, at most the window.
    settled: EncodingResult
    done: "asyncio.Future[EncodingResult]"
    left: int = 0
    waiting: list[tuple[int, int]] = field(default_factory=list)  # (length, position), the longest last

    def __post_init__(self) -> None:
        self.left = len(self.texts)
        self.waiting = sorted((length, position) for position, length in enumerate(self.lengths))


@dataclass(frozen=True)
class Item:
    call: Call
    position: int

    @property
    def text(self) -> str:
        return self.call.texts[self.position]

    @property
    def length(self) -> int:
        return self.call.lengths[self.position]


class WaitingTexts:
    def __init__(self) -> None:
        self._calls: list[Call] = []  # The oldest first.
        self._small_had_the_last_turn = False

    def __len__(self) -> int:
        return sum(len(call.waiting) for call in self._calls)

    def add(self, call: Call) -> None:
        self._calls.append(call)

    def remove(self, call: Call) -> None:
        if call in self._calls:
            self._calls.remove(call)

    def calls(self) -> list[Call]:
        return list(self._calls)

    def take(self, budget: int, max_texts: int = MAX_TEXTS) -> tuple[Item, ...]:
        """Return the next batch: at most `budget` tokens including padding, or one text that exceeds it."""
        if not self._calls:
            return ()
        oldest = self._calls[0]
        small = next((call for call in self._calls if len(call.texts) <= SMALL), oldest)
        self._small_had_the_last_turn = small is not oldest and not self._small_had_the_last_turn
        first = small if self._small_had_the_last_turn else oldest
        length, position = first.waiting[-1]
        room = max(min(max_texts, budget // max(length, 1)), 1)
        like = self._similar(first, length, position)[: room - 1]
        items = [Item(first, position), *(Item(call, at) for _, call, at in like)]
        for item in items:
            item.call.waiting.remove((item.length, item.position))
        self._calls = [call for call in self._calls if call.waiting]
        return tuple(items)

    def _similar(self, first: Call, length: int, position: int) -> list[tuple[int, Call, int]]:
        """Return texts of similar length, the longest first, and of equal lengths the oldest first."""
        pool, seen = [first], len(first.waiting)
        for call in self._calls:
            if call is not first and seen < POOL:
                pool.append(call)
                seen += len(call.waiting)
        like = [
            (other, call, at)
            for call in pool
            for other, at in call.waiting
            if length * _LIKE_LENGTH <= other <= length and (call is not first or at != position)
        ]
        like.sort(key=lambda candidate: -candidate[0])  # A stable sort, so the calls stay in order.
        return like


Text = TypeVar("Text")


@dataclass(frozen=True)
class BatchAttempt(Generic[Text]):
    """Texts to encode together, and their failures so far."""

    items: tuple[Text, ...]
    failures: int = 0
    timeout_factor: float = 1.0

    def of(self, items: Iterable[Text]) -> "BatchAttempt[Text]":
        return BatchAttempt(tuple(items), self.failures, self.timeout_factor)


@dataclass(frozen=True)
class BatchRetryPolicy:
    max_retries: int = 3
    memory_wait_seconds: float = 1.0
    memory_wait_cap_seconds: float = 15.0

    def after(self, attempt: BatchAttempt[Text], error: Exception) -> list[BatchAttempt[Text]]:
        """Return the next attempts, or none if a single text has used up its attempts."""
        failures = attempt.failures + 1
        alone = len(attempt.items) == 1
        if alone and (failures > self.max_retries or isinstance(error, PermanentError)):
            return []
        factor = attempt.timeout_factor * (2.0 if isinstance(error, EncoderTimeoutError) else 1.0)
        # Split so that the remaining attempts suffice to try every text alone in the last.
        left, parts = max(self.max_retries - failures + 1, 1), 2
        while parts**left < len(attempt.items):
            parts += 1
        size = -(-len(attempt.items) // min(parts, len(attempt.items)))
        return [BatchAttempt(tuple(part), failures, factor) for part in batches_of(attempt.items, size)]

    def wait_seconds(self, failures: int, error: Exception) -> float:
        """Wait for memory to become free, and before another start. Replace a crashed process immediately."""
        if not isinstance(error, EncoderMemoryError | EncoderStartError):
            return 0.0
        return exponential(self.memory_wait_seconds, failures, self.memory_wait_cap_seconds)
