"""Which wordings the words of a sentence leave possible, found for all of them at once.

Every alternative of every pattern is one bit of a number. Each word knows the bits of the alternatives that
want it; the words of a sentence, put together, leave the bits of those that have all they want.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import reduce
from itertools import repeat
from operator import or_

from shared.domain.consensus.needed_words import Needs

_MOST_NEEDS = 2
"""Needs of an alternative that are looked at: a third one hardly ever rules out what two do not."""


class WordIndex:
    """Alternatives, each with the words that trigger its search and the words that it needs.

    A trigger is a word as people write it ("don't"); what is needed are runs of letters ("don", "t").
    """

    def __init__(self, alternatives: Sequence[tuple[Collection[str], Needs]]) -> None:
        size = self._size = len(alternatives)
        self._all = (1 << size) - 1
        triggers: dict[str, int] = defaultdict(int)
        needed: dict[str, int] = defaultdict(int)
        self._without_need = 0
        for number, (words, needs) in enumerate(alternatives):
            for word in words:
                triggers[word] |= 1 << number
            for field in range(1, _MOST_NEEDS + 1):
                bit = 1 << (number + field * size)
                if len(needs) < field:
                    self._without_need |= bit
                else:
                    for word in needs[field - 1]:
                        needed[word] |= bit
        self._needed = dict(needed)
        self._words = {
            word: triggers.get(word, 0) | needed.get(word, 0) for word in triggers.keys() | needed.keys()
        }
        self._known = frozenset(self._words)

    def ways(self, words: frozenset[str]) -> tuple[int, int]:
        """The alternatives that these words trigger, and those of them that have all they need."""
        found = reduce(or_, map(self._words.__getitem__, self._known & words), self._without_need)
        triggered = found & self._all
        if not triggered:
            return 0, 0
        if contracted := [word for word in words if "'" in word]:
            runs = " ".join(contracted).replace("'", " ").split()
            found = reduce(or_, map(self._needed.get, runs, repeat(0)), found)
        possible = triggered
        for field in range(1, _MOST_NEEDS + 1):
            possible &= found >> field * self._size
        return triggered, possible
