"""Score the reader on labeled threads: `python -m evaluation.consensus`.

Runs a folder's mboxes through the mail parser and the reader, as the pipeline does. Prints how often the
reader was right, by list, by rule and by tier, with 95 % intervals. Without `--labels` it reads the corpora
of the data folder, scores the training folds and the held-out folds separately, and compares them with
`evaluation/floors.json`. With `--labels FOLDER` it reads any folder of the same layout, without floors.
`--predictions FILE` saves the predictions.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.consensus_corpus import CorpusError, LabelledThread, read_corpus
from evaluation.consensus_folds import is_unread
from evaluation.consensus_scores import figures, score_threads, wilson
from evaluation.data import MissingDataError, corpus_files
from evaluation.tiers import print_tiers
from shared.models.values import SentenceCitation, ThreadReading, Tier
from shared.reading.reader import read_thread

_FLOORS = Path(__file__).with_name("floors.json")
_COUNTED = {"support", "oppose"}


@dataclass(frozen=True)
class ScoredThread:
    source: str
    thread: str
    row: Counter[str]


def prediction_of(thread: str, reading: ThreadReading) -> dict[str, Any]:
    """Return the reader's claims in the format of the labels. Absent claims are left out."""
    stated = [position for position in reading.positions if position.tier is Tier.SAID]
    shown = {_place(position.citation) for position in stated}
    return {
        "thread": thread,
        "genre": reading.genre.kind.value if reading.genre.tier is Tier.SAID else None,
        "outcome": reading.outcome.kind.value if reading.outcome.tier is Tier.SAID else None,
        "outcome_text": reading.outcome.sentence,
        "outcome_rule": reading.outcome.rule,
        "names_a_person": reading.outcome.authority is not None and reading.outcome.tier is Tier.SAID,
        "has_consensus": reading.has_consensus,
        "consensus_type": reading.consensus_type,
        "basis": reading.basis.value,
        "positions": [
            {
                "person": position.person,
                "stance": position.stance.value,
                "rule": position.rule,
                **_quote(position.citation),
            }
            for position in stated
        ],
        "objections": _once((finding.citation for finding in reading.objections), shown),
        "decisions": _once((finding.citation for finding in reading.decisions), shown),
        "open_issues": _once(reading.open_issues, shown),
        "points": _once((*reading.key_points, *reading.outcome.evidence), shown),
    }


def _place(citation: SentenceCitation) -> tuple[str, int]:
    return citation.message_id, citation.start


def _quote(citation: SentenceCitation) -> dict[str, str]:
    return {"message_id": citation.message_id.strip("<>"), "quote": citation.quote}


def _once(citations: Iterable[SentenceCitation], shown: set[tuple[str, int]]) -> list[dict[str, str]]:
    """Return each citation. If its sentence was shown before, the citation names its message only."""
    found = []
    for citation in citations:
        quote = _quote(citation)
        if _place(citation) in shown:
            del quote["quote"]
        shown.add(_place(citation))
        found.append(quote)
    return found


def score_corpus(
    threads: Sequence[LabelledThread], predictions: Sequence[dict[str, Any]]
) -> list[ScoredThread]:
    labels = [thread.label for thread in threads]
    rows = score_threads(labels, predictions)
    by_thread = {prediction["thread"]: prediction for prediction in predictions}
    for label, row in zip(labels, rows, strict=True):
        prediction = by_thread.get(label["thread"], {})
        names = bool(prediction.get("names_a_person"))
        row.update(named=names, named_right=names and prediction.get("outcome") == label["outcome"])
    return [
        ScoredThread(label.get("source", ""), label["thread"], row)
        for label, row in zip(labels, rows, strict=True)
    ]


def _read_all(folder: Path) -> tuple[list[LabelledThread], list[ThreadReading], list[dict[str, Any]]]:
    threads = read_corpus(folder)
    readings = [read_thread(thread.mails, thread.profile) for thread in threads]
    predictions = [
        prediction_of(thread.label["thread"], reading)
        for thread, reading in zip(threads, readings, strict=True)
    ]
    return threads, readings, predictions


def _total(scored: Iterable[ScoredThread]) -> Counter[str]:
    total: Counter[str] = Counter()
    for result in scored:
        total.update(result.row)
    return total


_MEASURES: tuple[tuple[str, str, str], ...] = (
    ("genre where said", "genre", "genre_said"),
    ("outcome where said", "outcome", "outcome_said"),
    ("outcome naming a person", "named_right", "named"),
    ("has_consensus precision", "c_tp", "c_p"),
    ("has_consensus recall", "c_tp", "c_g"),
    ("positions precision", "pos_tp", "pos_p"),
    ("positions recall", "pos_tp", "pos_g"),
    ("decisions precision", "dec_tp", "dec_p"),
    ("decisions recall", "dec_tp", "dec_g"),
    ("objections precision", "obj_tp", "obj_p"),
    ("objections recall", "obj_tp", "obj_g"),
    ("key points shown", "key_s", "key_g"),
)


