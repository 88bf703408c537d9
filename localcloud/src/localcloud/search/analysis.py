"""Analyzers convert a text to terms.

A tokenizer is a regular expression. A filter maps each token to its term, or to "" for a stop word, so that
the other terms keep their positions. The stemmer is Snowball's (PyStemmer), with an instance for each thread.
"""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass

import Stemmer  # type: ignore[import-not-found]  # it ships no types

DEFAULT_ANALYZER = "standard.lucene"
MAX_CACHED_STEMS = 200_000

# Lucene's English stop set.
STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these
    they this to was will with""".split()  # noqa: SIM905 - easier to read than a list
)

# An approximation of Unicode's word boundaries (UAX 29). Each ideograph or hiragana is a word. An apostrophe
# or a period between letters, or a point or comma between digits, does not end a word.
_SINGLE = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = rf"[^\W{_SINGLE}]"
_STANDARD = re.compile(
    rf"[{_SINGLE}]|{_WORD}+(?:(?:(?<=[^\W\d_])['\u2019.](?=[^\W\d_])|(?<=\d)[.,'](?=\d)){_WORD}+)*"
)
# A faster pattern for ASCII, which finds words that are too long. Words with punctuation are split again.
_ROUGH = re.compile(r"\w+(?:['.,]\w+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    term: str
    start: int
    end: int
    position: int


class _Stems(dict[str, str]):
    """A bounded cache of terms by token."""

    def __init__(self) -> None:
        super().__init__()
        self._stem = Stemmer.Stemmer("porter", maxCacheSize=0).stemWord

    def __missing__(self, token: str) -> str:
        if len(self) >= MAX_CACHED_STEMS:
            self.clear()
        word = token.removesuffix("'s").removesuffix("\u2019s")
        term = "" if word in STOP_WORDS else self._stem(word)
        self[token] = term
        return term


_per_thread = threading.local()


def _stems() -> Callable[[str], str]:
    if not hasattr(_per_thread, "stems"):
        _per_thread.stems = _Stems()
    term: Callable[[str], str] = _per_thread.stems.__getitem__
    return term


def _standard_tokens(text: str) -> list[str]:
    if not text.isascii():
        return _STANDARD.findall(text)
    rough: list[str] = _ROUGH.findall(text)
    if "".join(rough).isalnum():
        return rough
    found: list[str] = []
    for token in rough:
        if token.isalnum():
            found.append(token)
        else:
            found += _STANDARD.findall(token)
    return found


@dataclass(frozen=True)
class Analyzer:
    mapping: Callable[[], Callable[[str], str]] | None = None

    def terms(self, text: str) -> list[str]:
        """Return the terms in order, with "" for each stop word."""
        tokens = _standard_tokens(text.lower())
        return list(map(self.mapping(), tokens)) if self.mapping else tokens

    def tokens(self, text: str) -> list[Token]:
        """Return the terms with their offsets in the text, for highlights."""
        found = []
        to_term = self.mapping() if self.mapping else str
        for position, match in enumerate(_STANDARD.finditer(text)):
            if term := to_term(match[0].lower()):
                found.append(Token(term, match.start(), match.end(), position))
        return found


ANALYZERS = {DEFAULT_ANALYZER: Analyzer(), "en.lucene": Analyzer(_stems)}
