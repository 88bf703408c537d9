"""Ranking of passages: the weight of words, the best sentence, and the limit for answers.

The scores of the service show no relevance, so its best passages are weighed again by their vectors and by
the share of the query's words that they contain.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shared.chunking.chunker import sentence_starts

_TOKEN = re.compile(r"\w+(?:[.'\u2019_]\w+)*")
_SUFFIX = re.compile(
    r"(?<=\w{3})(?:ational|ations?|ments?|ingly|ings?|edly|ness|ities|ity|ers?|ed|ies|es|s|ly|e|y)$"
)
_STOP = frozenset(
    """a about after all also am an and any anybody anyone are as at be because been before being but by can
    could did do does doing done for from get had has have he her him his how i if in into is it its just let
    like me more my no not of on or other our out over said say says she should so some somebody someone tell
    than that the their them then there these they think thinks this those to up us use used using was way we
    were what when where whether which who whom whose why will with would you your""".split()  # noqa: SIM905
)
LONGEST_SENTENCE = 400
LEAST_WORDS = 3  # in a meaningful sentence
_CODE = re.compile(r"(?:^|\s)(?:\+{1,2}|\$|>8|@@)\s|\b(?:Subject|Signed-off-by): ")
_AROUND_WORDS = ".,:;!?()[]\"'`*_\u201c\u201d\u2018\u2019"
RARE = 3  # a word in fewer passages has no more weight, because it may only be unusual


@dataclass(frozen=True)
class Weights:
    """The weights, chosen on one half of the labeled queries (evaluation/search_quality.py)."""

    meaning: float = 1.6  # the cosine of the vectors
    words: float = (
        0.4  # the share of the query's words in passage, subject or sender, with more weight for rare words
    )
    head: float = 0.95  # the same in subject and sender only
    place: float = 0.06  # bonus for the rank that the service gives
    next_passage: float = 0.25  # bonus for the next passage of a thread, squared for the passage after it
    evidence_of_words: float = 0.5
    absent: float = 0.3  # penalty for words that are in no passage
    unmeant: float = 0.3  # penalty for words that the passage neither contains nor means
    floor: float = 0.47  # the least evidence of the best thread
    floor_by_words: float = 0.2  # the same without vectors
    tail: float = 0.2  # how much less evidence the other threads may have


WEIGHTS = Weights()
MOST_VARIANTS = 16
Vectors = Mapping[str, Sequence[float]]
"""The vectors of the query (key "") and of the query without each of its terms."""


@dataclass(frozen=True)
class Passage:
    """The ranked parts of a hit."""

    text: str
    subject: str
    sender: str
    vector: Sequence[float] | None = None


@dataclass(frozen=True)
class Weighed:
    score: float
    """Determines the order."""
    evidence: float
    """Compared with the floor: the certainty that the passage is about the query."""


def texts_to_embed(query: str) -> dict[str, str]:
    """Return the query, and the query without each term. A passage nearer without a term is not about it."""
    words = _TOKEN.findall(query)
    texts = {"": query}
    for term in content_terms(query)[:MOST_VARIANTS]:
        texts[term] = " ".join(word for word in words if stem(word) != term) or query
    return texts


def stem(word: str) -> str:
    """Return the word without its ending. `expires`, `expired` and `expiring` have the same stem."""
    folded = word.lower().replace("\u2019", "'").removesuffix("'s")
    shorter = _SUFFIX.sub("", folded)
    return shorter if len(shorter) > 2 else folded  # noqa: PLR2004 - shorter stems are ambiguous


def content_terms(text: str) -> list[str]:
    """Return the stems of the content words, or of all words if there are none."""
    words = [word for word in _TOKEN.findall(text) if word.lower() not in _STOP]
    return list(dict.fromkeys(stem(word) for word in words or _TOKEN.findall(text)))


def has_content(text: str) -> bool:
    """Return whether the text has a content word of more than two letters."""
    return any(len(word) > 2 and word.lower() not in _STOP for word in _TOKEN.findall(text))  # noqa: PLR2004


def all_terms(text: str) -> set[str]:
    return {stem(word) for word in _TOKEN.findall(text)}


class Weigher:
    """Weighs the passages that a query found."""

    def __init__(self, query: str, vectors: Vectors | None, passages: Sequence[Passage]) -> None:
        self._terms = content_terms(query)
        heads = [all_terms(f"{passage.subject} {passage.sender}") for passage in passages]
        both = [head | all_terms(passage.text) for head, passage in zip(heads, passages, strict=True)]
        # Words that are rare in the best passages of the service have more weight.
        count = len(passages) + 1
        frequency = {term: sum(term in terms for terms in both) for term in self._terms}
        self._weight: dict[str, float] = {
            term: math.log(1 + count / (max(number, RARE) + 0.5)) ** 1.5 for term, number in frequency.items()
        }
        self._total = sum(self._weight.values()) or 1.0
        self._heads, self._both = heads, both
        self._near = _nearness(vectors or {}, passages)
        self._absent = self._share({term for term in self._terms if not frequency[term]})

    @property
    def has_vectors(self) -> bool:
        return bool(self._near)

    def weigh(self, number: int, weights: Weights = WEIGHTS) -> Weighed:
        words, near = self._share(self._both[number]), self.nearness(number)
        score = (
            weights.meaning * near + weights.words * words + weights.head * self._share(self._heads[number])
        )
        score += weights.place / (1 + number / 10)
        evidence = near + weights.evidence_of_words * words
        evidence -= weights.absent * self._absent + weights.unmeant * self._unmeant(number)
        return Weighed(score, evidence)

    def nearness(self, number: int) -> float:
        return float(self._near[""][number]) if self.has_vectors else 0.0

    def _unmeant(self, number: int) -> float:
        """Return the share of words that the passage lacks and that do not bring the query nearer."""
        near = self.nearness(number)
        return self._share(
            {
                term
                for term, without in self._near.items()
                if term not in self._both[number] and without[number] >= near
            }
        )

    def words_in(self, text: str) -> float:
        return self._share(all_terms(text))

    def _share(self, terms: set[str]) -> float:
        return math.fsum(self._weight[term] for term in self._terms if term in terms) / self._total

    def best_sentence(self, text: str) -> tuple[int, int]:
        """Return the span of the sentence with most words of the query. Prose is preferred."""

        def fit(span: tuple[int, int]) -> tuple[float, bool, int]:
            sentence = text[slice(*span)]
            return self.words_in(sentence), is_prose(sentence), -span[0]

        return max(sentences_of(text), key=fit)


def is_prose(sentence: str) -> bool:
    if _CODE.search(sentence):
        return False
    words = sentence.split()
    plain = sum(word.strip(_AROUND_WORDS).replace("'", "").isalpha() for word in words)
    return plain >= LEAST_WORDS and plain * 2 > len(words)


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences without surrounding white space. Long sentences are cut."""
    starts = sentence_starts(text) or [0]
    spans: list[tuple[int, int]] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        sentence = text[start:end]
        begin = start + len(sentence) - len(sentence.lstrip())
        last = min(start + len(sentence.rstrip()), begin + LONGEST_SENTENCE)
        spans += [(begin, last)] if last > begin else []
    return spans or [(0, min(len(text), LONGEST_SENTENCE))]


def _nearness(vectors: Vectors, passages: Sequence[Passage]) -> dict[str, NDArray[np.float32]]:
    """Return the cosines of each variant of the query with each passage. Empty without vectors."""
    if not vectors or any(passage.vector is None for passage in passages) or not passages:
        return {}
    matrix = _unit(np.asarray([passage.vector for passage in passages], np.float32))
    near = _unit(np.asarray(list(vectors.values()), np.float32)) @ matrix.T
    return dict(zip(vectors, near, strict=True))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = rows / np.maximum(lengths, np.float32(1e-12))
    return unit