def print_table(title: str, scored: Sequence[ScoredThread]) -> None:
    print(f"\n## {title}: {len(scored)} threads")
    sources = sorted({result.source for result in scored})
    for source in [*sources, "all"] if len(sources) > 1 else ["all"]:
        total = _total(result for result in scored if source in {"all", result.source})
        print(
            f"{source}: {total['threads']} threads, {total['shown'] / max(1, total['threads']):.1f} "
            f"sentences shown each"
        )
        for name, right, of in _MEASURES:
            low, high = wilson(total[right], total[of])
            share = total[right] / total[of] if total[of] else 0.0
            print(f"   {name:26} {share:.2f} [{low:.2f}, {high:.2f}]  {total[right]} of {total[of]}")
        wrong = (("inverted", "inverted"), ("proposer counted", "proposer_counted"), ("invented", "invented"))
        print("   " + ", ".join(f"{name} {total[key]}" for name, key in wrong))


def _print_rules(threads: Sequence[LabelledThread], predictions: Sequence[dict[str, Any]]) -> None:
    """Print the precision of each rule. This table decides which rules make claims."""
    right: Counter[str] = Counter()
    stated: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    ended_right: Counter[str] = Counter()
    for thread, prediction in zip(threads, predictions, strict=True):
        if prediction["outcome"]:
            ended[prediction["outcome_rule"]] += 1
            ended_right[prediction["outcome_rule"]] += prediction["outcome"] == thread.label["outcome"]
        gold = {position["person"].lower(): position["stance"] for position in thread.label["positions"]}
        for position in prediction["positions"]:
            if position["stance"] in _COUNTED:
                stated[position["rule"]] += 1
                right[position["rule"]] += gold.get(position["person"]) == position["stance"]
    print(
        "\npositions said, by rule: "
        + ", ".join(f"{rule} {right[rule]}/{stated[rule]}" for rule in sorted(stated))
    )
    print(
        "outcomes said, by rule: "
        + ", ".join(f"{rule} {ended_right[rule]}/{ended[rule]}" for rule in sorted(ended))
    )


def below_floors(result: dict[str, Any], floors: dict[str, float]) -> list[str]:
    """Return the figures below their floor. `positions P` is the precision of positions."""
    problems = []
    for name, floor in floors.items():
        base, _, part = name.rpartition(" ")
        value = result[name] if name in result else result[base][part]
        is_bad = value > floor if name in {"positions inverted", "proposer counted"} else value < floor
        if is_bad:
            problems.append(f"{name} is {value}, its bound is {floor}")
    return problems


def _run_folder(folder: Path, predictions_file: Path | None) -> int:
    threads, readings, predictions = _read_all(folder)
    if predictions_file is not None:
        predictions_file.write_text(json.dumps(predictions, indent=1, ensure_ascii=False), encoding="utf-8")
    scored = score_corpus(threads, predictions)
    print_table(str(folder), scored)
    _print_rules(threads, predictions)
    print_tiers(threads, readings)
    print(json.dumps(figures([result.row for result in scored]), indent=1))
    return 0


def _run_corpora() -> int:
    floors = json.loads(_FLOORS.read_text(encoding="utf-8")) if _FLOORS.exists() else {}
    problems: list[str] = []
    for labels in corpus_files("c*/labels.json"):
        name = labels.parent.name
        threads, readings, predictions = _read_all(labels.parent)
        scored = score_corpus(threads, predictions)
        parts: dict[str, Callable[[ScoredThread], bool]] = {
            "read": lambda result: not is_unread(result.thread),
            "unread": lambda result: is_unread(result.thread),
        }
        for part, belongs in parts.items():
            chosen = [result for result in scored if belongs(result)]
            print_table(f"{name}, {part} folds", chosen)
            numbers = [number for number, result in enumerate(scored) if belongs(result)]
            part_of = [threads[number] for number in numbers]
            _print_rules(part_of, [predictions[number] for number in numbers])
            print_tiers(part_of, [readings[number] for number in numbers])
            found = below_floors(figures([result.row for result in chosen]), floors.get(f"{name} {part}", {}))
            problems += [f"{name}, {part} folds: {problem}" for problem in found]
    for problem in problems:
        print(f"below the floor: {problem}", file=sys.stderr)
    return 1 if problems else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluation.consensus", description=__doc__)
    parser.add_argument("--labels", type=Path, help="a folder with mboxes, labels.json and roles.json")
    parser.add_argument("--predictions", type=Path, help="write what was said to this file")
    options = parser.parse_args(arguments)
    try:
        return _run_folder(options.labels, options.predictions) if options.labels else _run_corpora()
    except (CorpusError, MissingDataError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
