"""A dead letter as the operator's page shows it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from shared.upkeep.deadletters.diagnosis import Diagnosed

LETTERS_LOOKED_AT = 5000
SHOWN_LETTERS = 20
BROKERS = "deadletter"


@dataclass(frozen=True)
class ShownLetter:
    diagnosed: Diagnosed
    body: str
    properties: list[tuple[str, str]]


def shown_letters(letters: Iterable[Diagnosed]) -> list[ShownLetter]:
    """The oldest."""
    return [_shown(diagnosed) for diagnosed in islice(letters, SHOWN_LETTERS)]


def _shown(diagnosed: Diagnosed) -> ShownLetter:
    letter = diagnosed.letter
    data = letter.copy.data()
    properties = [
        (name, str(value))
        for name, value in sorted(letter.properties.items())
        if not name.lower().startswith(BROKERS)
    ]
    return ShownLetter(diagnosed, _readable(data), properties)


def _readable(data: bytes) -> str:
    """JSON with its lines; anything else as the text that it may be."""
    try:
        return json.dumps(json.loads(data), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")
