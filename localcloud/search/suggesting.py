"""Suggestions and autocompletion: the last word of the text is a prefix, and the others are whole words."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from localcloud.search import request as parameters
from localcloud.search.analysis import ANALYZERS, DEFAULT_ANALYZER
from localcloud.search.columns import Mask, Rows
from localcloud.search.errors import bad_request, unsupported
from localcloud.search.filters import Filter
from localcloud.search.highlight import highlight_text
from localcloud.search.projection import project
from localcloud.search.schema import Schema
from localcloud.search.scoring import Combined, Compiled, PrefixMatch, Scorer, TermMatch
from localcloud.search.searching import Fetch, filter_masks, in_order
from localcloud.search.segment import suggest_name, texts_of
from localcloud.search.view import View

MAX_TEXT = 100
MAX_TOP = 100
# How many of the best matching documents are read for completions.
SAMPLE = 1000
MODES = ("oneTerm", "twoTerms", "oneTermWithContext")

_COMMON = frozenset(
    {"search", "suggesterName", "filter", "top", "searchFields", "fuzzy", "minimumCoverage"}
    | {"highlightPreTag", "highlightPostTag"}
)
_ANALYZER = ANALYZERS[DEFAULT_ANALYZER]


@dataclass(frozen=True, slots=True)
class _Request:
    words: list[str]  # all but the last
    prefix: str
    sources: list[str]
    filter: Filter | None
    top: int
    coverage: bool


def suggest(body: dict[str, Any], view: View, schema: Schema, fetch: Fetch) -> dict[str, Any]:
    request = _parse(body, schema, _COMMON | {"orderby", "select"})
    select = parameters.select_of(body, schema) or [schema.key.name]
    tags = parameters.highlight_tags(body) if body.get("highlightPreTag") is not None else ("", "")
    rows = _matching(request, view, schema, parameters.order_by(body, schema), request.top)
    value = []
    for document in fetch(view.rowids(rows)):
        if document is not None:
            text = _suggested(document, request, tags)
            value.append({"@search.text": text} | project(document, schema, select))
    return ({"@search.coverage": 100.0} if request.coverage else {}) | {"value": value}


def autocomplete(body: dict[str, Any], view: View, schema: Schema, fetch: Fetch) -> dict[str, Any]:
    request = _parse(body, schema, _COMMON | {"autocompleteMode"})
    mode = body.get("autocompleteMode") or "oneTerm"
    if mode not in MODES:
        raise bad_request(f"'autocompleteMode' must be one of {', '.join(MODES)}.")
    rows = _matching(request, view, schema, [], SAMPLE, last_only=mode == "oneTerm")
    found: Counter[str] = Counter()
    for document in fetch(view.rowids(rows)):
        for path in request.sources if document is not None else ():
            for text in texts_of(document or {}, path):
                found.update(set(_completions(_ANALYZER.terms(text), request, mode)))
    best = sorted(found, key=lambda text: (-found[text], text))[: request.top]
    before = request.words[:-1] if mode == "oneTermWithContext" else request.words
    value = [{"text": text, "queryPlusText": " ".join([*before, text])} for text in best]
    return ({"@search.coverage": 100.0} if request.coverage else {}) | {"value": value}


def _parse(body: dict[str, Any], schema: Schema, known: frozenset[str]) -> _Request:
    parameters.check_names(body, known, {})
    name = parameters.text_of(body, "suggesterName")
    if name not in schema.suggesters:
        raise bad_request(f"The suggester '{name:.200}' is not defined in the index '{schema.name}'.")
    if body.get("fuzzy"):
        raise unsupported("fuzzy suggestions")
    text = parameters.text_of(body, "search")
    if not 1 <= len(text) <= MAX_TEXT:
        raise bad_request(f"'search' must have 1 to {MAX_TEXT} characters.")
    sources = parameters.string_list(body, "searchFields") or schema.suggesters[name]
    for path in sources:
        if path not in schema.suggesters[name]:
            raise bad_request(f"The field '{path:.200}' in 'searchFields' is not in the suggester '{name}'.")
    words = _ANALYZER.terms(text)
    return _Request(
        words[:-1],
        words[-1] if words else "",
        sources,
        parameters.filter_of(body, schema),
        parameters.whole_number(body, "top", 1, MAX_TOP) or 5,
        parameters.coverage_asked(body),
    )


def _query(path: str, request: _Request, *, last_only: bool) -> Compiled:
    name = suggest_name(path)
    prefix = PrefixMatch(name, request.prefix)
    words = () if last_only else tuple(TermMatch(name, ((0, word),)) for word in request.words)
    return Combined("and", (*words, prefix))


def _matching(
    request: _Request,
    view: View,
    schema: Schema,
    order: list[parameters.OrderBy],
    most: int,
    *,
    last_only: bool = False,
) -> Rows:
    """The best rows in which the words stand in one of the fields."""
    if not request.prefix:
        return np.empty(0, dtype=np.int64)
    scorer = Scorer(view, schema)
    rows, scores = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    query = Combined("or", tuple(_query(path, request, last_only=last_only) for path in request.sources))
    masks: list[Mask] = filter_masks(request.filter, view, schema)
    for part, mask in zip(view.parts, masks, strict=True):
        found, part_scores = scorer.evaluate(query, part)
        kept = np.flatnonzero(found & mask)
        rows.append(kept + part.base)
        scores.append(part_scores[kept])
    ordered, _ = in_order(np.concatenate(rows), np.concatenate(scores), order, view, most, ranked=False)
    return ordered[:most]


def _suggested(document: dict[str, Any], request: _Request, tags: tuple[str, str]) -> str:
    """The first text that matches, its matches between the tags."""
    for path in request.sources:
        for text in texts_of(document, path):
            terms = _ANALYZER.terms(text)
            if not set(request.words) <= set(terms) or not any(t.startswith(request.prefix) for t in terms):
                continue
            matchers: list[TermMatch | PrefixMatch] = [PrefixMatch(path, request.prefix)]
            matchers += [TermMatch(path, ((0, word),)) for word in request.words]
            return highlight_text(text, _ANALYZER, matchers, tags) or text
    return next((text for path in request.sources for text in texts_of(document, path)), "")


def _completions(terms: list[str], request: _Request, mode: str) -> list[str]:
    found = []
    for at, term in enumerate(terms):
        if not term.startswith(request.prefix):
            continue
        if mode == "oneTerm":
            found.append(term)
        elif mode == "twoTerms" and at + 1 < len(terms):
            found.append(f"{term} {terms[at + 1]}")
        elif mode == "oneTermWithContext" and at and request.words and terms[at - 1] == request.words[-1]:
            found.append(f"{terms[at - 1]} {term}")
    return found
