"""The fields of an index definition: what may stand in one, its defaults, and its form for the engine."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from localcloud.search.analysis import ANALYZERS, DEFAULT_ANALYZER
from localcloud.search.errors import bad_request, shown, unsupported

STRING, COMPLEX, SINGLE = "Edm.String", "Edm.ComplexType", "Edm.Single"
SCALARS = frozenset({STRING, "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.Boolean", "Edm.DateTimeOffset"})
MAX_DEPTH = 10
MAX_FIELDS = 3000
MIN_DIMENSIONS, MAX_DIMENSIONS = 2, 4096

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,127}")
_COLLECTION = re.compile(r"Collection\((.+)\)")
_REFUSED = {
    "normalizer": "normalizers",
    "synonymMaps": "synonym maps",
    "vectorEncoding": "vector encodings",
    "permissionFilter": "permission filters",
    "sensitivityLabel": "sensitivity labels",
}
_FLAGS = ("searchable", "filterable", "sortable", "facetable")
_ECHOED = ("indexAnalyzer", "searchAnalyzer", "analyzer", "dimensions", "vectorSearchProfile")
_KNOWN = frozenset({"name", "type", "key", "retrievable", "stored", "fields", *_ECHOED, *_FLAGS, *_REFUSED})


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    path: str
    type: str  # of the element, where it is a collection
    collection: bool
    retrievable: bool
    searchable: bool
    key: bool = False
    filterable: bool = False
    sortable: bool = False
    facetable: bool = False
    index_analyzer: str = ""
    search_analyzer: str = ""
    dimensions: int = 0
    metric: str = ""
    fields: tuple["Field", ...] = ()

    @property
    def is_vector(self) -> bool:
        return self.dimensions > 0

    @property
    def is_text(self) -> bool:
        return self.searchable and not self.is_vector

    @property
    def in_columns(self) -> bool:
        return self.filterable or self.sortable or self.facetable or self.type == COMPLEX

    def walk(self) -> Iterator["Field"]:
        yield self
        for child in self.fields:
            yield from child.walk()


def refuse_unknown(
    sent: dict[str, Any], known: frozenset[str] | set[str], refused: dict[str, str], what: str
) -> None:
    for name, value in sent.items():
        if name not in known:
            raise bad_request(f"The property {shown(name)} does not exist on the {what} definition.")
        if name in refused and value not in (None, [], {}, ""):
            raise unsupported(refused[name])


def as_list(value: Any, what: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad_request(f"{what} must be an array.")
    return value


def as_object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise bad_request(f"{what} must be an object.")
    return value


def parse_field(
    item: Any, parent: str, metrics: dict[str, str], depth: int, *, repeated: bool = False
) -> Field:
    item = as_object(item, "A field")
    name = item.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith("azureSearch"):
        raise bad_request(
            f"Invalid field name {shown(name)}: letters, digits and underscores, starting with a letter, "
            "at most 128 characters."
        )
    path = f"{parent}/{name}" if parent else name
    if depth > MAX_DEPTH:
        raise bad_request(f"Field '{path}' is nested more than {MAX_DEPTH} levels deep.")
    refuse_unknown(item, _KNOWN, _REFUSED, f"field '{path}'")
    declared = item.get("type") if isinstance(item.get("type"), str) else shown(item.get("type"))
    match = _COLLECTION.fullmatch(str(declared))
    kind, collection = (match[1], True) if match else (str(declared), False)
    if collection and kind == SINGLE:
        return _vector_field(item, path, metrics)
    repeated = repeated or collection
    children = _children(item, path, kind, metrics, depth, repeated=repeated)
    flags: dict[str, Any] = {flag: _flag(item, path, kind, flag, repeated=repeated) for flag in _FLAGS}
    analyzers = _field_analyzers(item, path, searchable=flags["searchable"])
    return Field(
        name=name,
        path=path,
        type=kind,
        collection=collection,
        key=_boolean(item, "key", path, default=False),
        retrievable=_boolean(item, "retrievable", path, default=True),
        **flags,
        index_analyzer=analyzers[0],
        search_analyzer=analyzers[1],
        fields=children,
    )


def _children(
    item: dict[str, Any], path: str, kind: str, metrics: dict[str, str], depth: int, *, repeated: bool
) -> tuple[Field, ...]:
    sent = as_list(item.get("fields"), f"fields of '{path}'")
    if kind == COMPLEX:
        if not sent:
            raise bad_request(f"Complex field '{path}' must have at least one sub-field.")
        return tuple(parse_field(child, path, metrics, depth + 1, repeated=repeated) for child in sent)
    if kind not in SCALARS:
        known = ", ".join(sorted(SCALARS | {COMPLEX}))
        raise unsupported(f"the type {shown(item.get('type'))} of field '{path}' (it has {known})")
    if sent:
        raise bad_request(f"Field '{path}' of type {kind} cannot have sub-fields.")
    return ()


def _boolean(item: dict[str, Any], name: str, path: str, *, default: bool) -> bool:
    value = item.get(name)
    if value is not None and not isinstance(value, bool):
        raise bad_request(f"'{name}' of field '{path}' must be true or false.")
    return default if value is None else value


def _flag(item: dict[str, Any], path: str, kind: str, flag: str, *, repeated: bool) -> bool:
    possible = kind != COMPLEX
    if flag == "searchable":
        possible = kind == STRING
    elif flag == "sortable":
        possible = possible and not repeated
    value = _boolean(item, flag, path, default=possible)
    if value and not possible:
        raise bad_request(f"Field '{path}' of type {item.get('type')} cannot be {flag}.")
    return value


def _field_analyzers(item: dict[str, Any], path: str, *, searchable: bool) -> tuple[str, str]:
    both, index, search = (item.get(name) for name in ("analyzer", "indexAnalyzer", "searchAnalyzer"))
    for name in (both, index, search):
        if name is not None and (not isinstance(name, str) or name not in ANALYZERS):
            raise unsupported(
                f"the analyzer {shown(name)} of field '{path}' (it has {', '.join(sorted(ANALYZERS))})"
            )
        if name is not None and not searchable:
            raise bad_request(f"Field '{path}' has an analyzer but is not searchable.")
    if both and (index or search):
        raise bad_request(
            f"Field '{path}': 'analyzer' cannot be set with 'indexAnalyzer' or 'searchAnalyzer'."
        )
    if bool(index) != bool(search):
        raise bad_request(f"Field '{path}': 'indexAnalyzer' and 'searchAnalyzer' must be set together.")
    return index or both or DEFAULT_ANALYZER, search or both or DEFAULT_ANALYZER


def _vector_field(item: dict[str, Any], path: str, metrics: dict[str, str]) -> Field:
    dimensions, profile = item.get("dimensions"), item.get("vectorSearchProfile")
    if (
        not isinstance(dimensions, int)
        or isinstance(dimensions, bool)
        or not MIN_DIMENSIONS <= dimensions <= MAX_DIMENSIONS
    ):
        raise bad_request(
            f"Vector field '{path}': 'dimensions' must be from {MIN_DIMENSIONS} to {MAX_DIMENSIONS}."
        )
    if not isinstance(profile, str) or profile not in metrics:
        raise bad_request(
            f"Vector field '{path}': the profile {shown(profile)} is not in vectorSearch.profiles."
        )
    if "/" in path:
        raise unsupported(f"the vector field '{path}' inside a complex field")
    for flag in ("filterable", "sortable", "facetable", "key"):
        if _boolean(item, flag, path, default=False):
            raise bad_request(f"Vector field '{path}' cannot be {flag}.")
    if not _boolean(item, "searchable", path, default=True):
        raise bad_request(f"Vector field '{path}' must be searchable.")
    stored = _boolean(item, "stored", path, default=True)
    return Field(
        name=item["name"],
        path=path,
        type=SINGLE,
        collection=True,
        retrievable=stored and _boolean(item, "retrievable", path, default=True),
        searchable=True,
        dimensions=dimensions,
        metric=metrics[profile],
    )


def echo_field(field: Field, item: dict[str, Any]) -> dict[str, Any]:
    """The field as the service shows it: as sent, with the defaults filled in."""
    children = [
        echo_field(child, sent) for child, sent in zip(field.fields, item.get("fields") or [], strict=True)
    ]
    if field.type == COMPLEX:
        return {"name": field.name, "type": item["type"], "fields": children}
    return {
        "name": field.name,
        "type": item["type"],
        **{flag: getattr(field, flag) for flag in (*_FLAGS, "retrievable", "key")},
        "stored": item.get("stored") is not False,
        **{name: item.get(name) for name in _ECHOED},
        "synonymMaps": [],
    }
