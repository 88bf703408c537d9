"""Index definitions: what may stand in one, its defaults, and what an update may change."""

import re
from typing import Any

from localcloud.search.errors import bad_request, not_allowed, shown, unsupported
from localcloud.search.fields import (
    MAX_FIELDS,
    STRING,
    Field,
    as_list,
    as_object,
    echo_field,
    parse_field,
    refuse_unknown,
)

METRICS = frozenset({"cosine", "euclidean", "dotProduct"})
HNSW_DEFAULTS: dict[str, Any] = {"metric": "cosine", "m": 4, "efConstruction": 400, "efSearch": 500}
HNSW_RANGES = {"m": (4, 10), "efConstruction": (100, 1000), "efSearch": (100, 1000)}
BM25 = "#Microsoft.Azure.Search.BM25Similarity"

MAX_NAME = 128
MAX_BM25 = 1000

_INDEX_NAME = re.compile(r"[a-z0-9](?:[-_]?[a-z0-9])+")
_EMPTY_LISTS = ("scoringProfiles", "suggesters", "analyzers", "normalizers", "tokenizers", "tokenFilters")
_REFUSED = {
    "scoringProfiles": "scoring profiles",
    "defaultScoringProfile": "scoring profiles",
    "analyzers": "custom analyzers",
    "normalizers": "custom normalizers",
    "tokenizers": "custom tokenizers",
    "tokenFilters": "custom token filters",
    "charFilters": "custom char filters",
    "encryptionKey": "customer-managed keys",
    "semantic": "semantic ranking",
    "permissionFilterOption": "permission filters",
    "purviewEnabled": "Purview",
}
_KNOWN = frozenset(
    {"name", "fields", "description", "corsOptions", "similarity", "vectorSearch", "suggesters"}
) | set(_REFUSED)


class Schema:
    """The fields of one index, by path."""

    def __init__(self, definition: dict[str, Any], fields: tuple[Field, ...]) -> None:
        self.definition = definition
        self.name: str = definition["name"]
        self.fields = fields
        self.by_path = {field.path: field for top in fields for field in top.walk()}
        self.by_name = {field.name: field for field in fields}
        self.key = next(field for field in fields if field.key)
        self.text_fields = [field for field in self.by_path.values() if field.is_text]
        self.vector_fields = [field for field in fields if field.is_vector]
        self.suggesters: dict[str, list[str]] = {
            suggester["name"]: suggester["sourceFields"] for suggester in definition["suggesters"]
        }
        similarity = definition["similarity"]
        self.k1 = 1.2 if similarity.get("k1") is None else float(similarity["k1"])
        self.b = 0.75 if similarity.get("b") is None else float(similarity["b"])


def parse_index(body: Any) -> Schema:
    """Check a definition as sent, fill in the defaults, and read its fields."""
    if not isinstance(body, dict):
        raise bad_request("The index definition must be a JSON object.")
    sent = {name: value for name, value in body.items() if not name.startswith("@odata.")}
    refuse_unknown(sent, _KNOWN, _REFUSED, "index")
    name = sent.get("name")
    check_name(name, "Index")
    description = sent.get("description")
    if description is not None and not isinstance(description, str):
        raise bad_request("'description' must be a string.")
    vector_search = _vector_search(sent.get("vectorSearch"))
    metrics = _profile_metrics(vector_search)
    items = as_list(sent.get("fields"), "fields")
    fields = tuple(parse_field(item, "", metrics, 1) for item in items)
    definition: dict[str, Any] = {
        "name": name,
        "description": description,
        "defaultScoringProfile": None,
        "fields": [echo_field(field, item) for field, item in zip(fields, items, strict=True)],
        **{empty: [] for empty in _EMPTY_LISTS},
        "charFilters": [],
        "corsOptions": _cors_options(sent.get("corsOptions")),
        "encryptionKey": None,
        "similarity": _similarity(sent.get("similarity")),
        "semantic": None,
        "vectorSearch": vector_search,
    }
    _check_fields(fields)
    definition["suggesters"] = _suggesters(sent.get("suggesters"), fields)
    return Schema(definition, fields)


