"""Full-text matching with BM25, as in Lucene.

A query is compiled for the searched fields: each word becomes the terms that the field's analyzer returns. A
word that every analyzer drops as stop words is ignored. The scores of fields and terms are added.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localcloud.search.analysis import ANALYZERS
from localcloud.search.columns import Mask
from localcloud.search.fields import Field
from localcloud.search.query_syntax import Everything, Group, Negation, Node, Text
from localcloud.search.view import Part, View

Scores = NDArray[np.float64]
K1, B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A term, or a phrase: terms with their distances from the first term."""

    field: str
    terms: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class PrefixMatch:
    field: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Without:
    operand: "Compiled"


@dataclass(frozen=True, slots=True)
class Combined:
    operation: str
    operands: "tuple[Compiled, ...]"


Compiled = TermMatch | PrefixMatch | Everything | Without | Combined


def compile_query(node: Node | None, fields: list[Field], *, match_all: bool) -> Compiled | None:
    if isinstance(node, Everything):
        return node
    if isinstance(node, Negation):
        operand = compile_query(node.operand, fields, match_all=match_all)
        return None if operand is None else Without(operand)
    if isinstance(node, Group):
        compiled = (compile_query(operand, fields, match_all=match_all) for operand in node.operands)
        return _combined(node.operation, [item for item in compiled if item is not None])
    if node is None:
        return None
    of_fields = (_leaf(node, field, match_all=match_all) for field in fields)
    return _combined("or", [item for item in of_fields if item is not None])


def count_terms(query: Compiled | None) -> int:
    """Return the cost of a query. An analyzer can return many terms for one word."""
    if isinstance(query, TermMatch):
        return len(query.terms)
    if isinstance(query, Combined):
        return sum(count_terms(operand) for operand in query.operands)
    return count_terms(query.operand) if isinstance(query, Without) else 1


def _combined(operation: str, operands: list[Compiled]) -> Compiled | None:
    if len(operands) <= 1:
        return operands[0] if operands else None
    return Combined(operation, tuple(operands))


def _leaf(node: Text, field: Field, *, match_all: bool) -> Compiled | None:
    analyzer = ANALYZERS[field.analyzer]
    if node.kind == "prefix":
        return PrefixMatch(field.name, node.text.lower())  # a prefix is not analyzed
    terms = [(position, term) for position, term in enumerate(analyzer.terms(node.text)) if term]
    if not terms:
        return None
    if node.kind == "phrase":
        first = terms[0][0]
        return TermMatch(field.name, tuple((position - first, term) for position, term in terms))
    of_terms: list[Compiled] = [TermMatch(field.name, ((0, term),)) for _, term in terms]
    return _combined("and" if match_all else "or", of_terms)


def leaves(query: Compiled | None) -> Iterator[TermMatch | PrefixMatch]:
    """Yield the terms that a highlight can mark, without excluded terms."""
    if isinstance(query, TermMatch | PrefixMatch):
        yield query
    elif isinstance(query, Combined):
        for operand in query.operands:
            yield from leaves(operand)


class Scorer:
    """Evaluates compiled queries over a view, with statistics of all live documents."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._totals: dict[str, tuple[int, int]] = {}
        self._idf: dict[TermMatch, float] = {}

    def evaluate(self, query: Compiled, part: Part) -> tuple[Mask, Scores]:
        """Return the matching rows of a part, including dead rows, with their scores."""
        if isinstance(query, TermMatch):
            return self._term(query, part)
        if isinstance(query, Combined):
            return self._combination(query, part)
        rows = part.segment.rows
        if isinstance(query, PrefixMatch):
            mask = np.zeros(rows, dtype=np.bool_)
            postings = part.segment.postings.get(query.field)
            if postings is not None:
                mask[postings.rows_with(query.prefix)] = True
            return mask, mask.astype(np.float64)
        if isinstance(query, Everything):
            mask = np.ones(rows, dtype=np.bool_)
        else:
            mask = ~self.evaluate(query.operand, part)[0]
        return mask, mask.astype(np.float64)

    def _combination(self, query: Combined, part: Part) -> tuple[Mask, Scores]:
        if not query.operands:  # only stop words, which no document matches
            return np.zeros(part.segment.rows, dtype=np.bool_), np.zeros(part.segment.rows)
        mask, scores = self.evaluate(query.operands[0], part)
        for operand in query.operands[1:]:
            more_mask, more_scores = self.evaluate(operand, part)
            scores += more_scores
            if query.operation == "and":
                mask &= more_mask
            else:
                mask |= more_mask
        if query.operation == "and":
            scores[~mask] = 0.0
        return mask, scores

    def _term(self, query: TermMatch, part: Part) -> tuple[Mask, Scores]:
        mask = np.zeros(part.segment.rows, dtype=np.bool_)
        scores = np.zeros(part.segment.rows)
        postings = part.segment.postings.get(query.field)
        if postings is not None:
            rows, frequencies = _occurrences(query, part)
            documents, terms = self._field_totals(query.field)
            average = terms / documents if documents else 1.0
            norms = K1 * (1 - B + B * postings.lengths[rows] / average)
            scores[rows] = self._inverse_frequency(query) * frequencies / (frequencies + norms)
            mask[rows] = True
        return mask, scores

    def _field_totals(self, field: str) -> tuple[int, int]:
        if field not in self._totals:
            totals = [
                part.segment.postings[field].totals(part.live)
                for part in self._view.parts
                if field in part.segment.postings
            ]
            self._totals[field] = (sum(rows for rows, _ in totals), sum(terms for _, terms in totals))
        return self._totals[field]

    def _inverse_frequency(self, query: TermMatch) -> float:
        """Return the inverse document frequency. For a phrase, it is the sum over its terms, as in Lucene."""
        if query not in self._idf:
            documents, _ = self._field_totals(query.field)
            self._idf[query] = 0.0
            for _, term in query.terms:
                with_term = self._live_rows(TermMatch(query.field, ((0, term),)))
                self._idf[query] += math.log(1 + (documents - with_term + 0.5) / (with_term + 0.5))
        return self._idf[query]

    def _live_rows(self, query: TermMatch) -> int:
        return sum(
            int(np.count_nonzero(part.live[_occurrences(query, part)[0]]))
            for part in self._view.parts
            if query.field in part.segment.postings
        )


def _occurrences(query: TermMatch, part: Part) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    postings = part.segment.postings[query.field]
    if len(query.terms) == 1:
        return postings.frequencies(query.terms[0][1])
    return postings.phrase(list(query.terms))
