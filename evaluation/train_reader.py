"""Fit the reader's sentence weights: `python -m evaluation.train_reader [--write]`.

Fits four heads (key points, decisions, objections, open issues) over the features of `sentence_scores`, by
logistic regression with a ridge, on the training folds. Prints the figures of cross-validation by thread.
With `--write` the weights go into `shared/reading/sentence_weights.py`.
"""

import argparse
import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.consensus_corpus import LabelledThread, read_corpus
from evaluation.consensus_folds import is_unread
from evaluation.consensus_scores import overlap
from evaluation.data import data_folder
from evaluation.logistic import fit
from shared.reading.linked_thread import LinkedThread
from shared.reading.proposal import find_proposal, read_genre
from shared.reading.sentence_scores import MOST_MAILS, FeatureReader, Head, candidates_of, may_be

_FOLDERS = ("consensus", "calls")
_MODULE = Path(__file__).resolve().parents[1] / "shared/reading/sentence_weights.py"
_LABELS = {
    Head.POINT: ("key_points", "outcome_evidence"),
    Head.DECISION: ("decisions",),
    Head.OBJECTION: ("objections",),
    Head.OPEN_ISSUE: ("open_issues",),
}
_SAME = 0.5
_RIDGES = (100.0, 300.0, 1000.0, 3000.0)
_NEARLY, _FLAT = 0.015, 0.03
_ONLY_FOR_ISSUES = frozenset({"unanswered", "asks, unanswered"})
"""Other heads leave these out: they gained in cross-validation and lost on unseen threads."""
_ONLY_FOR_OBJECTIONS = frozenset(
    {
        "approves elsewhere",
        "asks of a patch",
        "promised after",
        "to a patch",
        "under a quote of a patch",
        "wishes",
        "wishes for a patch",
    }
)
"""Features that separate a review's objections from its questions. Other heads gained nothing from them."""
_TRAINING_FOLDS = 8
_QUANTILES = np.linspace(0.7, 0.995, 60)


@dataclass
class _Sentences:
    """All sentences of the training folds, as rows."""

    names: list[str]
    features: NDArray[np.float64]
    labels: dict[Head, NDArray[np.bool_]]
    candidates: dict[Head, NDArray[np.bool_]]
    threads: NDArray[np.int64]
    messages: list[str]
    gold_messages: dict[Head, list[set[str]]]
    folds: NDArray[np.int64]


def _gather(threads: list[LabelledThread]) -> _Sentences:
    rows: list[dict[str, float]] = []
    labels: dict[Head, list[bool]] = {head: [] for head in Head}
    candidates: dict[Head, list[bool]] = {head: [] for head in Head}
    numbers: list[int] = []
    messages: list[str] = []
    for number, thread in enumerate(threads):
        linked = LinkedThread(thread.mails, thread.profile)
        proposal = find_proposal(linked)
        reader = FeatureReader(linked, proposal, read_genre(linked, proposal).kind)
        for sentence in candidates_of(linked):
            message = linked.mail_of(sentence).mail.message_id.strip("<>")
            rows.append(reader.features(sentence))
            numbers.append(number)
            messages.append(message)
            for head in Head:
                labels[head].append(_is_labelled(thread.label, head, message, sentence.text))
                candidates[head].append(may_be(head, sentence, linked, proposal))
    names = sorted({name for row in rows for name in row})
    return _Sentences(
        names=names,
        features=np.array([[row.get(name, 0.0) for name in names] for row in rows]),
        labels={head: np.array(values) for head, values in labels.items()},
        candidates={head: np.array(values) for head, values in candidates.items()},
        threads=np.array(numbers),
        messages=messages,
        gold_messages={
            head: [
                {entry["message_id"] for field in _LABELS[head] for entry in thread.label[field]}
                for thread in threads
            ]
            for head in Head
        },
        folds=np.array([_training_fold(threads[number].label["thread"]) for number in numbers]),
    )


def _training_fold(thread: str) -> int:
    return int(hashlib.sha256(f"training {thread}".encode()).hexdigest(), 16) % _TRAINING_FOLDS


def _is_labelled(label: dict[str, Any], head: Head, message: str, text: str) -> bool:
    return any(
        entry["message_id"] == message and overlap(entry["quote"], text) >= _SAME
        for field in _LABELS[head]
        for entry in label[field]
    )


def _held_out(data: _Sentences, head: Head, ridge: float) -> NDArray[np.float64]:
    """Score each sentence with weights that have not seen its thread."""
    scores = np.zeros(len(data.threads))
    for fold in range(_TRAINING_FOLDS):
        own = data.folds == fold
        if own.any():
            fitted = fit(data.features[~own], data.labels[head][~own], ridge)
            scores[own] = data.features[own] @ fitted.weights + fitted.bias
    return scores


