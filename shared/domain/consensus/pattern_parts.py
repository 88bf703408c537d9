"""Patterns, read as far as it matters where runs of letters begin and end."""

import re
from dataclasses import dataclass

THUMB_UP = "\U0001f44d"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_ENDLESS = 1_000
_ONE_OF = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_RANGE = re.compile(r"(\\?.)-(\\?.)", re.DOTALL)
_SIGN = re.compile(rf"\\.|{_ONE_OF.pattern}|[()|]", re.DOTALL)
_COUNTS = frozenset("?*+{")
_WORD = re.compile(r"[a-z]+(?=[a-z][?*+{])|[a-z]+(?![a-z?*+{])|[a-z]")
"""Letters, of which the last one is alone where it may be left out or repeated."""
_MARK = re.compile(r"\\?([+-])(?: \??)?([01])(?![?*+{])")
_COUNT = re.compile(r"\{(?!\})(\d*)(,?)(\d*)\}")
_CODE = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}")
_LOOKS_AROUND = ("(?=", "(?!", "(?<=", "(?<!")


class UnknownPatternError(ValueError):
    """A pattern is written in a way that is not known here."""


@dataclass(frozen=True, slots=True)
class Letters:
    letters: str


@dataclass(frozen=True, slots=True)
class Break:
    """A character that is no letter: a run of letters ends, and another may begin."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A word's start or end."""


@dataclass(frozen=True, slots=True)
class Anything:
    """A character that may be a letter."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What counts as a word and is none: a vote, or a thumb that is held up."""

    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Alternation:
    alternatives: "tuple[Sequence, ...]"


@dataclass(frozen=True, slots=True)
class Repeated:
    part: "Part"
    least: int
    most: int


Part = Letters | Mark | Break | Edge | Anything | Alternation | Repeated
Sequence = tuple[Part, ...]
_NOTHING = Alternation(((),))


def read_pattern(pattern: str) -> tuple[Sequence, ...]:
    """Its alternatives."""
    return _Parser(pattern).read()


def split_pattern(pattern: str) -> list[str]:
    """Its alternatives, each as a pattern of its own."""
    found, depth, start = [], 0, 0
    for sign in _SIGN.finditer(pattern):
        depth += (sign[0] == "(") - (sign[0] == ")")
        if sign[0] == "|" and not depth:
            found.append(pattern[start : sign.start()])
            start = sign.end()
    return [*found, pattern[start:]]


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def read(self) -> tuple[Sequence, ...]:
        alternatives = self._alternatives()
        if self._at < len(self._pattern):
            raise UnknownPatternError(self._pattern)
        return alternatives

    def _alternatives(self) -> tuple[Sequence, ...]:
        found = [self._sequence()]
        while self._takes("|"):
            found.append(self._sequence())
        return tuple(found)

    def _sequence(self) -> Sequence:
        parts: list[Part] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            parts.append(self._counted(self._part()))
        return tuple(parts)

    def _part(self) -> Part:
        if word := _WORD.match(self._pattern, self._at):
            self._at = word.end()
            return Letters(word[0])
        if mark := _MARK.match(self._pattern, self._at):
            self._at = mark.end()
            return Mark(frozenset({f"{mark[1]}{mark[2]}", f"{mark[1]} {mark[2]}"}))
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
        return Anything() if sign == "." else _character(sign)

    def _group(self) -> Part:
        opening = next((one for one in (*_LOOKS_AROUND, "(?:") if self._takes(one)), None)
        if opening is None:
            self._at += 1
            if self._takes("?"):
                raise UnknownPatternError(self._pattern)
        alternatives = self._alternatives()
        if not self._takes(")"):
            raise UnknownPatternError(self._pattern)
        # What stands around is looked at, and not gone over.
        return _NOTHING if opening in _LOOKS_AROUND else Alternation(alternatives)

    def _one_of(self) -> Part:
        found = _ONE_OF.match(self._pattern, self._at)
        if found is None:
            raise UnknownPatternError(self._pattern)
        self._at = found.end()
        return Break() if _has_no_letter(found[0][1:-1]) else Anything()

    def _escaped(self) -> Part:
        if code := _CODE.match(self._pattern, self._at):
            self._at = code.end()
            return _character(chr(int(code[0][1:], 16)))
        sign = self._pattern[self._at : self._at + 1]
        self._at += 1
        if sign in {"w", "S", "D"}:
            return Anything()
        if sign == "b":
            return Edge()
        if sign in {"W", "s", "d"} or (sign and not sign.isalnum()):
            return Break()
        raise UnknownPatternError(self._pattern)

    def _counted(self, part: Part) -> Part:
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
        return Repeated(part, least, most)

    def _takes(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True


def _character(sign: str) -> Part:
    if sign == THUMB_UP:
        return Mark(frozenset({sign}))
    return Letters(sign) if sign in _LETTERS else Break()


def _has_no_letter(content: str) -> bool:
    """Whether none of the characters of a `[...]` can be a letter; false where that is not plain."""
    if content.startswith("^") or any(code in content for code in ("\\w", "\\S", "\\D", "\\x", "\\u", "\\U")):
        return False
    if any(first[-1] <= "z" and last[-1] >= "a" for first, last in _RANGE.findall(content)):
        return False
    plain = re.sub(r"\\[Wsdb]", "", content)
    return _LETTERS.isdisjoint(plain)
