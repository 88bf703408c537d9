"""Dialogue acts against LEDA: `python -m evaluation.leda [file ...] [--test file ...]`.

Cross-validated: weights and thresholds are learned on the other threads only. With `--test`, a model is
trained on all of the first files and scored on the others. Nothing trained is stored.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.acts import Act, ActModel, FittedAct
from evaluation.cues import cue_vector
from evaluation.data import MissingDataError, corpus_files
from evaluation.leda_corpus import LedaSegment, read_leda, thread_numbers
from evaluation.logistic import fit
from evaluation.scores import Score, best_threshold, score

_INNER_FOLDS = 5


def features_of(segments: list[LedaSegment]) -> NDArray[np.float64]:
    return np.array([cue_vector(segment.text) for segment in segments])


def labels_of(segments: list[LedaSegment], act: Act) -> NDArray[np.bool_]:
    return np.array([act.value in segment.labels for segment in segments])


def cross_validated(features: NDArray[np.float64], segments: list[LedaSegment], act: Act) -> Score:
    """Leave one thread out; the threshold, too, is found without it."""
    labels, threads = labels_of(segments, act), thread_numbers(segments)
    found = np.zeros(len(labels), dtype=bool)
    for thread in np.unique(threads):
        rest, own = threads != thread, threads == thread
        inner = _held_out_probabilities(features[rest], labels[rest], threads[rest])
        threshold = best_threshold(labels[rest], inner)
        found[own] = fit(features[rest], labels[rest]).probabilities(features[own]) >= threshold
    return score(labels, found)


def _held_out_probabilities(
    features: NDArray[np.float64], labels: NDArray[np.bool_], threads: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Probabilities for each segment from a model that has not seen its thread."""
    order = {thread: number % _INNER_FOLDS for number, thread in enumerate(np.unique(threads))}
    folds = np.array([order[thread] for thread in threads])
    probabilities = np.zeros(len(labels))
    for fold in range(_INNER_FOLDS):
        own = folds == fold
        if own.any():
            probabilities[own] = fit(features[~own], labels[~own]).probabilities(features[own])
    return probabilities


def trained(segments: list[LedaSegment]) -> ActModel:
    """A model of all these segments."""
    features, threads = features_of(segments), thread_numbers(segments)
    acts = {}
    for act in Act:
        labels = labels_of(segments, act)
        threshold = best_threshold(labels, _held_out_probabilities(features, labels, threads))
        acts[act] = FittedAct(fit(features, labels), threshold)
    return ActModel(acts)


def scored(model: ActModel, segments: list[LedaSegment]) -> dict[Act, Score]:
    found = [model.acts_of(segment.text) for segment in segments]
    return {act: score(labels_of(segments, act), np.array([act in acts for acts in found])) for act in Act}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.leda", description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="LEDA files (default: leda/*.json of the corpora)"
    )
    parser.add_argument("--test", nargs="+", type=Path, help="score these instead, after training on FILES")
    options = parser.parse_args(arguments)
    try:
        segments = read_leda(options.files or corpus_files("leda/*.json"))
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(segments)} segments in {len(np.unique(thread_numbers(segments)))} threads")
    if options.test:
        for act, found in scored(trained(segments), read_leda(options.test)).items():
            print(f"{act:14} {found}")
        return 0
    features = features_of(segments)
    for act in Act:
        print(f"{act:14} cross-validated  {cross_validated(features, segments, act)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
