"""Convert labels to the answer of a perfect reader: a chat model that agrees with the labels sends this."""

from collections.abc import Iterable
from typing import Any

from evaluation.consensus_corpus import LabelledThread
from shared.model_reading.numbered import person_number
from shared.models.values import Fate
from shared.reading.linked_thread import LinkedThread

_FATES = {"resolved": Fate.ANSWERED, "outstanding": Fate.OUTSTANDING, "unclear": Fate.UNCLEAR}


def answer_of(labelled: LabelledThread, thread: LinkedThread) -> dict[str, Any]:
    """Return the label in the schema of a chat model's answer."""
    label = labelled.label
    numbers = {mail.mail.message_id.strip("<>"): mail.number + 1 for mail in thread.mails}
    evidence = _quotes(label["outcome_evidence"], numbers)
    return {
        "genre": label["genre"],
        "propositions": _propositions(label, numbers),
        "prevailed": 0,
        "outcome": {"kind": label["outcome"], "text": label["outcome_text"], "evidence": evidence},
        "has_consensus": label["has_consensus"],
        "positions": [
            {
                "person": f"p{person_number(thread, thread.mails[numbers[position['message_id']] - 1])}",
                "stance": position["stance"],
                "explicit": bool(position.get("explicit", True)),
                "mail": numbers[position["message_id"]],
                "quote": position["quote"],
            }
            for position in label["positions"]
        ],
        "objections": [
            {**quote, "fate": _FATES[objection["status"]].value, "settled": None}
            for objection, quote in zip(
                label["objections"], _quotes(label["objections"], numbers), strict=True
            )
        ],
        "decisions": _quotes(label["decisions"], numbers),
        "open_issues": _quotes(label["open_issues"], numbers),
        "key_points": _quotes(label["key_points"], numbers),
        "summary": [{"text": label["summary"], "evidence": _quotes(label["key_points"], numbers)}],
    }


def _quotes(entries: Iterable[dict[str, Any]], numbers: dict[str, int]) -> list[dict[str, Any]]:
    return [{"mail": numbers[entry["message_id"]], "quote": entry["quote"]} for entry in entries]


def _propositions(label: dict[str, Any], numbers: dict[str, int]) -> list[dict[str, Any]]:
    """Return the proposals. Labels name the message, and the words are those of the proposer's position."""
    proposals = [position for position in label["positions"] if position["stance"] == "proposer"]
    found = next(
        (position for position in proposals if position["message_id"] == label["proposition_message_id"]),
        None,
    )
    return [{"mail": numbers[found["message_id"]], "quote": found["quote"]}] if found else []
