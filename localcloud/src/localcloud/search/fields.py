"""The fields of an index definition: validation, defaults, and their representation for the engine."""

import re
from dataclasses import dataclass
from typing import Any

from localcloud.search.analysis import ANALYZERS, DEFAULT_ANALYZER
from localcloud.search.errors import bad_request, shown, unsupported

STRING, SINGLE = "Edm.String", "Edm.Single"
SCALARS = frozenset({STRING, "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.Boolean", "Edm.DateTimeOffset"})
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
    "indexAnalyzer": "analyzers that differ between indexing and searching",
    "searchAnalyzer": "analyzers that differ between indexing and searching",
    "fields": "complex fields",
}
_FLAGS = ("searchable", "filterable", "sortable", "facetable")
_ECHOED = ("indexAnalyzer", "searchAnalyzer", "analyzer", "dimensions", "vectorSearchProfile")
_KNOWN = frozenset({"name", "type", "key", "retrievable", "stored", *_ECHOED, *_FLAGS, *_REFUSED})


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str  # the element type of a collection
    collection: bool
    retrievable: bool
    searchable: bool
    key: bool = False
    filterable: bool = False
    sortable: bool = False
    facetable: bool = False
    analyzer: str = ""
    dimensions: int = 0

    @property
    def is_vector(self) -> bool:
        return self.dimensions > 0

    @property
    def is_text(self) -> bool:
        return self.searchable and not self.is_vector

    @property
    def in_columns(self) -> bool:
        return self.filterable or self.sortable or self.facetable


def refuse_unknown(
    sent: dict[str, Any], known: frozenset[str] | set[str], refused: dict[str, str], kind: str
) -> None:
    for name, value in sent.items():
        if name not in known:
            raise bad_request(f"The property {shown(name)} does not exist on the {kind} definition.")
        if name in refused and value not in (None, [], {}, ""):
            raise unsupported(refused[name])


def as_list(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise bad_request(f"{name} must be an array.")
    return value


def as_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise bad_request(f"{name} must be an object.")
    return value


def parse_field(item: Any, profiles: set[str]) -> Field:
    item = as_object(item, "A field")
    name = item.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.startswith("azureSearch"):
        raise bad_request(
            f"Invalid field name {shown(name)}: letters, digits and underscores, starting with a letter, "
            "at most 128 characters."
        )
    refuse_unknown(item, _KNOWN, _REFUSED, f"field '{name}'")
    declared = item.get("type") if isinstance(item.get("type"), str) else shown(item.get("type"))
    match = _COLLECTION.fullmatch(str(declared))
    kind, collection = (match[1], True) if match else (str(declared), False)
    if collection and kind == SINGLE:
        return _vector_field(item, name, profiles)
    if kind not in SCALARS:
        known = ", ".join(sorted(SCALARS))
        raise unsupported(f"the type {shown(item.get('type'))} of field '{name}' (it has {known})")
    flags: dict[str, Any] = {flag: _flag(item, name, kind, flag, collection=collection) for flag in _FLAGS}
    return Field(
        name=name,
        type=kind,
        collection=collection,
        key=_boolean(item, "key", name, default=False),
        retrievable=_boolean(item, "retrievable", name, default=True),
        **flags,
        analyzer=_analyzer(item, name, searchable=flags["searchable"]),
    )


def _boolean(item: dict[str, Any], flag: str, name: str, *, default: bool) -> bool:
    value = item.get(flag)
    if value is not None and not isinstance(value, bool):
        raise bad_request(f"'{flag}' of field '{name}' must be true or false.")
    return default if value is None else value


def _flag(item: dict[str, Any], name: str, kind: str, flag: str, *, collection: bool) -> bool:
    possible = {"searchable": kind == STRING, "sortable": not collection}.get(flag, True)
    value = _boolean(item, flag, name, default=possible)
    if value and not possible:
        raise bad_request(f"Field '{name}' of type {item.get('type')} cannot be {flag}.")
    return value


def _analyzer(item: dict[str, Any], name: str, *, searchable: bool) -> str:
    analyzer = item.get("analyzer")
    if analyzer is None:
        return DEFAULT_ANALYZER
    if not isinstance(analyzer, str) or analyzer not in ANALYZERS:
        known = ", ".join(sorted(ANALYZERS))
        raise unsupported(f"the analyzer {shown(analyzer)} of field '{name}' (it has {known})")
    if not searchable:
        raise bad_request(f"Field '{name}' has an analyzer but is not searchable.")
    return analyzer


def _vector_field(item: dict[str, Any], name: str, profiles: set[str]) -> Field:
    dimensions, profile = item.get("dimensions"), item.get("vectorSearchProfile")
    if (
        not isinstance(dimensions, int)
        or isinstance(dimensions, bool)
        or not MIN_DIMENSIONS <= dimensions <= MAX_DIMENSIONS
    ):
        raise bad_request(
            f"Vector field '{name}': 'dimensions' must be from {MIN_DIMENSIONS} to {MAX_DIMENSIONS}."
        )
    if not isinstance(profile, str) or profile not in profiles:
        raise bad_request(
            f"Vector field '{name}': the profile {shown(profile)} is not in vectorSearch.profiles."
        )
    for flag in ("filterable", "sortable", "facetable", "key"):
        if _boolean(item, flag, name, default=False):
            raise bad_request(f"Vector field '{name}' cannot be {flag}.")
    if not _boolean(item, "searchable", name, default=True):
        raise bad_request(f"Vector field '{name}' must be searchable.")
    stored = _boolean(item, "stored", name, default=True)
    return Field(
        name=item["name"],
        type=SINGLE,
        collection=True,
        retrievable=stored and _boolean(item, "retrievable", name, default=True),
        searchable=True,
        dimensions=dimensions,
    )


def echo_field(field: Field, item: dict[str, Any]) -> dict[str, Any]:
    """Return the field as the service returns it: as sent, with defaults."""
    return {
        "name": field.name,
        "type": item["type"],
        **{flag: getattr(field, flag) for flag in (*_FLAGS, "retrievable", "key")},
        "stored": item.get("stored") is not False,
        **{name: item.get(name) for name in _ECHOED},
        "synonymMaps": [],
    }
