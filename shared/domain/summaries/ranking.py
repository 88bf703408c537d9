"""How much a sentence tells of its thread: a weighted sum of plain features.

The weights were set by hand, as round numbers, after a ridge regression on the given half of BC3 had shown
which features carry; `python -m evaluation.bc3` fits them anew, leaving one thread out, beside these.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shared.domain.summaries.models import Embed
from shared.domain.summaries.noise import is_noise, looks_like_code
from shared.domain.summaries.tfidf import Matrix, centroid, content_words, tfidf


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of the sender's own, and where it stands."""

    text: str
    message: int
    """The message's number in the thread."""
    position: int
    """The sentence's number in its message."""
    of: int
    """How many sentences the message has."""


@dataclass(frozen=True, slots=True)
class Ranked:
    scores: NDArray[np.float64]
    vectors: Matrix


FEATURES = (
    "length",
    "near_top",
    "share_left",
    "in_first_message",
    "is_question",
    "is_noise",
    "is_code",
    "like_subject",
    "like_thread",
)
WEIGHTS = np.array([0.12, 0.25, 0.3, 0.05, 0.15, -0.3, -0.2, 0.3, 0.1])
_FULL_LENGTH = 40
"""Words; longer is not better."""


def rank(candidates: Sequence[Candidate], subject: str, embed: Embed | None = None) -> Ranked:
    features, vectors = describe(candidates, subject, embed)
    return Ranked(features @ WEIGHTS, vectors)


def describe(
    candidates: Sequence[Candidate], subject: str, embed: Embed | None = None
) -> tuple[NDArray[np.float64], Matrix]:
    """The features of each candidate, in the order of FEATURES, and its vector."""
    texts = [candidate.text for candidate in candidates]
    vectors = _vectors([*texts, subject], embed)
    sentences, wanted = vectors[:-1], vectors[-1]
    plain = np.array([_plain(candidate) for candidate in candidates]).reshape(len(candidates), -1)
    like = np.stack([sentences @ wanted, sentences @ centroid(sentences)], axis=1)
    return np.hstack([plain, like]), sentences


def _vectors(texts: Sequence[str], embed: Embed | None) -> Matrix:
    return np.asarray(embed(texts), dtype=np.float32) if embed else tfidf(texts)


def _plain(candidate: Candidate) -> list[float]:
    words = min(len(candidate.text.split()), _FULL_LENGTH)
    return [
        float(np.log1p(words)),
        1 / (1 + candidate.position),
        1 - candidate.position / max(1, candidate.of),
        float(candidate.message == 0),
        float(candidate.text.rstrip().endswith("?")),
        float(is_noise(candidate.text) or not content_words(candidate.text)),
        float(looks_like_code(candidate.text)),
    ]
