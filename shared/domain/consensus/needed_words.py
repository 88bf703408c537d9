"""Words that a pattern cannot do without, read out of the pattern itself.

Most patterns need two things at once: somebody who speaks ("i", "we") and what they do ("object", "oppose").
A sentence that lacks either need not be searched. What is read here is at most too little: where a pattern
does not show that a word is whole, or is written in a way that is not known here, nothing is needed.

A word is an unbroken run of the letters a to z, so "don't" is two, or a mark that counts as one ("+1"). A
pattern is walked from its start to its end; for each run of letters that may just be going on, the words that
were completed before are kept.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

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
THUMB_UP = "\U0001f44d"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_ENDLESS = 1_000
_ONE_OF = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_RANGE = re.compile(r"(\\?.)-(\\?.)", re.DOTALL)
_COUNTS = frozenset("?*+{")
_WORD = re.compile(r"[a-z]+(?=[a-z][?*+{])|[a-z]+(?![a-z?*+{])|[a-z]")
"""Letters, of which the last one is alone where it may be left out or repeated."""
_MARK = re.compile(r"\\?([+-])(?: \??)?([01])(?![?*+{])")
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_CODE = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}")
_LOOKS_AROUND = ("(?=", "(?!", "(?<=", "(?<!")


class UnknownPatternError(ValueError):
    """A pattern is written in a way that is not known here."""


@dataclass(frozen=True, slots=True)
class _Letters:
    letters: str


@dataclass(frozen=True, slots=True)
class _Break:
    """A character that is no letter: a run of letters ends, and another may begin."""


@dataclass(frozen=True, slots=True)
class _Edge:
    """A word's start or end."""


