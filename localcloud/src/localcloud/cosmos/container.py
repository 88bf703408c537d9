"""A container: its definition, its partition-key ranges and the sequence numbers of its writes."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from localcloud.cosmos.errors import bad_request, not_implemented
from localcloud.cosmos.keys import KeyDefinition, RangeMap, parse_path
from localcloud.cosmos.rids import raw_rid
from localcloud.cosmos.store import Store

MAX_TTL = 2**31 - 1


_UNSUPPORTED = ("computedProperties", "vectorEmbeddingPolicy", "fullTextPolicy")
_UNSUPPORTED_INDEXES = ("vectorIndexes", "fullTextIndexes")


def validate_definition(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the validated definition with the service's defaults."""
    _refuse(definition, _UNSUPPORTED)
    KeyDefinition.parse(definition.get("partitionKey"))
    if definition.get("defaultTtl") is not None:
        check_ttl(definition["defaultTtl"], "defaultTtl")
    indexing = _indexing_policy(definition.get("indexingPolicy") or {})
    unique = definition.get("uniqueKeyPolicy") or {"uniqueKeys": []}
    _unique_paths(unique)
    _explicit_paths(indexing)
    partition_key = {"kind": "Hash", "version": 2, **definition["partitionKey"]}
    return {
        **definition,
        "indexingPolicy": indexing,
        "partitionKey": partition_key,
        "uniqueKeyPolicy": unique,
        "conflictResolutionPolicy": definition.get("conflictResolutionPolicy")
        or {"mode": "LastWriterWins", "conflictResolutionPath": "/_ts", "conflictResolutionProcedure": ""},
        "geospatialConfig": definition.get("geospatialConfig") or {"type": "Geography"},
    }


def _refuse(definition: dict[str, Any], names: tuple[str, ...]) -> None:
    """Refuse unsupported features that would change the results of queries."""
    for name in names:
        if definition.get(name):
            raise not_implemented(f"{name!r} of a container")


def _indexing_policy(policy: Any) -> dict[str, Any]:
    """Return the policy as the service echoes it.

    The local Cosmos DB indexes each path when a query first uses it.
    """
    if not isinstance(policy, dict):
        raise bad_request("indexingPolicy is an object")
    _refuse(policy, _UNSUPPORTED_INDEXES)
    mode = str(policy.get("indexingMode", "consistent")).lower()
    if mode not in ("consistent", "lazy", "none"):
        raise bad_request(f"indexingMode is consistent or none, not {mode!r}")
    if mode == "none":
        return {**policy, "indexingMode": mode, "automatic": policy.get("automatic", False)}
    included, excluded = (policy.get(name) or [] for name in ("includedPaths", "excludedPaths"))
    for paths in (included, excluded):
        if not isinstance(paths, list) or not all(
            isinstance(path, dict) and "path" in path for path in paths
        ):
            raise bad_request("the paths of an indexing policy are a list of {'path': ...}")
    if not any(path["path"] in ("/*", '/"_etag"/?') for path in excluded):
        excluded = [*excluded, {"path": '/"_etag"/?'}]
    if not any(path["path"] == "/*" for path in [*included, *excluded]):
        included = included or [{"path": "/*"}]
    paths = [{name: value for name, value in path.items() if name != "indexes"} for path in included]
    kept = {"automatic": True, **policy, "indexingMode": mode}
    return {**kept, "includedPaths": paths, "excludedPaths": excluded}


def check_ttl(ttl: Any, name: str) -> None:
    if isinstance(ttl, bool) or not isinstance(ttl, int) or not (ttl == -1 or 0 < ttl <= MAX_TTL):
        raise bad_request(f"{name} is -1 or a number of seconds from 1 to {MAX_TTL}, not {ttl!r}")


