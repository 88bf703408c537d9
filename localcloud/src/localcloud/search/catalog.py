"""All indexes and aliases of the service, and the rules for changing them."""

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localcloud.clock import Clock
from localcloud.search.errors import SearchError, bad_request, not_allowed
from localcloud.search.index import Index
from localcloud.search.schema import Schema, check_name, check_update, parse_index
from localcloud.search.store import Store

MAX_INDEXES = 200


@dataclass(frozen=True)
class Conditions:
    """The If-Match and If-None-Match headers of a request."""

    if_match: str | None = None
    if_none_match: str | None = None

    def check(self, etag: str | None) -> None:
        """Raise 412 unless the conditions hold for this etag, or for None if the resource does not exist."""
        match, none_match = self.if_match, self.if_none_match
        refused = match is not None and (etag is None or not _matches(match, etag))
        if refused or (none_match is not None and etag is not None and _matches(none_match, etag)):
            message = "The precondition given in one of the request headers evaluated to false."
            raise SearchError(412, message, "PreconditionFailed")


def _matches(header: str, etag: str) -> bool:
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in header.split(","))
    return any(tag in ("*", etag) for tag in tags)


def _new_etag() -> str:
    return f"0x{secrets.token_hex(8).upper()}"


class Catalog:
    """The indexes and aliases. Only the writer thread changes them, and any thread may read them."""

    def __init__(self, folder: Path, clock: Clock, *, delay: float = 0.0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder / "segments"
        self._clock = clock
        self._delay = delay
        self._store = Store(folder / "search.db")
        self._indexes: dict[str, Index] = {}
        self._aliases = {name: (target, etag) for name, target, etag in self._store.aliases()}
        for number, definition, etag in self._store.indexes():
            index = self._open(number, parse_index(definition), etag)
            index.load()
            self._indexes[index.schema.name] = index

    def close(self) -> None:
        self._store.close()

    def _open(self, number: int, schema: Schema, etag: str) -> Index:
        folder = self._folder / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        return Index(
            number, schema, etag, store=self._store, folder=folder, clock=self._clock, delay=self._delay
        )

    # indexes

    def indexes(self) -> list[Index]:
        return sorted(self._indexes.values(), key=lambda index: index.schema.name)

    def index(self, name: str) -> Index:
        found = self._indexes.get(name)
        if found is None:
            raise SearchError(
                404, f"No index with the name '{name:.200}' was found in the service.", "ResourceNotFound"
            )
        return found

    def resolve(self, name: str) -> Index:
        """Return the index with this name or alias."""
        if name in self._aliases:
            return self.index(self._aliases[name][0])
        return self.index(name)

    def create_index(self, body: Any) -> Index:
        schema = parse_index(body)
        if schema.name in self._indexes or schema.name in self._aliases:
            raise SearchError(
                409,
                f"Cannot create index '{schema.name}' because it already exists.",
                "ResourceNameAlreadyInUse",
            )
        if len(self._indexes) >= MAX_INDEXES:
            raise SearchError(429, f"The service has the maximum of {MAX_INDEXES} indexes.", "QuotaExceeded")
        etag = _new_etag()
        number = self._store.add_index(schema.name, schema.definition, etag)
        index = self._indexes[schema.name] = self._open(number, schema, etag)
        return index

    def put_index(self, name: str, body: Any, conditions: Conditions) -> tuple[Index, bool]:
        """Create or update an index. Return it, and whether it was created."""
        check_same_name(name, body)
        existing = self._indexes.get(name)
        conditions.check(existing.etag if existing else None)
        if existing is None:
            return self.create_index(body), True
        schema = parse_index(body)
        check_update(existing.schema, schema)
        etag = _new_etag()
        self._store.update_index(existing.number, schema.definition, etag)
        existing.schema, existing.etag = schema, etag
        return existing, False

    def delete_index(self, name: str, conditions: Conditions) -> None:
        index = self._indexes.get(name)
        conditions.check(index.etag if index else None)
        index = self.index(name)
        self._check_unaliased(name)
        index.dropped = True
        del self._indexes[name]
        self._store.drop_index(index.number)
        shutil.rmtree(self._folder / str(index.number))

    def _check_unaliased(self, name: str) -> None:
        aliases = [alias for alias, (target, _) in self._aliases.items() if target == name]
        if aliases:
            raise not_allowed(
                f"Index '{name}' cannot be deleted while aliases map to it ({', '.join(aliases):.500}): "
                "delete the alias, or map it to another index."
            )

    # aliases

    def aliases(self) -> list[dict[str, Any]]:
        return [self.alias(name) for name in sorted(self._aliases)]

    def alias(self, name: str) -> dict[str, Any]:
        if name not in self._aliases:
            raise SearchError(404, f"No alias with the name '{name:.200}' was found.", "ResourceNotFound")
        target, etag = self._aliases[name]
        return {"@odata.etag": f'"{etag}"', "name": name, "indexes": [target]}

    def create_alias(self, body: Any) -> dict[str, Any]:
        name = body.get("name") if isinstance(body, dict) else None
        check_name(name, "Alias")
        if name in self._aliases or name in self._indexes:
            raise SearchError(409, f"The name '{name}' is already in use.", "ResourceNameAlreadyInUse")
        return self._set_alias(body)

    def put_alias(self, name: str, body: Any, conditions: Conditions) -> tuple[dict[str, Any], bool]:
        check_same_name(name, body)
        existing = self._aliases.get(name)
        conditions.check(existing[1] if existing else None)
        if existing is None:
            return self.create_alias(body), True
        return self._set_alias(body), False

    def _set_alias(self, body: Any) -> dict[str, Any]:
        if not isinstance(body, dict):
            raise bad_request("An alias must be a JSON object.")
        check_name(body.get("name"), "Alias")
        targets = body.get("indexes")
        if not isinstance(targets, list) or len(targets) != 1 or not isinstance(targets[0], str):
            raise bad_request("An alias must have exactly one index in 'indexes'.")
        if targets[0] not in self._indexes:
            raise bad_request(f"The alias's index '{targets[0]:.200}' does not exist.")
        etag = _new_etag()
        self._store.put_alias(body["name"], targets[0], etag)
        self._aliases[body["name"]] = (targets[0], etag)
        return self.alias(body["name"])

    def delete_alias(self, name: str, conditions: Conditions) -> None:
        existing = self._aliases.get(name)
        conditions.check(existing[1] if existing else None)
        self.alias(name)
        self._store.drop_alias(name)
        del self._aliases[name]


def check_same_name(name: str, body: Any) -> None:
    if not isinstance(body, dict) or body.get("name", name) != name:
        raise bad_request(f"The name in the body does not match '{name:.200}' in the address.")
    body["name"] = name