@dataclass(frozen=True, slots=True)
class _Anything:
    """A character that may be a letter."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """What counts as a word and is none: a vote, or a thumb that is held up."""

    words: Need


@dataclass(frozen=True, slots=True)
class _LookAround:
    """What stands before or behind is looked at, and not gone over."""


@dataclass(frozen=True, slots=True)
class _Choice:
    alternatives: "tuple[_Sequence, ...]"


@dataclass(frozen=True, slots=True)
class _Repeated:
    part: "_Part"
    least: int
    most: int


_Part = _Letters | _Mark | _Break | _Edge | _Anything | _LookAround | _Choice | _Repeated
_Sequence = tuple[_Part, ...]
_Runs = dict[str | None, Needs]
"""By the run of letters that is going on: what is needed so far. None is a run whose start is not known."""


class Alternative(NamedTuple):
    needs: Needs = ()
    enough: Need = frozenset()
    """Words any of which is all that it looks for, where they stand apart from other characters of words."""


def alternatives_of(pattern: str) -> list[Alternative]:
    """What each alternative of a pattern needs."""
    try:
        alternatives = _Parser(pattern).read()
    except UnknownPatternError:
        return [Alternative()]
    spread = [one for alternative in alternatives for one in _spread(alternative)]
    needs = [tuple(sorted(_either(_walk(one, {None: ()}).values()), key=_frequency)) for one in spread]
    # Those that need one thing only are told from each other by nothing else.
    alone = frozenset().union(*(one[0] for one in needs if len(one) == 1))
    found = [Alternative(one) for one in needs if len(one) != 1]
    return [*found, Alternative((alone,), frozenset(_whole_words(spread)))] if alone else found


def _whole_words(alternatives: list[_Sequence]) -> Iterator[str]:
    for one in alternatives:
        match one:
            case (_Edge(), _Letters(word), _Edge()):
                yield word


def _spread(sequence: _Sequence) -> Iterator[_Sequence]:
    """Alternatives of alternatives, where nothing else is looked for: each of them has needs of its own."""
    others = [place for place, part in enumerate(sequence) if not isinstance(part, _Break | _Edge)]
    choice = sequence[others[0]] if len(others) == 1 else None
    if not isinstance(choice, _Choice):
        yield sequence
        return
    before, after = sequence[: others[0]], sequence[others[0] + 1 :]
    for alternative in choice.alternatives:
        yield from _spread(before + alternative + after)


def _walk(sequence: _Sequence, runs: _Runs) -> _Runs:
    for part in sequence:
        runs = _step(part, runs)
        if len(runs) > _MOST_RUNS:
            runs = {None: _either(runs.values())}
    return runs


def _step(part: _Part, runs: _Runs) -> _Runs:
    match part:
        case _Letters(letters):
            return {run if run is None else run + letters: needs for run, needs in runs.items()}
        case _Anything():
            return {None: _either(runs.values())}
        case _LookAround():
            return runs
        case _Break() | _Edge():
            return {"": _either(_completed(run, needs) for run, needs in runs.items())}
        case _Mark(words):
            return {"": (words, *_either(_completed(run, needs) for run, needs in runs.items()))}
        case _Choice(alternatives):
            return _joined(item for one in alternatives for item in _walk(one, runs).items())
        case _Repeated(repeated, least, most):
            return _repeat(repeated, least, most, runs)


def _repeat(part: _Part, least: int, most: int, runs: _Runs) -> _Runs:
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


class _Parser:
    """Reads a pattern as far as it matters where runs of letters begin and end."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def read(self) -> tuple[_Sequence, ...]:
        alternatives = self._alternatives()
        if self._at < len(self._pattern):
            raise UnknownPatternError(self._pattern)
        return alternatives

    def _alternatives(self) -> tuple[_Sequence, ...]:
        found = [self._sequence()]
        while self._takes("|"):
            found.append(self._sequence())
        return tuple(found)

    def _sequence(self) -> _Sequence:
        parts: list[_Part] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            parts.append(self._counted(self._part()))
        return tuple(parts)

    def _part(self) -> _Part:
        if word := _WORD.match(self._pattern, self._at):
            self._at = word.end()
            return _Letters(word[0])
        if mark := _MARK.match(self._pattern, self._at):
            self._at = mark.end()
            return _Mark(frozenset({f"{mark[1]}{mark[2]}", f"{mark[1]} {mark[2]}"}))
        sign = self._pattern[self._at]
        if sign == "(":
            return self._group()
        if sign == "[":
            return self._one_of()
        self._at += 1
        if sign == "\\":
            return self._escaped()
        if sign in "*+?{":
            raise UnknownPatternError(self._pattern)
        return _Anything() if sign == "." else _character(sign)

    def _group(self) -> _Part:
        opening = next((one for one in (*_LOOKS_AROUND, "(?:") if self._takes(one)), None)
        if opening is None:
            self._at += 1
            if self._takes("?"):
                raise UnknownPatternError(self._pattern)
        alternatives = self._alternatives()
        if not self._takes(")"):
            raise UnknownPatternError(self._pattern)
        return _LookAround() if opening in _LOOKS_AROUND else _Choice(alternatives)

    def _one_of(self) -> _Part:
        found = _ONE_OF.match(self._pattern, self._at)
        if found is None:
            raise UnknownPatternError(self._pattern)
        self._at = found.end()
        return _Break() if _has_no_letter(found[0][1:-1]) else _Anything()

    def _escaped(self) -> _Part:
        if code := _CODE.match(self._pattern, self._at):
            self._at = code.end()
            return _character(chr(int(code[0][1:], 16)))
        sign = self._pattern[self._at : self._at + 1]
        self._at += 1
        if sign in {"w", "S", "D"}:
            return _Anything()
        if sign == "b":
            return _Edge()
        if sign in {"W", "s", "d"} or (sign and not sign.isalnum()):
            return _Break()
        raise UnknownPatternError(self._pattern)

    def _counted(self, part: _Part) -> _Part:
        if self._pattern[self._at : self._at + 1] not in _COUNTS:
            return part
        least, most = 1, 1
        if self._takes("?"):
            least = 0
        elif self._takes("*"):
            least, most = 0, _ENDLESS
        elif self._takes("+"):
            most = _ENDLESS
        elif count := _COUNT.match(self._pattern, self._at):
            self._at = count.end()
            least = int(count[1] or 0)
            most = int(count[3] or _ENDLESS) if count[2] else least
        else:
            return part
        # As little as possible, or as much: the same words are needed.
        self._takes("?")
        return _Repeated(part, least, most)

    def _takes(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True


def _character(sign: str) -> _Part:
    if sign == THUMB_UP:
        return _Mark(frozenset({sign}))
    return _Letters(sign) if sign in _LETTERS else _Break()


def _has_no_letter(content: str) -> bool:
    """Whether none of the characters of a `[...]` can be a letter; false where that is not plain."""
    if content.startswith("^") or any(code in content for code in ("\\w", "\\S", "\\D", "\\x", "\\u", "\\U")):
        return False
    if any(first[-1] <= "z" and last[-1] >= "a" for first, last in _RANGE.findall(content)):
        return False
    plain = re.sub(r"\\[Wsdb]", "", content)
    return _LETTERS.isdisjoint(plain)
