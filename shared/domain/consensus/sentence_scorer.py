"""Sums the fitted weights of a sentence's features; what many sentences share is summed once."""

from functools import lru_cache
from itertools import chain

from shared.domain.consensus.own_sentences import OwnSentence
from shared.domain.consensus.sentence_features import (
    PAIRS,
    Amounts,
    FeatureReader,
    Place,
    features_of_amounts,
    features_of_place,
)
from shared.domain.consensus.sentence_weights import WEIGHTS

Row = tuple[float, float, float, float]
"""For a key point, a decision, an objection and an open issue."""
_DIGITS = 9
_NO_WEIGHT = (0.0, 0.0, 0.0, 0.0)
_PARTNERS = frozenset(other for pairs in PAIRS.values() for _, other in pairs)
_AMOUNTS = features_of_amounts(0, 0, 0, 0, 1).keys()
_WITH_AMOUNT = {
    one: [(name, other) for name, other in pairs if other in _AMOUNTS] for one, pairs in PAIRS.items()
}
_WITH_AMOUNT = {one: pairs for one, pairs in _WITH_AMOUNT.items() if pairs}


class SentenceScorer:
    def __init__(self, reader: FeatureReader) -> None:
        self._reader = reader
        self._of_mail: dict[int, tuple[Row, _Weights]] = {}

    def scores(self, sentence: OwnSentence) -> Row:
        shared = self._reader.shared(sentence)
        # The same dict for all sentences of a mail that answer the same: the reader keeps it.
        found = self._of_mail.get(id(shared))
        if found is None:
            found = self._of_mail[id(shared)] = _of_mail(shared)
        base, weights = found
        place, flags, amounts = self._reader.own(sentence)
        rows = [base, weights.of_place(place), _of_amounts(amounts), *map(weights.__getitem__, flags)]
        rows += [_of_pairs(one, amounts) for one in flags if one in _WITH_AMOUNT]
        point, decision, objection, issue = _total(rows)
        # Features come in no fixed order, and the last digit of a sum depends on it: two runs must agree.
        return (
            round(point, _DIGITS),
            round(decision, _DIGITS),
            round(objection, _DIGITS),
            round(issue, _DIGITS),
        )


class _Weights(dict[str, Row]):
    """What a sentence's features weigh in a mail that has `partners`, together with these."""

    def __init__(self, partners: frozenset[str]) -> None:
        super().__init__()
        self._partners = partners
        self._places: dict[Place, Row] = {}

    def __missing__(self, name: str) -> Row:
        together = (pair for pair, other in PAIRS.get(name, ()) if other in self._partners)
        row = self[name] = _total([WEIGHTS.get(one, _NO_WEIGHT) for one in chain((name,), together)])
        return row

    def of_place(self, place: Place) -> Row:
        row = self._places.get(place)
        if row is None:
            names = features_of_place(*place)
            row = self._places[place] = _total([_NO_WEIGHT, *map(self.__getitem__, names)])
        return row


def _of_mail(shared: dict[str, float]) -> tuple[Row, _Weights]:
    """What the mail's own features weigh, and the weights of its sentences'."""
    rows = [WEIGHTS["bias"], *(WEIGHTS.get(name, _NO_WEIGHT) for name in shared)]
    return _total(rows), _weights(_PARTNERS.intersection(shared))


@lru_cache(maxsize=256)
def _weights(partners: frozenset[str]) -> _Weights:
    return _Weights(partners)


@lru_cache(maxsize=4_096)
def _of_amounts(amounts: Amounts) -> Row:
    return _total(
        [
            _times(WEIGHTS.get(name, _NO_WEIGHT), value)
            for name, value in features_of_amounts(*amounts).items()
        ]
    )


@lru_cache(maxsize=4_096)
def _of_pairs(one: str, amounts: Amounts) -> Row:
    values = features_of_amounts(*amounts)
    return _total(
        [_times(WEIGHTS.get(name, _NO_WEIGHT), values.get(other, 0.0)) for name, other in _WITH_AMOUNT[one]]
    )


def _times(row: Row, value: float) -> Row:
    return row[0] * value, row[1] * value, row[2] * value, row[3] * value


def _total(rows: list[Row]) -> Row:
    # Spelled out: this is the innermost loop of the reader.
    point = decision = objection = issue = 0.0
    for for_point, for_decision, for_objection, for_issue in rows:
        point += for_point
        decision += for_decision
        objection += for_objection
        issue += for_issue
    return point, decision, objection, issue
