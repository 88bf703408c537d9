"""Words that a pattern cannot do without, read out of the pattern itself.

Most patterns need two things at once: somebody who speaks ("i", "we") and what they do ("object", "oppose").
A sentence that lacks either need not be searched. What is read here is at most too little: where a pattern
does not show that a word is whole, or is written in a way that is not known here, nothing is needed.

A word is an unbroken run of the letters a to z, so "don't" is two, or a mark that counts as one ("+1"). A
pattern is walked from its start to its end; for each run of letters that may just be going on, the words that
were completed before are kept.
"""

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import NamedTuple

from shared.domain.consensus.pattern_parts import (
    Alternation,
    Anything,
    Break,
    Edge,
    Letters,
    Mark,
    Part,
    Repeated,
    Sequence,
    UnknownPatternError,
    read_pattern,
)

Need = frozenset[str]
"""Words of which a sentence must have one."""
Needs = tuple[Need, ...]
"""All of them at once, the most telling first."""

_MOST_NEEDS = 6
_MOST_RUNS = 400
"""Runs of letters that may be going on at once: what branches out further is not followed."""
_ROUNDS = 3
"""Turns of a repetition that are walked. One that has not settled by then is not followed."""
_USUAL = 4
_PER_MILLE = {
    **dict.fromkeys(("the", "to"), 450),
    **dict.fromkeys(("a", "and", "in", "is", "it", "of", "that", "this", "i"), 300),
    **dict.fromkeys(
        ("for", "be", "not", "with", "as", "you", "we", "on", "have", "if", "are", "s", "t"), 150
    ),
    **dict.fromkeys(("but", "can", "so", "was", "will", "would", "an", "or", "should", "do", "at"), 80),
    **dict.fromkeys(("my", "me", "has", "by", "from", "all", "there", "they", "think", "no", "m", "ll"), 50),
    **dict.fromkeys(("your", "what", "when", "don", "been", "these", "could", "one", "any", "d"), 40),
    **dict.fromkeys(("re", "ve", "which", "more", "some", "just", "use", "up", "like", "now", "see"), 30),
}
"""In how many of a thousand sentences a word stands, roughly: the rarer, the more telling."""
_Runs = dict[str | None, Needs]
"""By the run of letters that is going on: what is needed so far. None is a run whose start is not known."""


class Alternative(NamedTuple):
    needs: Needs = ()
    enough: Need = frozenset()
    """Words any of which is all that it looks for, where they stand apart from other characters of words."""


def alternatives_of(pattern: str) -> list[Alternative]:
    """What each alternative of a pattern needs."""
    try:
        alternatives = read_pattern(pattern)
    except UnknownPatternError:
        return [Alternative()]
    spread = [one for alternative in alternatives for one in _spread(alternative)]
    needs = [tuple(sorted(_either(_walk(one, {None: ()}).values()), key=_frequency)) for one in spread]
    # Those that need one thing only are told from each other by nothing else.
    alone = frozenset().union(*(one[0] for one in needs if len(one) == 1))
    found = [Alternative(one) for one in needs if len(one) != 1]
    return [*found, Alternative((alone,), frozenset(_whole_words(spread)))] if alone else found


def _whole_words(alternatives: list[Sequence]) -> Iterator[str]:
    for one in alternatives:
        match one:
            case (Edge(), Letters(word), Edge()):
                yield word


def _spread(sequence: Sequence) -> Iterator[Sequence]:
    """Alternatives of alternatives, where nothing else is looked for: each of them has needs of its own."""
    others = [place for place, part in enumerate(sequence) if not isinstance(part, Break | Edge)]
    choice = sequence[others[0]] if len(others) == 1 else None
    if not isinstance(choice, Alternation):
        yield sequence
        return
    before, after = sequence[: others[0]], sequence[others[0] + 1 :]
    for alternative in choice.alternatives:
        yield from _spread(before + alternative + after)


def _walk(sequence: Sequence, runs: _Runs) -> _Runs:
    for part in sequence:
        runs = _step(part, runs)
        if len(runs) > _MOST_RUNS:
            runs = {None: _either(runs.values())}
    return runs


def _step(part: Part, runs: _Runs) -> _Runs:
    match part:
        case Letters(letters):
            return {run if run is None else run + letters: needs for run, needs in runs.items()}
        case Anything():
            return {None: _either(runs.values())}
        case Break() | Edge():
            return {"": _either(_completed(run, needs) for run, needs in runs.items())}
        case Mark(words):
            return {"": (words, *_either(_completed(run, needs) for run, needs in runs.items()))}
        case Alternation(alternatives):
            return _joined(item for one in alternatives for item in _walk(one, runs).items())
        case Repeated(repeated, least, most):
            return _repeat(repeated, least, most, runs)


def _repeat(part: Part, least: int, most: int, runs: _Runs) -> _Runs:
    if least:
        runs, most = _step(part, runs), most - 1
    before = runs
    for _ in range(min(most, _ROUNDS)):
        after = _joined((*runs.items(), *_step(part, runs).items()))
        if after == runs:
            return runs
        runs = after
    return runs if most <= _ROUNDS else {None: _either(before.values())}


def _joined(items: Iterable[tuple[str | None, Needs]]) -> _Runs:
    """The same run may go on in several ways."""
    ways: dict[str | None, list[Needs]] = {}
    for run, needs in items:
        ways.setdefault(run, []).append(needs)
    return {run: _either(all_needs) for run, all_needs in ways.items()}


def _completed(run: str | None, needs: Needs) -> Needs:
    return (*needs, frozenset({run})) if run else needs


def _either(ways: Iterable[Needs]) -> Needs:
    """What is needed whichever way is taken: what all need, and one of what each needs besides."""
    first, *others = dict.fromkeys(ways)
    if not others:
        return first
    common = [need for need in first if all(need in other for other in others)]
    besides = [[need for need in way if need not in common] for way in (first, *others)]
    if all(besides):
        common.append(frozenset().union(*(min(needs, key=_frequency) for needs in besides)))
    return tuple(sorted(common, key=_frequency)[:_MOST_NEEDS])


def _frequency(need: Need) -> int:
    return sum(map(_PER_MILLE.get, need, repeat(_USUAL)))
