"""Summaries against BC3: `python -m evaluation.bc3`.

Extractive F1: sentences are picked until 30 % of the thread's words (of all its sentences, quotes included)
are used; F1 of the picked ids against each annotator's, averaged over annotators and threads. Quoted lines
are never candidates. "Leave one thread out" fits the weights to the other threads; "shipped" takes those of
the project.

Citation recall@3: for each sentence of a human summary, whether one of the messages that it links to is among
the three whose best sentence is most like it (tf-idf of the words).
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.bc3_corpus import Bc3Sentence, Bc3Thread, candidates_of, read_bc3
from evaluation.data import MissingDataError, corpus_files
from evaluation.scores import set_f1
from shared.domain.summaries.mmr import Bounds, pick_diverse
from shared.domain.summaries.models import Embed
from shared.domain.summaries.ranking import WEIGHTS, describe
from shared.domain.summaries.tfidf import Matrix, tfidf
from shared.embedding.encoder_loading import load_openvino
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER

__all__ = [
    "Prepared",
    "citation_recall",
    "extractive_f1",
    "first_sentences_f1",
    "human_f1",
    "left_out_f1",
    "prepare",
]

WORD_BUDGET = 0.3
DIVERSITY = 0.1
_RIDGE = 100.0
_NEAREST = 3


@dataclass(frozen=True)
class Prepared:
    thread: Bc3Thread
    own: list[Bc3Sentence]
    features: NDArray[np.float64]
    vectors: Matrix

    @property
    def votes(self) -> NDArray[np.float64]:
        """The share of annotators who picked each sentence."""
        picks = self.thread.picks
        return np.array([sum(sentence.id in pick for pick in picks) / len(picks) for sentence in self.own])


def prepare(threads: list[Bc3Thread], embed: Embed | None = None) -> list[Prepared]:
    prepared = []
    for thread in threads:
        found = candidates_of(thread)
        features, vectors = describe([candidate for _, candidate in found], thread.subject, embed)
        prepared.append(Prepared(thread, [sentence for sentence, _ in found], features, vectors))
    return prepared


def extractive_f1(prepared: list[Prepared], weights: NDArray[np.float64] = WEIGHTS) -> float:
    return _mean_f1(prepared, lambda one: _picked(one, weights))


def left_out_f1(prepared: list[Prepared]) -> float:
    """With weights from the other threads only."""
    fitted = {one.thread.number: _fit([other for other in prepared if other is not one]) for one in prepared}
    return _mean_f1(prepared, lambda one: _picked(one, fitted[one.thread.number]))


def first_sentences_f1(prepared: list[Prepared]) -> float:
    """The baseline: the first sentence of each mail, then the second of each, up to the budget."""
    return _mean_f1(prepared, _first_sentences)


def human_f1(prepared: list[Prepared]) -> float:
    pairs = [
        set_f1(one, other)
        for item in prepared
        for number, one in enumerate(item.thread.picks)
        for other in item.thread.picks[number + 1 :]
    ]
    return float(np.mean(pairs))


def citation_recall(prepared: list[Prepared], nearest: int = _NEAREST) -> float:
    hits = [hit for one in prepared for hit in _citation_hits(one, nearest)]
    return float(np.mean(hits))


def _mean_f1(prepared: list[Prepared], picked: Callable[[Prepared], set[str]]) -> float:
    scores = []
    for one in prepared:
        chosen = picked(one)
        scores += [set_f1(chosen, pick) for pick in one.thread.picks]
    return float(np.mean(scores))


def _budget(thread: Bc3Thread) -> float:
    return WORD_BUDGET * sum(sentence.words for sentence in thread.sentences)


def _picked(one: Prepared, weights: NDArray[np.float64]) -> set[str]:
    scores = one.features @ weights
    relevance = (scores - scores.min()) / (float(np.ptp(scores)) or 1.0)
    words = [sentence.words for sentence in one.own]
    chosen = pick_diverse(relevance, one.vectors, words, Bounds(_budget(one.thread)), diversity=DIVERSITY)
    return {one.own[index].id for index in chosen}


def _first_sentences(one: Prepared) -> set[str]:
    position: dict[int, int] = {}
    order = []
    for sentence in one.thread.sentences:
        position[sentence.message] = position.get(sentence.message, -1) + 1
        order.append((position[sentence.message], sentence))
    left, chosen = _budget(one.thread), set()
    for _, sentence in sorted(order, key=lambda item: item[0]):
        if sentence.words <= left:
            chosen.add(sentence.id)
            left -= sentence.words
    return chosen


def _fit(others: list[Prepared]) -> NDArray[np.float64]:
    """Ridge regression of the annotators' votes on the features."""
    features = np.vstack([one.features for one in others])
    votes = np.concatenate([one.votes for one in others])
    spread = features.std(axis=0) + 1e-9
    scaled = (features - features.mean(axis=0)) / spread
    weights = np.linalg.solve(
        scaled.T @ scaled + _RIDGE * np.eye(scaled.shape[1]), scaled.T @ (votes - votes.mean())
    )
    return np.asarray(weights / spread)


def _citation_hits(one: Prepared, nearest: int) -> list[bool]:
    summaries = one.thread.summaries
    rows = tfidf([*(sentence.text for sentence in one.own), *(text for text, _ in summaries)])
    likeness = rows[len(one.own) :] @ rows[: len(one.own)].T
    messages = np.array([sentence.message for sentence in one.own])
    hits = []
    for row, (_, linked) in zip(likeness, summaries, strict=True):
        best = {int(message): float(row[messages == message].max()) for message in np.unique(messages)}
        closest = sorted(best, key=lambda message: -best[message])[:nearest]
        hits.append(bool(linked & set(closest)))
    return hits


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.bc3", description=__doc__)
    parser.add_argument("--corpus", nargs="*", type=Path, help="default: bc3/corpus*.xml of the corpora")
    parser.add_argument(
        "--annotation", nargs="*", type=Path, help="default: bc3/annotation*.xml of the corpora"
    )
    parser.add_argument(
        "--embeddings", action="store_true", help="compare sentences by the built model (make model)"
    )
    options = parser.parse_args(arguments)
    try:
        corpora = options.corpus or corpus_files("bc3/corpus*.xml")
        annotations = options.annotation or corpus_files("bc3/annotation*.xml")
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    embed = load_openvino(str(DEFAULT_FOLDER), "auto", None, None).encode if options.embeddings else None
    prepared = prepare(read_bc3(corpora, annotations), embed)
    print(f"{len(prepared)} threads, {sum(len(one.thread.sentences) for one in prepared)} sentences")
    print(f"annotators against each other      F1 {human_f1(prepared):.3f}")
    print(f"extractive, shipped weights        F1 {extractive_f1(prepared):.3f}")
    print(f"extractive, leave one thread out   F1 {left_out_f1(prepared):.3f}")
    print(f"first sentences of each mail       F1 {first_sentences_f1(prepared):.3f}")
    print(f"message-level citation recall@{_NEAREST}       {citation_recall(prepared):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
