"""Which wordings the words of a sentence leave possible, found for all of them at once.

Every alternative of every pattern is one bit of a number. Each word knows the bits of the alternatives that
want it; the words of a sentence, put together, leave the bits of those that have all they want.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import reduce
from itertools import repeat
from operator import or_

from shared.domain.consensus.mails import OwnSentence
from shared.domain.consensus.needed_words import Alternative

_TRIGGERED, _FIRST_NEED, _SECOND_NEED, _ENOUGH = range(4)
"""Four numbers in one, so that words are gone through once. A third need rules out hardly anything more."""
_JOINS = re.compile(r"[0-9_](?:(?=[a-z])|(?<=[a-z].))")
"""A character that makes another word of the letters beside it."""


Ways = tuple[int, int, int]
"""Alternatives, as bits: those that are triggered, those of them that have all they need, and those of these
that are surely found."""


class WordIndex:
    """Alternatives, each with the words that trigger its search and the words that it needs.

    A trigger is a word as people write it ("don't"); what is needed are runs of letters ("don", "t").
    """

    def __init__(self, alternatives: Sequence[tuple[Collection[str], Alternative]]) -> None:
        self._size = len(alternatives)
        self._all = (1 << self._size) - 1
        self._without_need = 0
        triggers: dict[str, int] = defaultdict(int)
        needed: dict[str, int] = defaultdict(int)
        for number, (words, (needs, enough)) in enumerate(alternatives):
            for word in words:
                triggers[word] |= self._bit(_TRIGGERED, number)
            for word in enough:
                triggers[word] |= self._bit(_ENOUGH, number)
            for field in (_FIRST_NEED, _SECOND_NEED):
                if len(needs) < field:
                    self._without_need |= self._bit(field, number)
                else:
                    for word in needs[field - 1]:
                        needed[word] |= self._bit(field, number)
        self._needed = dict(needed)
        self._words = {
            word: triggers.get(word, 0) | needed.get(word, 0) for word in triggers.keys() | needed.keys()
        }
        self._known = frozenset(self._words)

    def _bit(self, field: int, number: int) -> int:
        return 1 << (field * self._size + number)

    def ways(self, sentence: OwnSentence) -> Ways:
        words, folded, size = sentence.words, sentence.folded, self._size
        found = reduce(or_, map(self._words.__getitem__, self._known & words), self._without_need)
        triggered = found & self._all
        if not triggered:
            return 0, 0, 0
        if "'" in folded:
            runs = " ".join([word for word in words if "'" in word]).replace("'", " ").split()
            found = reduce(or_, map(self._needed.get, runs, repeat(0)), found)
        possible = triggered & found >> size & found >> 2 * size
        enough = possible & found >> 3 * size
        is_sure = enough and folded.isascii() and not _JOINS.search(folded)
        return triggered, possible, enough if is_sure else 0
