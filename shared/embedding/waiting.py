"""The texts that wait for the encoder, of all calls together, and which of them go next.

Calls take turns: each in its turn has its longest text encoded, and texts of like length fill the batch up,
whoever's they are. So a short question does not wait for an archive, and a batch is never half empty while
there is anything to fill it with.
"""

import asyncio
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.embedding.batching import MAX_TEXTS
from shared.embedding.port import Settled

__all__ = ["Call", "Item", "WaitingTexts"]

# A text shorter than half of the longest would be mostly padding.
_LIKE_LENGTH = 0.5


@dataclass(eq=False)
class Call:
    """One caller's texts, and what came of them so far."""

    number: int
    texts: Sequence[str]
    lengths: Sequence[int]  # in tokens, at most the window
    settled: Settled
    done: "asyncio.Future[Settled]"
    left: int = 0
    waiting: list[tuple[int, int]] = field(default_factory=list)  # (length, position), the longest last

    def __post_init__(self) -> None:
        self.left = len(self.texts)
        self.waiting = sorted((length, position) for position, length in enumerate(self.lengths))


@dataclass(frozen=True)
class Item:
    """One text of a call."""

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
        self._turns: deque[Call] = deque()
        self._ordered: list[tuple[int, int, int]] = []  # (length, call, position) of all that wait
        self._calls: dict[int, Call] = {}

    def __len__(self) -> int:
        return len(self._ordered)

    def add(self, call: Call) -> None:
        self._calls[call.number] = call
        self._turns.append(call)
        for length, position in call.waiting:
            insort(self._ordered, (length, call.number, position))

    def remove(self, call: Call) -> None:
        """Forget what a call still waits for."""
        if self._calls.pop(call.number, None) is not None:
            self._turns.remove(call)
            self._ordered = [each for each in self._ordered if each[1] != call.number]

    def calls(self) -> list[Call]:
        return list(self._calls.values())

    def take(self, budget: int, max_texts: int = MAX_TEXTS) -> tuple[Item, ...]:
        """The next batch: at most `budget` tokens, padding included; one text where that exceeds it."""
        if not self._turns:
            return ()
        call = self._turns[0]
        self._turns.rotate(-1)
        length, position = call.waiting[-1]
        last = bisect_left(self._ordered, (length, call.number, position))
        room = max(min(max_texts, budget // max(length, 1)), 1)
        first = last
        while last - first + 1 < room and first and self._ordered[first - 1][0] >= length * _LIKE_LENGTH:
            first -= 1
        taken = self._ordered[first : last + 1]
        del self._ordered[first : last + 1]
        return tuple(self._item(*each) for each in reversed(taken))

    def _item(self, length: int, number: int, position: int) -> Item:
        call = self._calls[number]
        call.waiting.remove((length, position))
        if not call.waiting:
            del self._calls[number]
            self._turns.remove(call)
        return Item(call, position)