def _unique_paths(policy: Any) -> list[list[str]]:
    keys = policy.get("uniqueKeys") if isinstance(policy, dict) else None
    if not isinstance(keys, list) or not all(isinstance(key, dict) and key.get("paths") for key in keys):
        raise bad_request("uniqueKeyPolicy holds uniqueKeys, a list of {'paths': [...]}")
    return [[_json_path(path) for path in key["paths"]] for key in keys]


def _explicit_paths(policy: dict[str, Any]) -> frozenset[str]:
    """Return the properties that the policy includes by name.

    ORDER BY on them also returns documents without them.
    """
    paths = (str(path["path"]) for path in policy.get("includedPaths", ()))
    names = (path.removesuffix("/?").removesuffix("/*") for path in paths)
    return frozenset(_json_path(name) for name in names if name.strip("/"))


def _json_path(path: str) -> str:
    names = parse_path(path)
    if any(set(name) & set("\"'\\") or not name.isprintable() for name in names):
        raise bad_request(f"the unique key path {path!r} has a character that is not supported here")
    return "$" + "".join(f'."{name}"' for name in names)


@dataclass
class Container:
    number: int
    database: str
    database_rid: str
    body: dict[str, Any]
    ranges: RangeMap
    lsns: list[int] = field(default_factory=list)  # the last write of each range
    lsn: int = 0  # the last write of the container
    next_k: int = 1
    batch_lsn: int | None = None  # set while a batch runs: all its writes have one sequence number
    indexes: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.table = f"d{self.number}"
        self.replica_table = f"replica.{self.table}"
        self.rid: str = self.body["_rid"]
        self.raw_rid = raw_rid(self.rid)
        self.lsns = self.lsns or [0] * len(self.ranges)
        self.define(self.body)

    def define(self, body: dict[str, Any]) -> None:
        self.body = body
        self.id: str = body["id"]
        self.key = KeyDefinition.parse(body["partitionKey"])
        self.default_ttl: int | None = body.get("defaultTtl")
        self.unique_keys = _unique_paths(body["uniqueKeyPolicy"])
        self.explicit_paths = _explicit_paths(body["indexingPolicy"])
        self.self_link = f"dbs/{self.database_rid}/colls/{self.rid}/"
        # The Python and JavaScript clients store their session tokens under these two headers.
        self.owner_headers = (
            ("x-ms-alt-content-path", f"dbs/{quote(self.database)}/colls/{quote(self.id)}"),
            ("x-ms-content-path", self.rid),
        )

    @property
    def next_lsn(self) -> int:
        """The sequence number of the next write.

        The container has one sequence, which each range sees in part.
        """
        return self.batch_lsn or self.lsn + 1

    def advance(self, range_number: int) -> int:
        self.lsn = self.lsns[range_number] = self.next_lsn
        return self.lsn

    def take_k(self) -> int:
        self.next_k += 1
        return self.next_k - 1

    def load(self, store: Store) -> None:
        """Restore the sequence numbers after a restart."""
        sql = f"SELECT range, max(lsn), max(k) FROM {self.table} GROUP BY range"
        marks = store.rows("SELECT range, lsn, k FROM marks WHERE container = ?", (self.number,))
        for number, lsn, k in [*store.rows(sql, ()), *marks]:
            self.lsns[number] = max(self.lsns[number], lsn)
            self.next_k = max(self.next_k, k + 1)
        self.lsn = max(self.lsns)

    def mark(self, store: Store, range_number: int) -> None:
        """Store the range's sequence number, because the row that carries it is about to be deleted."""
        store.execute(
            "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)",
            (self.number, range_number, self.lsns[range_number], self.next_k - 1),
        )

    def expiry(self, document: dict[str, Any], ts: int) -> int | None:
        """Return when the document expires. Its own ttl counts only if the container has a default ttl."""
        if self.default_ttl is None:
            return None
        ttl = document.get("ttl")
        ttl = self.default_ttl if ttl is None else ttl
        return None if ttl == -1 else ts + ttl
