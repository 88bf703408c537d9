"""Execution of a search: match, rank, fuse, sort, select a page, and format."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localcloud.search.columns import Mask, Rows
from localcloud.search.errors import bad_request
from localcloud.search.facets import count_facet
from localcloud.search.fields import Field
from localcloud.search.filters import Filter, Textual, with_matches
from localcloud.search.highlight import highlights
from localcloud.search.query_syntax import parse_simple
from localcloud.search.request import MAX_PAGE, PAGE, SCORE, OrderBy, SearchQuery
from localcloud.search.schema import Schema
from localcloud.search.scoring import Combined, Compiled, Scorer, compile_query, count_terms
from localcloud.search.values import project
from localcloud.search.vectors import nearest, reciprocal_rank_fusion
from localcloud.search.view import Part, View

# The maximum number of text results in a fusion.
TEXT_RECALL = 1000
MAX_TERMS = 1024
_NOTHING = Combined("or", ())
Fetch = Callable[[list[int]], list[dict[str, Any] | None]]


@dataclass(frozen=True, slots=True)
class _Hits:
    """Matching rows with scores, and masks of all matches.

    `ranked` means best first, otherwise in row order.
    """

    rows: Rows
    scores: NDArray[np.float64]
    masks: list[Mask]
    ranked: bool


def run_search(query: SearchQuery, view: View, schema: Schema, fetch: Fetch) -> dict[str, Any]:
    compiled = _compiled(query)
    kept = filter_masks(query.filter, view, schema)
    if query.vectors:
        hits = _vector_hits(query, compiled, view, kept)
    else:
        hits = _Hits(*_matched(compiled, view, kept), ranked=compiled is None)
    page, more = _page(query, len(hits.rows))
    rows, scores = in_order(hits.rows, hits.scores, query.order_by, view, page.stop, ranked=hits.ranked)
    body: dict[str, Any] = {}
    if query.count:
        body["@odata.count"] = sum(int(np.count_nonzero(mask)) for mask in hits.masks)
    if query.facets:
        body["@search.facets"] = {facet.name: count_facet(facet, view, hits.masks) for facet in query.facets}
    if more:
        body["@search.nextPageParameters"] = more
    documents = fetch(view.rowids(rows[page]))
    body["value"] = [
        _shown(document, float(score), query, compiled, schema)
        for document, score in zip(documents, scores[page], strict=True)
        if document is not None
    ]
    return body


def _compiled(query: SearchQuery) -> Compiled | None:
    """Return the compiled text, or None if the text is empty or `*`."""
    if query.text.strip() in ("", "*"):
        return None
    return compile_text(query.text, query.fields, match_all=query.match_all)


def compile_text(text: str, fields: list[Field], *, match_all: bool) -> Compiled:
    compiled = compile_query(parse_simple(text, match_all=match_all), fields, match_all=match_all)
    if count_terms(compiled) > MAX_TERMS * max(len(fields), 1):
        raise bad_request(f"The query has more than {MAX_TERMS} terms.")
    # A query of only stop words searches for terms that no document has.
    return compiled or _NOTHING


def _shown(
    document: dict[str, Any], score: float, query: SearchQuery, compiled: Compiled | None, schema: Schema
) -> dict[str, Any]:
    result: dict[str, Any] = {"@search.score": score}
    if query.highlight and compiled is not None:
        found = highlights(document, compiled, query.highlight, schema.by_name, query.tags)
        if found:
            result["@search.highlights"] = found
    return result | project(document, schema, query.select)


def filter_masks(condition: Filter | None, view: View, schema: Schema) -> list[Mask]:
    """Return the live rows that match a filter, as a mask for each part."""
    if condition is None:
        return [part.live for part in view.parts]
    scorer = Scorer(view)

    def kept(part: Part) -> Mask:
        def rows_of(textual: Textual) -> Mask:
            fields = [schema.by_name[name] for name in textual.fields] or schema.text_fields
            compiled = compile_text(textual.text, fields, match_all=textual.match_all)
            return scorer.evaluate(compiled, part)[0]

        return with_matches(condition, rows_of).mask(part.segment.frame)

    return [part.live & kept(part) for part in view.parts]


# matching and ranking


def _matched(
    compiled: Compiled | None, view: View, masks: list[Mask]
) -> tuple[Rows, NDArray[np.float64], list[Mask]]:
    if compiled is None:
        rows = _rows(view, masks)
        return rows, np.ones(len(rows)), masks
    scorer = Scorer(view)
    matched, scores = [], [np.empty(0)]
    for part, mask in zip(view.parts, masks, strict=True):
        found, part_scores = scorer.evaluate(compiled, part)
        found &= mask
        matched.append(found)
        scores.append(part_scores[found])
    return _rows(view, matched), np.concatenate(scores), matched


def _rows(view: View, masks: list[Mask]) -> Rows:
    found = [np.flatnonzero(mask) + part.base for part, mask in zip(view.parts, masks, strict=True)]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _vector_hits(query: SearchQuery, compiled: Compiled | None, view: View, kept: list[Mask]) -> _Hits:
    searched = [part.live for part in view.parts] if query.post_filter else kept
    arms: list[tuple[Rows, float]] = []
    matched = [np.zeros_like(mask) for mask in kept]
    scores = np.empty(0)
    for vector in query.vectors:
        for field in vector.fields:
            rows, scores = nearest(view, field, vector.vector, vector.k, searched)
            inside = _allowed(rows, kept)
            arms.append((rows[inside], vector.weight))
            scores = scores[inside]
            _mark(matched, rows[inside], view)
    if query.text.strip():
        text_rows, text_scores, text_masks = _matched(compiled, view, kept)
        best, _ = in_order(text_rows, text_scores, [], view, TEXT_RECALL, ranked=compiled is None)
        arms.append((best[:TEXT_RECALL], 1.0))
        matched = [mask | more for mask, more in zip(matched, text_masks, strict=True)]
    if len(arms) == 1:
        return _Hits(arms[0][0], scores, matched, ranked=True)
    rows, scores = reciprocal_rank_fusion(arms)
    return _Hits(rows, scores, matched, ranked=True)


def _allowed(rows: Rows, masks: list[Mask]) -> Mask:
    every = np.concatenate([np.empty(0, dtype=np.bool_), *masks])
    allowed: Mask = every[rows]
    return allowed


def _mark(masks: list[Mask], rows: Rows, view: View) -> None:
    for part, mask in zip(view.parts, masks, strict=True):
        here = rows[(rows >= part.base) & (rows < part.base + part.segment.rows)]
        mask[here - part.base] = True


# order and pages


def in_order(
    rows: Rows, scores: NDArray[np.float64], order: list[OrderBy], view: View, need: int, *, ranked: bool
) -> tuple[Rows, NDArray[np.float64]]:
    """Return at least the first `need` rows in the requested order.

    Ties are ordered by score, then by age.
    """
    if not order:
        if ranked:
            return rows, scores
        if need < len(rows) // 4:
            kept = scores >= np.partition(scores, len(scores) - need - 1)[len(scores) - need - 1]
            rows, scores = rows[kept], scores[kept]
        best = np.argsort(-scores, kind="stable")
        return rows[best], scores[best]
    keys: list[NDArray[Any]] = [rows, -scores]
    for clause in reversed(order):
        keys += _sort_keys(clause, rows, scores, view)
    best = np.lexsort(keys)
    return rows[best], scores[best]


def _sort_keys(clause: OrderBy, rows: Rows, scores: NDArray[np.float64], view: View) -> list[NDArray[Any]]:
    """Return sort keys, least significant first. Nulls sort first ascending and last descending."""
    sign = -1 if clause.descending else 1
    if clause.path == SCORE:
        return [sign * scores]
    column = view.column(clause.path)
    if column is None:
        return []
    # ~x reverses the order of integers without the overflow of -x.
    data = column.data[rows]
    turned = data if not clause.descending else -data if data.dtype == np.float64 else ~data
    return [turned, sign * column.valid[rows].astype(np.int8)]


def _page(query: SearchQuery, found: int) -> tuple[slice, dict[str, Any] | None]:
    """Return the page, and the parameters of the next page if the server limits the response."""
    wanted = found if query.top is None else query.top
    size = min(wanted, PAGE if query.top is None else MAX_PAGE)
    page = slice(query.skip, query.skip + size)
    if wanted <= size or page.stop >= found:
        return page, None
    following = {"skip": page.stop}
    return page, following if query.top is None else following | {"top": query.top - size}
