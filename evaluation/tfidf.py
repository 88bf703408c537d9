"""Texts as vectors without a model: hashed tf-idf. Deterministic, and bounded in width."""

import re
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
_WIDTH = 2048
_TERM = re.compile(r"[^\W\d_][\w'-]+")
_STOP_WORDS = frozenset(
    _TERM.findall(
        """an the of to in on for and or is are was were be been it its this that these those with as at
        by from you we they he she not but have has had do does did will would can could should may
        might if so what which who there their our your my me us them than then also just about into
        out up no all any some more most other such only very when where how because don't doesn't it's
        isn't"""
    )
)


def content_words(text: str) -> list[str]:
    return [term for term in _TERM.findall(text.lower()) if term not in _STOP_WORDS]


def tfidf(texts: Sequence[str]) -> Matrix:
    """Return one normalized row for each text. A text without content words is a row of zeros."""
    counts = [Counter(_place(term) for term in content_words(text)) for text in texts]
    frequency = Counter(place for count in counts for place in count)
    rows = np.zeros((len(texts), _WIDTH), dtype=np.float32)
    for row, count in zip(rows, counts, strict=True):
        for place, times in count.items():
            row[place] = (1 + np.log(times)) * np.log(1 + len(texts) / (1 + frequency[place]))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _place(term: str) -> int:
    return zlib.crc32(term.encode()) % _WIDTH


def centroid(rows: Matrix) -> Matrix:
    """Return the normalized mean direction."""
    middle = rows.sum(axis=0)
    length = float(np.linalg.norm(middle))
    return np.asarray(middle / length if length else middle, dtype=np.float32)
