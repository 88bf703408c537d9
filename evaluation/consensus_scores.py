"""Compare predictions with labeled threads: the figures of the labels' own `score.py`, computed by our code.

A prediction names its thread by `thread` or `root_message_id`. A missing field counts as no claim.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Any

Prediction = dict[str, Any]
Label = dict[str, Any]

_COARSE = {
    "accepted": "settled", "revised": "settled", "rejected": "settled", "answered": "settled",
    "contested": "open", "unresolved": "open", "unanswered": "open", "informational": "nothing",
}  # fmt: skip
_COUNTED = ("support", "oppose")
_BY_MESSAGE = {"objections": "obj", "decisions": "dec", "open_issues": "iss"}
_SHOWN = ("points", "decisions", "objections", "open_issues", "positions")
_SAME_SENTENCE = 0.5
_RATES = {
    "has_consensus": "c", "positions": "pos", "support": "sup", "oppose": "opp",
    "objections (message)": "obj", "decisions (message)": "dec", "open issues (message)": "iss",
}  # fmt: skip


def overlap(one: str, other: str) -> float:
    """Return the share of words that two quotes have in common."""
    mine, theirs = (Counter(re.findall(r"\w+", text.lower())) for text in (one, other))
    return 2 * (mine & theirs).total() / max(1, mine.total() + theirs.total())


def score_threads(labels: Sequence[Label], predictions: Iterable[Prediction]) -> list[Counter[str]]:
    """Count the matches of predictions and labels, thread by thread."""
    by_thread: dict[str, Prediction] = {}
    by_root: dict[str, Prediction] = {}
    for prediction in predictions:
        if prediction.get("thread"):
            by_thread[prediction["thread"]] = prediction
        if prediction.get("root_message_id"):
            by_root[prediction["root_message_id"].strip("<>")] = prediction
    return [_score_thread(label, _prediction(label, by_thread, by_root)) for label in labels]


def _prediction(label: Label, by_thread: dict[str, Prediction], by_root: dict[str, Prediction]) -> Prediction:
    found = by_thread.get(label["thread"])
    return found or next((by_root[id_] for id_ in label["message_ids"] if id_ in by_root), {})


def _score_thread(label: Label, prediction: Prediction) -> Counter[str]:
    row: Counter[str] = Counter(threads=1, found=int(bool(prediction)))
    row.update(_kinds(label, prediction))
    row.update(_positions(label, prediction))
    for field, short in _BY_MESSAGE.items():
        gold = {entry["message_id"] for entry in label[field]}
        predicted = {entry["message_id"].strip("<>") for entry in prediction.get(field, [])}
        row.update(
            {f"{short}_tp": len(gold & predicted), f"{short}_p": len(predicted), f"{short}_g": len(gold)}
        )
    row.update(_key_points(label, prediction))
    return row


def _kinds(label: Label, prediction: Prediction) -> dict[str, int]:
    genre, outcome = prediction.get("genre"), prediction.get("outcome")
    agreed = bool(prediction.get("has_consensus"))
    return {
        "genre": genre == label["genre"],
        "outcome": outcome == label["outcome"],
        "genre_said": bool(genre),
        "outcome_said": bool(outcome),
        "coarse": _COARSE.get(outcome or "") == _COARSE[label["outcome"]],
        "ctype": prediction.get("consensus_type") == label["consensus_type"],
        "c_tp": bool(label["has_consensus"]) and agreed,
        "c_p": agreed,
        "c_g": bool(label["has_consensus"]),
    }


def _positions(label: Label, prediction: Prediction) -> dict[str, int]:
    gold = {
        position["person"].lower(): position["stance"]
        for position in label["positions"]
        if position["stance"] != "proposer"
    }
    proposers = {
        position["person"].lower() for position in label["positions"] if position["stance"] == "proposer"
    }
    predicted = {
        position["person"].lower(): position["stance"]
        for position in prediction.get("positions", [])
        if position["stance"] in _COUNTED
    }
    row = {
        "pos_p": len(predicted),
        "pos_g": sum(stance != "mixed" for stance in gold.values()),
        "pos_tp": sum(gold.get(person) == stance for person, stance in predicted.items()),
        "inverted": sum(
            gold.get(person, "mixed") not in {stance, "mixed"} for person, stance in predicted.items()
        ),
        "proposer_counted": sum(person in proposers for person in predicted),
        "invented": sum(person not in gold and person not in proposers for person in predicted),
    }
    for stance in _COUNTED:
        short = stance[:3]
        row[f"{short}_p"] = sum(other == stance for other in predicted.values())
        row[f"{short}_g"] = sum(other == stance for other in gold.values())
        row[f"{short}_tp"] = sum(other == stance == gold.get(person) for person, other in predicted.items())
    return row


def _key_points(label: Label, prediction: Prediction) -> dict[str, int]:
    shown = [entry for field in _SHOWN for entry in prediction.get(field, []) if entry.get("quote")]
    wanted = label["key_points"] + label["outcome_evidence"]
    by_message: dict[str, list[str]] = {}
    for entry in shown:
        by_message.setdefault(entry.get("message_id", "").strip("<>"), []).append(entry["quote"])
    return {
        "key_g": len(wanted),
        "key_m": sum(entry["message_id"] in by_message for entry in wanted),
        "key_s": sum(
            any(
                overlap(quote, entry["quote"]) >= _SAME_SENTENCE
                for quote in by_message.get(entry["message_id"], ())
            )
            for entry in wanted
        ),
        "shown": len(shown),
    }


def figures(rows: Sequence[Counter[str]]) -> dict[str, Any]:
    """Return the figures of many threads, by the names that `score.py` gives them."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    count = max(1, total["threads"])
    result: dict[str, Any] = {
        "threads": total["threads"],
        "found": total["found"] / count,
        "genre accuracy": total["genre"] / count,
        "outcome accuracy": total["outcome"] / count,
        "outcome settled/open/nothing accuracy": total["coarse"] / count,
        "consensus_type accuracy": total["ctype"] / count,
        "genre accuracy where said": total["genre"] / max(1, total["genre_said"]),
        "genre said": total["genre_said"] / count,
        "outcome accuracy where said": total["outcome"] / max(1, total["outcome_said"]),
        "outcome said": total["outcome_said"] / count,
    }
    result |= {name: _rates(total, short) for name, short in _RATES.items()}
    result |= {
        "positions inverted": total["inverted"],
        "positions invented": total["invented"],
        "proposer counted": total["proposer_counted"],
        "key points: message cited": total["key_m"] / max(1, total["key_g"]),
        "key points: sentence shown": total["key_s"] / max(1, total["key_g"]),
        "sentences shown a thread": total["shown"] / count,
    }
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in result.items()}


def _rates(total: Counter[str], short: str) -> dict[str, float | int]:
    right, predicted, true = total[f"{short}_tp"], total[f"{short}_p"], total[f"{short}_g"]
    precision = right / predicted if predicted else 1.0
    recall = right / true if true else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "F1": round(f1, 3),
        "P": round(precision, 3),
        "R": round(recall, 3),
        "said": predicted,
        "true": true,
    }


def wilson(right: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share. It is also right for small counts."""
    if not of:
        return 0.0, 1.0
    share = right / of
    centre = share + z * z / (2 * of)
    spread = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