def check_name(name: Any, what: str) -> None:
    if not isinstance(name, str) or len(name) > MAX_NAME or not _INDEX_NAME.fullmatch(name):
        raise bad_request(
            f"{what} name must only contain lowercase letters, digits, dashes or underscores, cannot start "
            f"or end with the latter two, nor have two of them in a row, and has 2 to 128 characters; "
            f"got {shown(name)}.",
            "InvalidName",
        )


def _check_fields(fields: tuple[Field, ...]) -> None:
    every = [field for top in fields for field in top.walk()]
    if len(every) > MAX_FIELDS:
        raise bad_request(f"An index may have at most {MAX_FIELDS} fields.")
    seen: set[str] = set()
    for field in every:
        if field.path.lower() in seen:
            raise bad_request(f"Duplicate field name '{field.path}'.")
        seen.add(field.path.lower())
    keys = [field for field in every if field.key]
    if len(keys) != 1 or "/" in keys[0].path or keys[0].type != STRING or keys[0].collection:
        raise bad_request("An index must have exactly one top-level key field, of type Edm.String.")
    if not keys[0].retrievable:
        raise bad_request(f"The key field '{keys[0].path}' must be retrievable.")


# the rest of a definition


def _similarity(sent: Any) -> dict[str, Any]:
    similarity = as_object(sent, "similarity") if sent is not None else {"@odata.type": BM25}
    if similarity.get("@odata.type") != BM25:
        raise unsupported(f"the similarity {shown(similarity.get('@odata.type'))} (it has {BM25})")
    for name, value in similarity.items():
        if name in ("k1", "b") and value is not None:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_BM25:
                raise bad_request(f"similarity.{name} must be a number from 0 up.")
        elif name not in ("@odata.type", "k1", "b"):
            raise bad_request(f"The property {shown(name)} does not exist on similarity.")
    return {"@odata.type": BM25, "k1": similarity.get("k1"), "b": similarity.get("b")}


def _cors_options(sent: Any) -> dict[str, Any] | None:
    if sent is None:
        return None
    options = as_object(sent, "corsOptions")
    origins, age = as_list(options.get("allowedOrigins"), "allowedOrigins"), options.get("maxAgeInSeconds")
    if not all(isinstance(origin, str) for origin in origins) or not isinstance(age, int | None):
        raise bad_request("corsOptions has 'allowedOrigins', an array of strings, and 'maxAgeInSeconds'.")
    return {"allowedOrigins": origins, "maxAgeInSeconds": age}


def _suggesters(sent: Any, fields: tuple[Field, ...]) -> list[dict[str, Any]]:
    by_path = {field.path: field for top in fields for field in top.walk()}
    result = []
    for item in as_list(sent, "suggesters"):
        suggester = as_object(item, "A suggester")
        name, sources = suggester.get("name"), as_list(suggester.get("sourceFields"), "sourceFields")
        if not isinstance(name, str) or not name or not sources:
            raise bad_request("A suggester needs a name and at least one source field.")
        if suggester.get("searchMode", "analyzingInfixMatching") != "analyzingInfixMatching":
            raise bad_request(f"Suggester '{name}': searchMode must be 'analyzingInfixMatching'.")
        for path in sources:
            field = by_path.get(path) if isinstance(path, str) else None
            if field is None or not field.is_text:
                raise bad_request(f"Suggester '{name}': {shown(path)} is not a searchable string field.")
        result.append({"name": name, "searchMode": "analyzingInfixMatching", "sourceFields": sources})
    if len(result) > 1:
        raise bad_request("An index may have at most one suggester.")
    return result