def _message_f1(data: _Sentences, head: Head, scores: NDArray[np.float64], threshold: float) -> float:
    right = predicted = 0
    gold = sum(len(messages) for messages in data.gold_messages[head])
    for thread in range(len(data.gold_messages[head])):
        best: dict[str, float] = {}
        for row in np.flatnonzero((data.threads == thread) & data.candidates[head] & (scores > threshold)):
            best[data.messages[row]] = max(best.get(data.messages[row], -np.inf), float(scores[row]))
        chosen = sorted(best, key=lambda message: -best[message])[: MOST_MAILS[head]]
        right += len(data.gold_messages[head][thread].intersection(chosen))
        predicted += len(chosen)
    return 2 * right / (predicted + gold) if predicted + gold else 0.0


def _best_threshold(
    head: Head, scores: NDArray[np.float64], f1: Callable[[float], float]
) -> tuple[float, float]:
    """Return the middle of the nearly best thresholds, because a sharp best threshold does not carry over.

    For objections and open issues return the highest: recall hardly falls, and precision rises.
    """
    candidates = np.unique(np.quantile(scores, _QUANTILES))
    values = np.array([f1(float(candidate)) for candidate in candidates])
    good = candidates[values >= values.max() - _FLAT]
    chosen = np.median(good) if head is Head.DECISION else good.max()
    return float(chosen), float(values.max())


def _point_share(data: _Sentences, scores: NDArray[np.float64], shown: int = 12) -> float:
    """Return the share of labeled key sentences among the best `shown` of each thread."""
    found = total = 0
    for thread in range(len(data.gold_messages[Head.POINT])):
        rows = np.flatnonzero(data.threads == thread)
        best = rows[np.argsort(-scores[rows])][:shown]
        found += int(data.labels[Head.POINT][best].sum())
        total += int(data.labels[Head.POINT][rows].sum())
    return found / max(1, total)


def _train(data: _Sentences, head: Head) -> tuple[dict[str, float], float, float]:
    """Return the weights with the bias, the threshold and the cross-validated figure."""
    tried = []
    for ridge in _RIDGES:
        scores = _held_out(data, head, ridge)
        if head is Head.POINT:
            threshold, figure = 0.0, _point_share(data, scores)
        else:
            threshold, figure = _best_threshold(head, scores, partial(_message_f1, data, head, scores))
        tried.append((ridge, threshold, figure))
    # Take the strongest ridge that is nearly best. Weaker ridges win by chance and carry over worse.
    enough = max(figure for _, _, figure in tried) - _NEARLY
    best_ridge, best_threshold, best_figure = [trial for trial in tried if trial[2] >= enough][-1]
    fitted = fit(data.features, data.labels[head], best_ridge)
    weights = {name: round(float(weight), 2) for name, weight in zip(data.names, fitted.weights, strict=True)}
    print(f"{head.value:12} cross-validated {best_figure:.3f}  ridge {best_ridge:g}")
    return {"bias": round(fitted.bias, 2)} | weights, round(best_threshold, 2), best_figure


def _for(head: Head, data: _Sentences) -> _Sentences:
    """Return the data without the features of other heads."""
    left_out = frozenset() if head is Head.OPEN_ISSUE else _ONLY_FOR_ISSUES
    if head is not Head.OBJECTION:
        left_out |= _ONLY_FOR_OBJECTIONS
    kept = [column for column, name in enumerate(data.names) if name not in left_out]
    return replace(data, names=[data.names[column] for column in kept], features=data.features[:, kept])


def _module(weights: dict[Head, dict[str, float]], thresholds: dict[Head, float]) -> str:
    names = ["bias", *sorted(set().union(*weights.values()) - {"bias"})]
    rows = [
        f'    "{name}": ({", ".join(str(weights[head].get(name, 0.0)) for head in Head)}),' for name in names
    ]
    cuts = [f'    "{head.value}": {value},' for head, value in thresholds.items() if head is not Head.POINT]
    return "\n".join(
        [
            '"""Weights of the sentence heads, stored by `python -m evaluation.train_reader --write`."""',
            "",
            "# feature: (key point, decision, objection, open issue)",
            "WEIGHTS: dict[str, tuple[float, float, float, float]] = {",
            *rows,
            "}",
            "",
            "# From this score on a sentence counts: where cross-validation gave the best F1 by message.",
            "THRESHOLDS: dict[str, float] = {",
            *cuts,
            "}",
            "",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.train_reader", description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the weights in the reader")
    parser.add_argument(
        "--labels", type=Path, nargs="*", default=[], help="further folders of labelled threads, read whole"
    )
    options = parser.parse_args(arguments)
    threads = [
        thread
        for folder in _FOLDERS
        for thread in read_corpus(data_folder() / folder)
        if not is_unread(thread.label["thread"])
    ]
    threads += [thread for folder in options.labels for thread in read_corpus(folder)]
    data = _gather(threads)
    print(f"{len(threads)} threads, {len(data.threads)} sentences, {len(data.names)} features")
    weights, thresholds = {}, {}
    for head in Head:
        weights[head], thresholds[head], _ = _train(_for(head, data), head)
    if options.write:
        _MODULE.write_text(_module(weights, thresholds), encoding="utf-8")
        print(f"written: {_MODULE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
