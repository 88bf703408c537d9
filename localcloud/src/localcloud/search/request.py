"""The body of a search request: validation, defaults, and resolution of names against the index."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localcloud.search.errors import bad_request, invalid_expression, shown, unsupported
from localcloud.search.facets import Facet, parse_facet
from localcloud.search.fields import Field
from localcloud.search.filter_parser import parse_filter
from localcloud.search.filters import Filter
from localcloud.search.schema import Schema
from localcloud.search.values import wrong_length

PAGE = 50
MAX_PAGE = 1000
MAX_SKIP = 100_000
MAX_K = 10_000
MAX_ORDER_BY = 32
MAX_VECTOR_QUERIES = 100
SCORE = "search.score()"

_KNOWN = frozenset(
    {"search", "filter", "orderby", "select", "searchFields", "highlight", "highlightPreTag"}
    | {"highlightPostTag", "facets", "count", "top", "skip", "queryType", "searchMode", "vectorQueries"}
    | {"vectorFilterMode"}
)
_REFUSED = {
    "scoringProfile": "scoring profiles",
    "scoringParameters": "scoring profiles",
    "semanticConfiguration": "semantic ranking",
    "semanticQuery": "semantic ranking",
    "semanticErrorHandling": "semantic ranking",
    "semanticMaxWaitInMilliseconds": "semantic ranking",
    "semanticFields": "semantic ranking",
    "answers": "semantic answers",
    "captions": "semantic captions",
    "queryRewrites": "query rewriting",
    "speller": "spell correction",
    "queryLanguage": "spell correction",
    "hybridSearch": "tuning of hybrid search",
    "debug": "query debugging",
    "minimumCoverage": "a minimum coverage",
    "sessionId": "sticky sessions",
    "scoringStatistics": "scoring statistics",
}
_FILTER_MODES = ("preFilter", "postFilter", "strictPostFilter")
_VECTOR_KNOWN = frozenset({"kind", "vector", "k", "fields", "exhaustive", "weight", "oversampling"})
_HIGHLIGHT = re.compile(r"(.+?)(?:-(\d+))?")


@dataclass(frozen=True, slots=True)
class OrderBy:
    path: str  # SCORE for the score
    descending: bool


@dataclass(frozen=True, slots=True)
class VectorQuery:
    fields: tuple[Field, ...]
    vector: NDArray[np.float64]
    k: int
    weight: float


@dataclass(frozen=True, slots=True)
class SearchQuery:
    text: str
    match_all: bool
    fields: list[Field]
    filter: Filter | None
    order_by: list[OrderBy]
    select: list[str]
    top: int | None
    skip: int
    count: bool
    facets: list[Facet] = field(default_factory=list)
    highlight: dict[str, int] = field(default_factory=dict)
    tags: tuple[str, str] = ("<em>", "</em>")
    vectors: list[VectorQuery] = field(default_factory=list)
    post_filter: bool = False


def parse_search(body: dict[str, Any], schema: Schema) -> SearchQuery:
    _check_names(body)
    query_type = _choice(body, "queryType", ("simple", "full", "semantic"), "simple")
    if query_type != "simple":
        raise unsupported(f"queryType '{query_type}' (it has 'simple')")
    vectors = [] if body.get("vectorQueries") is None else body["vectorQueries"]
    if not isinstance(vectors, list) or len(vectors) > MAX_VECTOR_QUERIES:
        raise bad_request(f"'vectorQueries' must be an array of at most {MAX_VECTOR_QUERIES} queries.")
    return SearchQuery(
        text=_text_of(body, "search"),
        match_all=_choice(body, "searchMode", ("any", "all"), "any") == "all",
        fields=_search_fields(body, schema),
        filter=_filter_of(body, schema),
        order_by=_order_by(body, schema),
        select=select_of(body, schema),
        top=_whole_number(body, "top", 0, 2**31 - 1),
        skip=_whole_number(body, "skip", 0, MAX_SKIP) or 0,
        count=_flag(body, "count"),
        facets=[parse_facet(item, schema) for item in _string_list(body, "facets", separator=None)],
        highlight=_highlight(body, schema),
        tags=_highlight_tags(body),
        vectors=[_vector_query(item, schema) for item in vectors],
        post_filter=_choice(body, "vectorFilterMode", _FILTER_MODES, "preFilter") != "preFilter",
    )


def _check_names(body: dict[str, Any]) -> None:
    for name, value in body.items():
        if name in _REFUSED:
            if value not in (None, [], "", "disabled", "none"):
                raise unsupported(_REFUSED[name])
        elif name not in _KNOWN:
            raise bad_request(f"The parameter '{name:.200}' is not a search parameter.")


def _text_of(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise bad_request(f"'{name}' must be a string.")
    return value


def _whole_number(body: dict[str, Any], name: str, low: int, high: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise bad_request(f"'{name}' must be a whole number from {low} to {high}; got {shown(value)}.")
    return value


def _flag(body: dict[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise bad_request(f"'{name}' must be true or false.")
    return bool(value)


def _choice(body: dict[str, Any], name: str, choices: tuple[str, ...], default: str) -> str:
    value = body.get(name)
    if value is None:
        return default
    if value not in choices:
        raise bad_request(f"'{name}' must be one of {', '.join(choices)}; got {shown(value)}.")
    return str(value)


def _string_list(body: dict[str, Any], name: str, *, separator: str | None = ",") -> list[str]:
    """Return a list that was sent as an array or as a comma-separated string."""
    value = body.get(name)
    if isinstance(value, str):
        value = value.split(separator) if separator else [value]
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise bad_request(f"'{name}' must be an array of strings.")
    parts = (part for item in value for part in (item.split(separator) if separator else [item]))
    return [part.strip() for part in parts if part.strip()]


def _filter_of(body: dict[str, Any], schema: Schema) -> Filter | None:
    text = _text_of(body, "filter")
    return parse_filter(text, schema) if text.strip() else None


def _search_fields(body: dict[str, Any], schema: Schema) -> list[Field]:
    names = _string_list(body, "searchFields")
    for path in names:
        _known(path, schema, "searchFields")
        if not schema.by_name[path].is_text:
            raise bad_request(f"The field '{path}' in 'searchFields' is not searchable.")
    return [schema.by_name[path] for path in dict.fromkeys(names)] if names else schema.text_fields


def _known(path: str, schema: Schema, parameter: str) -> Field:
    found = schema.by_name.get(path)
    if found is None:
        raise invalid_expression(
            f"Could not find a property named '{path:.200}' on type 'search.document'.", f"${parameter}"
        )
    return found


def select_of(body: dict[str, Any], schema: Schema) -> list[str]:
    names = _string_list(body, "select")
    if "*" in names:
        return []
    for path in names:
        selected = _known(path, schema, "select")
        if not selected.retrievable:
            raise invalid_expression(f"The field '{path}' is not retrievable.", "$select")
    return names


def _order_by(body: dict[str, Any], schema: Schema) -> list[OrderBy]:
    clauses = _string_list(body, "orderby")
    if len(clauses) > MAX_ORDER_BY:
        raise bad_request(f"'orderby' may have at most {MAX_ORDER_BY} clauses.")
    return [_order_clause(clause, schema) for clause in clauses]


def _order_clause(clause: str, schema: Schema) -> OrderBy:
    path, *direction = clause.split()
    if len(direction) > 1 or (direction and direction[0] not in ("asc", "desc")):
        raise invalid_expression(f"'{clause:.200}' is not a field with asc or desc.", "$orderby")
    if path.startswith("geo."):
        raise unsupported("geography")
    if path != SCORE:
        ordered = _known(path, schema, "orderby")
        if not ordered.sortable:
            raise invalid_expression(f"The field '{path}' is not sortable.", "$orderby")
    return OrderBy(path, direction == ["desc"])


def _highlight(body: dict[str, Any], schema: Schema) -> dict[str, int]:
    result = {}
    for item in _string_list(body, "highlight"):
        match = _HIGHLIGHT.fullmatch(item)
        path, most = (match[1], match[2]) if match else (item, None)
        if not _known(path, schema, "highlight").is_text:
            raise bad_request(f"The field '{path}' in 'highlight' is not searchable.")
        result[path] = int(most[:6]) if most else 5
    return result


def _highlight_tags(body: dict[str, Any]) -> tuple[str, str]:
    pre, post = body.get("highlightPreTag"), body.get("highlightPostTag")
    if (pre is None) != (post is None):
        raise bad_request("'highlightPreTag' and 'highlightPostTag' must be set together.")
    return _text_of(body, "highlightPreTag") or "<em>", _text_of(body, "highlightPostTag") or "</em>"


# vector queries


def _vector_query(item: Any, schema: Schema) -> VectorQuery:
    if not isinstance(item, dict):
        raise bad_request("A vector query must be an object.")
    if item.get("kind") != "vector":
        raise unsupported(f"vector queries of the kind {shown(item.get('kind'))} (it has 'vector')")
    _check_vector_names(item)
    fields = tuple(_vector_field(path, schema) for path in _string_list(item, "fields"))
    if not fields:
        raise bad_request("A vector query must name at least one vector field in 'fields'.")
    vector = _query_vector(item.get("vector"))
    for searched in fields:
        if len(vector) != searched.dimensions:
            raise bad_request(wrong_length(searched, len(vector)))
    weight = item.get("weight")
    if weight is not None and (
        isinstance(weight, bool) or not isinstance(weight, int | float) or weight <= 0
    ):
        raise bad_request("'weight' of a vector query must be a positive number.")
    k = _whole_number(item, "k", 1, MAX_K)
    _flag(item, "exhaustive")
    return VectorQuery(fields, vector, PAGE if k is None else k, 1.0 if weight is None else float(weight))


def _check_vector_names(item: dict[str, Any]) -> None:
    for name, value in item.items():
        if name not in _VECTOR_KNOWN and value is not None:
            raise unsupported(f"'{name:.50}' in a vector query")
    if item.get("oversampling") is not None:
        raise bad_request("'oversampling' needs a field with compression, which this service does not have.")


def _vector_field(path: str, schema: Schema) -> Field:
    found = _known(path, schema, "vectorQueries.fields")
    if not found.is_vector:
        raise bad_request(f"The field '{path}' is not a vector field.")
    return found


def _query_vector(value: Any) -> NDArray[np.float64]:
    if not isinstance(value, list) or not {int, float}.issuperset(map(type, value)):
        raise bad_request("'vector' must be an array of numbers.")
    # The index stores vectors in single precision.
    with np.errstate(over="ignore"):
        vector = np.array(value, dtype=np.float64).astype(np.float32)
    if not np.isfinite(vector).all():
        raise bad_request("'vector' must be an array of finite numbers.")
    return vector.astype(np.float64)