def _vector_search(sent: Any) -> dict[str, Any] | None:
    if sent is None:
        return None
    sent = as_object(sent, "vectorSearch")
    refused = {"vectorizers": "vectorizers", "compressions": "vector compression"}
    refuse_unknown(sent, {"algorithms", "profiles", *refused}, refused, "vectorSearch")
    algorithms = [_algorithm(item) for item in as_list(sent.get("algorithms"), "vectorSearch.algorithms")]
    names = {algorithm["name"] for algorithm in algorithms}
    profiles = []
    for item in as_list(sent.get("profiles"), "vectorSearch.profiles"):
        profile = as_object(item, "A vector profile")
        refused = {"vectorizer": "vectorizers", "compression": "vector compression"}
        refuse_unknown(profile, {"name", "algorithm", *refused}, refused, "vector profile")
        if not isinstance(profile.get("name"), str) or profile.get("algorithm") not in list(names):
            raise bad_request(
                f"The vector profile {shown(profile.get('name'))} must name one of the algorithms."
            )
        profiles.append({"name": profile["name"], "algorithm": profile["algorithm"]})
    return {"algorithms": algorithms, "profiles": profiles, "vectorizers": [], "compressions": []}


def _algorithm(item: Any) -> dict[str, Any]:
    item = as_object(item, "A vector search algorithm")
    name, kind = item.get("name"), item.get("kind")
    if not isinstance(name, str) or not name:
        raise bad_request("A vector search algorithm needs a name.")
    if kind not in ("hnsw", "exhaustiveKnn"):
        raise unsupported(f"the vector search algorithm kind {shown(kind)} (it has hnsw and exhaustiveKnn)")
    sent = as_object(item.get(f"{kind}Parameters") or {}, f"{kind}Parameters")
    defaults = HNSW_DEFAULTS if kind == "hnsw" else {"metric": "cosine"}
    parameters = defaults | {key: value for key, value in sent.items() if value is not None}
    _check_parameters(name, parameters, HNSW_RANGES if kind == "hnsw" else {})
    if not isinstance(parameters["metric"], str) or parameters["metric"] not in METRICS:
        raise unsupported(f"the metric {shown(parameters['metric'])} (it has {', '.join(sorted(METRICS))})")
    return {"name": name, "kind": kind, f"{kind}Parameters": parameters}


def _check_parameters(name: str, parameters: dict[str, Any], ranges: dict[str, tuple[int, int]]) -> None:
    for parameter, value in parameters.items():
        if parameter == "metric":
            continue
        if parameter not in ranges:
            raise bad_request(f"The algorithm '{name}' has no parameter {shown(parameter)}.")
        low, high = ranges[parameter]
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise bad_request(f"'{parameter}' of the algorithm '{name}' must be from {low} to {high}.")


def _profile_metrics(vector_search: dict[str, Any] | None) -> dict[str, str]:
    if vector_search is None:
        return {}
    by_algorithm = {
        item["name"]: item[f"{item['kind']}Parameters"]["metric"] for item in vector_search["algorithms"]
    }
    return {item["name"]: by_algorithm[item["algorithm"]] for item in vector_search["profiles"]}


# what an update may change


def check_update(old: Schema, new: Schema, *, downtime: bool) -> None:
    """An existing field keeps its shape; fields may be added, and what only concerns queries may change."""
    if (old.k1, old.b) != (new.k1, new.b) and not downtime:
        raise not_allowed(
            "The parameters of the similarity of an existing index can only be changed with "
            "allowIndexDowntime=true."
        )
    for path, field in old.by_path.items():
        changed = new.by_path.get(path)
        if changed is None or _shape(field) != _shape(changed):
            raise not_allowed(
                f"Existing field '{path}' cannot be {'removed' if changed is None else 'changed'}. "
                "Create a new index, or add a field of another name. (CannotChangeExistingField)"
            )
    added = {path for path in new.by_path if path not in old.by_path}
    for name, sources in new.suggesters.items():
        if not added.issuperset(set(sources) - set(old.suggesters.get(name, []))):
            raise not_allowed(
                f"Suggester '{name}' can only be given fields that are added in the same update."
            )


def _shape(field: Field) -> tuple[Any, ...]:
    return (
        *(field.type, field.collection, field.key, field.searchable, field.filterable, field.sortable),
        *(field.facetable, field.index_analyzer, field.dimensions, field.metric),
    )
