"""The JSON schema for a chat model's answer, and a parser that forgives errors of form.

Nothing here is trusted. `checked.py` decides what of an answer may be shown.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from shared.models.values import Fate, Genre, OutcomeKind, PositionStance

_MAX_ANSWER_CHARS = 400_000
_MAX_OBJECTS = 400
_MAX_ENTRIES = 60
_MAX_TEXT = 600
_MAX_QUOTE = 2_400
_MAX_EVIDENCE = 5
_Kind = TypeVar("_Kind", Genre, OutcomeKind, PositionStance, Fate)


@dataclass(frozen=True, slots=True)
class ClaimedQuote:
    """Words that the model attributes to a mail, by the number under which it saw the mail."""

    mail: int
    quote: str


@dataclass(frozen=True, slots=True)
class ClaimedPosition:
    person: str
    stance: PositionStance
    is_explicit: bool
    words: ClaimedQuote


@dataclass(frozen=True, slots=True)
class ClaimedObjection:
    words: ClaimedQuote
    fate: Fate
    settled: ClaimedQuote | None = None
    """The later sentence that answers, takes over or withdraws the objection."""


@dataclass(frozen=True, slots=True)
class ClaimedSentence:
    """A sentence in the model's own words, and its evidence."""

    text: str
    evidence: tuple[ClaimedQuote, ...]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    genre: Genre | None = None
    propositions: tuple[ClaimedQuote, ...] = ()
    prevailed: int = 0
    """Which of the propositions was followed, counted from 1, or 0 if none was."""
    outcome: OutcomeKind | None = None
    outcome_sentence: ClaimedSentence | None = None
    has_consensus: bool = False
    positions: tuple[ClaimedPosition, ...] = ()
    objections: tuple[ClaimedObjection, ...] = ()
    decisions: tuple[ClaimedQuote, ...] = ()
    open_issues: tuple[ClaimedQuote, ...] = ()
    key_points: tuple[ClaimedQuote, ...] = ()
    narrative: tuple[ClaimedSentence, ...] = ()

    @property
    def proposition(self) -> ClaimedQuote | None:
        """The proposition that prevailed, or the first one."""
        if not self.propositions:
            return None
        return self.propositions[self.prevailed - 1 if 0 < self.prevailed <= len(self.propositions) else 0]

    @property
    def says_nothing(self) -> bool:
        return self == ModelAnswer()


def _object(**properties: Any) -> dict[str, Any]:
    # Strict modes need every property required and no others allowed.
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _one_of(kinds: type[Genre] | type[OutcomeKind] | type[PositionStance] | type[Fate]) -> dict[str, Any]:
    return {"type": "string", "enum": [kind.value for kind in kinds]}


_QUOTE = _object(mail={"type": "integer"}, quote={"type": "string"})
_SENTENCE = _object(text={"type": "string"}, evidence=_list(_QUOTE))
ANSWER_SCHEMA: dict[str, Any] = _object(
    genre=_one_of(Genre),
    propositions=_list(_QUOTE),
    prevailed={"type": "integer"},
    outcome=_object(kind=_one_of(OutcomeKind), text={"type": "string"}, evidence=_list(_QUOTE)),
    has_consensus={"type": "boolean"},
    positions=_list(
        _object(
            person={"type": "string"},
            stance=_one_of(PositionStance),
            explicit={"type": "boolean"},
            mail={"type": "integer"},
            quote={"type": "string"},
        )
    ),
    objections=_list(
        _object(
            mail={"type": "integer"},
            quote={"type": "string"},
            fate=_one_of(Fate),
            settled={"anyOf": [_QUOTE, {"type": "null"}]},
        )
    ),
    decisions=_list(_QUOTE),
    open_issues=_list(_QUOTE),
    key_points=_list(_QUOTE),
    summary=_list(_SENTENCE),
)
_EXPECTED = frozenset(ANSWER_SCHEMA["properties"])


