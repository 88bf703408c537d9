"""Index definitions: validation, defaults, and the changes that an update may make."""

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

METRIC = "cosine"
HNSW_DEFAULTS: dict[str, Any] = {"metric": METRIC, "m": 4, "efConstruction": 400, "efSearch": 500}
HNSW_RANGES = {"m": (4, 10), "efConstruction": (100, 1000), "efSearch": (100, 1000)}
BM25 = "#Microsoft.Azure.Search.BM25Similarity"

MAX_NAME = 128

_INDEX_NAME = re.compile(r"[a-z0-9](?:[-_]?[a-z0-9])+")
_EMPTY_LISTS = (
    *("scoringProfiles", "suggesters", "analyzers", "normalizers", "tokenizers", "tokenFilters"),
    "charFilters",
)
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
    "suggesters": "suggesters",
    "corsOptions": "cross-origin requests",
}
_KNOWN = frozenset({"name", "fields", "description", "similarity", "vectorSearch"}) | set(_REFUSED)


class Schema:
    """The fields of an index, by name."""

    def __init__(self, definition: dict[str, Any], fields: tuple[Field, ...]) -> None:
        self.definition = definition
        self.name: str = definition["name"]
        self.fields = fields
        self.by_name = {field.name: field for field in fields}
        self.key = next(field for field in fields if field.key)
        self.text_fields = [field for field in fields if field.is_text]
        self.vector_fields = [field for field in fields if field.is_vector]


def parse_index(body: Any) -> Schema:
    """Validate a definition, fill in the defaults, and parse its fields."""
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
    profiles = {profile["name"] for profile in vector_search["profiles"]} if vector_search else set()
    _check_similarity(sent.get("similarity"))
    items = as_list(sent.get("fields"), "fields")
    fields = tuple(parse_field(item, profiles) for item in items)
    definition: dict[str, Any] = {
        "name": name,
        "description": description,
        "defaultScoringProfile": None,
        "fields": [echo_field(field, item) for field, item in zip(fields, items, strict=True)],
        **{empty: [] for empty in _EMPTY_LISTS},
        "corsOptions": None,
        "encryptionKey": None,
        "similarity": {"@odata.type": BM25, "k1": None, "b": None},
        "semantic": None,
        "vectorSearch": vector_search,
    }
    _check_fields(fields)
    return Schema(definition, fields)


def check_name(name: Any, kind: str) -> None:
    if not isinstance(name, str) or len(name) > MAX_NAME or not _INDEX_NAME.fullmatch(name):
        raise bad_request(
            f"{kind} name must only contain lowercase letters, digits, dashes or underscores, cannot start "
            f"or end with the latter two, nor have two of them in a row, and has 2 to 128 characters; "
            f"got {shown(name)}.",
            "InvalidName",
        )


def _check_fields(fields: tuple[Field, ...]) -> None:
    if len(fields) > MAX_FIELDS:
        raise bad_request(f"An index may have at most {MAX_FIELDS} fields.")
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise bad_request(f"Duplicate field name '{field.name}'.")
        seen.add(field.name.lower())
    keys = [field for field in fields if field.key]
    if len(keys) != 1 or keys[0].type != STRING or keys[0].collection:
        raise bad_request("An index must have exactly one key field, of type Edm.String.")
    if not keys[0].retrievable:
        raise bad_request(f"The key field '{keys[0].name}' must be retrievable.")


# other parts of a definition


def _check_similarity(sent: Any) -> None:
    similarity = as_object(sent, "similarity") if sent is not None else {"@odata.type": BM25}
    if similarity != {"@odata.type": BM25} | {name: None for name in similarity if name in ("k1", "b")}:
        raise unsupported(f"a similarity other than {BM25}, or parameters of it")


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
    defaults = HNSW_DEFAULTS if kind == "hnsw" else {"metric": METRIC}
    parameters = defaults | {key: value for key, value in sent.items() if value is not None}
    _check_parameters(name, parameters, HNSW_RANGES if kind == "hnsw" else {})
    if parameters["metric"] != METRIC:
        raise unsupported(f"the metric {shown(parameters['metric'])} (it has {METRIC})")
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


# updates


def check_update(old: Schema, new: Schema) -> None:
    """Check an update.

    It may add fields and change query-time settings, but not the shape of existing fields.
    """
    for name, field in old.by_name.items():
        changed = new.by_name.get(name)
        if changed is None or _shape(field) != _shape(changed):
            raise not_allowed(
                f"Existing field '{name}' cannot be {'removed' if changed is None else 'changed'}. "
                "Create a new index, or add a field of another name. (CannotChangeExistingField)"
            )


def _shape(field: Field) -> tuple[Any, ...]:
    return (
        *(field.type, field.collection, field.key, field.searchable, field.filterable, field.sortable),
        *(field.facetable, field.analyzer, field.dimensions),
    )