def parse_answer(text: str) -> ModelAnswer:
    """Return what can be read of the answer, even inside fences, after chatter or cut off."""
    raw = _answer_object(text[:_MAX_ANSWER_CHARS])
    outcome = _dictionary(raw.get("outcome"))
    return ModelAnswer(
        genre=_kind(Genre, raw.get("genre")),
        propositions=_quotes(raw.get("propositions")) or _quotes([raw.get("proposition")]),
        prevailed=_number(raw.get("prevailed")) or 0,
        outcome=_kind(OutcomeKind, outcome.get("kind", raw.get("outcome"))),
        outcome_sentence=_sentence(outcome),
        has_consensus=raw.get("has_consensus") is True,
        positions=tuple(_positions(raw.get("positions"))),
        objections=tuple(_objections(raw.get("objections"))),
        decisions=_quotes(raw.get("decisions")),
        open_issues=_quotes(raw.get("open_issues")),
        key_points=_quotes(raw.get("key_points")),
        narrative=tuple(found for entry in _entries(raw.get("summary")) if (found := _sentence(entry))),
    )


def _answer_object(text: str) -> dict[str, Any]:
    """Return the object with most of the expected fields, or the fields of a truncated object."""
    best: dict[str, Any] = {}
    for value in _objects(text):
        if len(_EXPECTED & value.keys()) > len(_EXPECTED & best.keys()):
            best = value
    return best or _cut_off(text)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder, position = json.JSONDecoder(), 0
    for _ in range(_MAX_OBJECTS):
        start = text.find("{", position)
        if start < 0:
            return
        try:
            value, position = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            position = start + 1
            continue
        if isinstance(value, dict):
            yield value


def _cut_off(text: str) -> dict[str, Any]:
    """Return the complete fields and list entries of an answer that ends in the middle."""
    decoder, found = json.JSONDecoder(), dict[str, Any]()
    for match in re.finditer(rf'"({"|".join(sorted(_EXPECTED))})"\s*:\s*', text):
        try:
            value, _ = decoder.raw_decode(text, match.end())
        except (json.JSONDecodeError, RecursionError):
            value = (
                list(_objects(text[match.end() :])) if text[match.end() : match.end() + 1] == "[" else None
            )
        found.setdefault(match[1], value)
    return found


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _entries(value: Any) -> list[Any]:
    return value[:_MAX_ENTRIES] if isinstance(value, list) else []


def _kind(kinds: type[_Kind], value: Any) -> _Kind | None:
    try:
        return kinds(value.strip().lower() if isinstance(value, str) else value)
    except ValueError:
        return None


def _text(value: Any, longest: int) -> str:
    return " ".join(value.split())[:longest] if isinstance(value, str) else ""


def _number(value: Any) -> int | None:
    if isinstance(value, str) and (digits := re.fullmatch(r"\W{0,2}m?(\d{1,6})\W{0,2}", value.strip())):
        return int(digits[1])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _quote(value: Any) -> ClaimedQuote | None:
    entry = _dictionary(value)
    number, words = _number(entry.get("mail")), _text(entry.get("quote"), _MAX_QUOTE)
    return ClaimedQuote(number, words) if number is not None and words else None


def _quotes(value: Any) -> tuple[ClaimedQuote, ...]:
    return tuple(found for entry in _entries(value) if (found := _quote(entry)))


def _sentence(value: Any) -> ClaimedSentence | None:
    entry = _dictionary(value)
    text = _text(entry.get("text"), _MAX_TEXT)
    evidence = _quotes(entry.get("evidence"))[:_MAX_EVIDENCE]
    return ClaimedSentence(text, evidence) if text or evidence else None


def _positions(value: Any) -> Iterator[ClaimedPosition]:
    for item in _entries(value):
        entry = _dictionary(item)
        stance, words = _kind(PositionStance, entry.get("stance")), _quote(entry)
        if stance is not None and words is not None:
            yield ClaimedPosition(
                _text(entry.get("person"), 200), stance, entry.get("explicit") is True, words
            )


def _objections(value: Any) -> Iterator[ClaimedObjection]:
    for item in _entries(value):
        entry = _dictionary(item)
        if words := _quote(entry):
            fate = _kind(Fate, entry.get("fate")) or Fate.UNCLEAR
            yield ClaimedObjection(words, fate, _quote(entry.get("settled")))
