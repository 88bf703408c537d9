"""The account: its databases, containers and throughput offers."""

import math
from pathlib import Path
from typing import Any

import orjson

from localcloud.clock import Clock
from localcloud.cosmos.batch import Batches
from localcloud.cosmos.container import Container, validate_definition
from localcloud.cosmos.documents import MAX_NAME_LENGTH, Documents, check_id
from localcloud.cosmos.errors import bad_request, conflict, not_found, precondition_failed
from localcloud.cosmos.keys import RangeMap
from localcloud.cosmos.queries import Queries
from localcloud.cosmos.rids import container_rid, database_rid, new_etag, offer_rid
from localcloud.cosmos.sessions import Replica
from localcloud.cosmos.store import Store

RU_PER_RANGE = 10_000
MAX_RANGES = 50
MAX_LAG = 3600
DEFAULT_THROUGHPUT = 400
MIN_AUTOSCALE = 1000
MAX_THROUGHPUT = 10**7
_OWNER_GONE = 1003


class Throughput:
    """The throughput that a client requests: fixed request units or an autoscale maximum."""

    def __init__(self, fixed: str | None = None, autoscale: str | None = None) -> None:
        self.fixed = self._number(fixed, DEFAULT_THROUGHPUT) if fixed else None
        self.autoscale: dict[str, Any] | None = None
        if autoscale:
            try:
                self.autoscale = orjson.loads(autoscale)
            except ValueError:
                raise bad_request("the autoscale settings header is not JSON") from None
            if not isinstance(self.autoscale, dict):
                raise bad_request("the autoscale settings are an object")
            self._number(str(self.autoscale.get("maxThroughput")), MIN_AUTOSCALE)

    @staticmethod
    def _number(text: str, minimum: int) -> int:
        if not text.isascii() or not text.isdigit() or not minimum <= int(text[:12]) <= MAX_THROUGHPUT:
            raise bad_request(
                f"Requested throughput {text[:20]} is less than required minimum throughput {minimum}, or "
                f"not a number up to {MAX_THROUGHPUT}"
            )
        return int(text)

    def __bool__(self) -> bool:
        return self.fixed is not None or self.autoscale is not None

    @property
    def maximum(self) -> int:
        return int(self.autoscale["maxThroughput"]) if self.autoscale else self.fixed or DEFAULT_THROUGHPUT

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = {
            "offerThroughput": self.maximum,
            "offerIsRUPerMinuteThroughputEnabled": False,
        }
        if self.autoscale:
            content["offerThroughput"] = max(DEFAULT_THROUGHPUT, self.maximum // 10)
            content["offerAutopilotSettings"] = self.autoscale
        return content


class Account:
    """The engine of the account, without HTTP."""

    def __init__(
        self, folder: Path | None, clock: Clock, *, ranges: int = 1, synchronous: str = "NORMAL"
    ) -> None:
        if not 1 <= ranges <= MAX_RANGES:
            raise ValueError(f"--ranges is a number from 1 to {MAX_RANGES}, not {ranges}")
        self.clock = clock
        self.store = Store(folder, synchronous=synchronous)
        self.replica = Replica(self.store, clock)
        self.documents = Documents(self.store, self.replica, clock)
        self.batches = Batches(self.store, self.replica, self.documents)
        self.queries = Queries(self.store, clock)
        self._min_ranges = ranges
        self._databases: dict[str, dict[str, Any]] = {}
        self._containers: dict[str, dict[str, Container]] = {}
        self._next_number = 1
        self._load()

    def close(self) -> None:
        self.store.close()

    def _load(self) -> None:
        for (body,) in self.store.rows("SELECT body FROM databases ORDER BY rowid", ()):
            database = orjson.loads(body)
            self._databases[database["id"]] = database
            self._containers[database["id"]] = {}
        rows = self.store.rows("SELECT number, database, ranges, body FROM containers ORDER BY number", ())
        for number, database, ranges, body in rows:
            rid = self._databases[database]["_rid"]
            container = Container(number, database, rid, orjson.loads(body), RangeMap(ranges))
            container.load(self.store)
            self._containers[database][container.id] = container
            self._next_number = number + 1

    @property
    def containers(self) -> list[Container]:
        return [container for database in self._containers.values() for container in database.values()]

    def set_lag(self, seconds: float) -> None:
        if not math.isfinite(seconds) or not 0 <= seconds <= MAX_LAG:
            raise bad_request(f"the replica lag is a number of seconds from 0 to {MAX_LAG}")
        self.replica.set_lag(seconds, self.containers)

    # databases

    def create_database(self, definition: Any, throughput: Throughput) -> dict[str, Any]:
        name = check_id(definition.get("id") if isinstance(definition, dict) else None, MAX_NAME_LENGTH)
        if name in self._databases:
            raise conflict(f"Resource with specified id or name already exists: the database {name!r}")
        rid = database_rid()
        database = {
            "id": name, "_rid": rid, "_self": f"dbs/{rid}/", "_etag": new_etag(), "_colls": "colls/",
            "_users": "users/", "_ts": int(self.clock.now()),
        }  # fmt: skip
        with self.store.all_or_nothing():
            body = orjson.dumps(database).decode()
            self.store.execute("INSERT INTO databases VALUES (?, ?, ?)", (rid, name, body))
            if throughput:
                self._create_offer(database, throughput)
        self._databases[name] = database
        self._containers[name] = {}
        return database

    def databases(self) -> list[dict[str, Any]]:
        return list(self._databases.values())

    def database(self, name: str, *, owner: bool = False) -> dict[str, Any]:
        """Return the database with this id or resource id.

        Set `owner` if the request is about something inside it.
        """
        found = self._databases.get(name) or next(
            (d for d in self._databases.values() if d["_rid"] == name), None
        )
        if found is None:
            raise not_found(f"the database {name!r}", substatus=_OWNER_GONE if owner else 0)
        return found

    def delete_database(self, name: str) -> None:
        database = self.database(name)
        for container in list(self._containers[database["id"]].values()):
            self.delete_container(name, container.id)
        with self.store.all_or_nothing():
            self.store.execute("DELETE FROM databases WHERE rid = ?", (database["_rid"],))
            self.store.execute("DELETE FROM offers WHERE resource = ?", (database["_self"],))
        del self._databases[database["id"]], self._containers[database["id"]]

    # containers

    def create_container(self, database_name: str, definition: Any, throughput: Throughput) -> dict[str, Any]:
        database = self.database(database_name, owner=True)
        name = check_id(definition.get("id") if isinstance(definition, dict) else None, MAX_NAME_LENGTH)
        kept = validate_definition(definition)
        if name in self._containers[database["id"]]:
            raise conflict(f"Resource with specified id or name already exists: the container {name!r}")
        rid = container_rid(database["_rid"])
        body = self._container_body(kept, rid, database["_rid"])
        ranges = max(self._min_ranges, min(MAX_RANGES, -(-throughput.maximum // RU_PER_RANGE)))
        container = Container(self._next_number, database["id"], database["_rid"], body, RangeMap(ranges))
        with self.store.all_or_nothing():
            self.store.create_table(container.table, container.unique_keys)
            self.store.execute(
                "INSERT INTO containers VALUES (?, ?, ?, ?, ?)",
                (container.number, container.database, name, ranges, orjson.dumps(body).decode()),
            )
            if throughput or not self.store.rows(
                "SELECT 1 FROM offers WHERE resource = ?", (database["_self"],)
            ):
                self._create_offer(body, throughput)
        self._next_number += 1
        self._containers[database["id"]][name] = container
        self.replica.add(container)
        return body

    def _container_body(self, definition: dict[str, Any], rid: str, database: str) -> dict[str, Any]:
        return {
            **definition,
            "_rid": rid, "_ts": int(self.clock.now()), "_etag": new_etag(),
            "_self": f"dbs/{database}/colls/{rid}/",
            "_docs": "docs/", "_sprocs": "sprocs/", "_triggers": "triggers/", "_udfs": "udfs/",
            "_conflicts": "conflicts/",
        }  # fmt: skip

    def container_bodies(self, database_name: str) -> list[dict[str, Any]]:
        database = self.database(database_name, owner=True)
        return [container.body for container in self._containers[database["id"]].values()]

    def container(self, database_name: str, name: str, *, owner: bool = False) -> Container:
        database = self.database(database_name, owner=True)
        containers = self._containers[database["id"]]
        found = containers.get(name) or next((c for c in containers.values() if c.rid == name), None)
        if found is None:
            description = f"the container {name!r} in the database {database['id']!r}"
            raise not_found(description, substatus=_OWNER_GONE if owner else 0)
        return found

    def replace_container(
        self, database_name: str, name: str, definition: Any, if_match: str | None
    ) -> dict[str, Any]:
        container = self.container(database_name, name)
        if not isinstance(definition, dict) or definition.get("id") != container.id:
            raise bad_request("a container's definition is an object that keeps its id")
        if if_match not in (None, "*", container.body["_etag"]):
            raise precondition_failed(f"the container's etag is {container.body['_etag']}, not {if_match}")
        # The Python SDK's replace_container omits the unique keys. Keep the stored keys in this case.
        unique = {"uniqueKeyPolicy": container.body["uniqueKeyPolicy"]}
        kept = validate_definition({**definition, **({} if definition.get("uniqueKeyPolicy") else unique)})
        for fixed in ("partitionKey", "uniqueKeyPolicy"):
            if kept[fixed] != container.body[fixed]:
                raise bad_request(f"the {fixed} of a container cannot be changed")
        body = self._container_body(kept, container.rid, container.database_rid)
        with self.store.all_or_nothing():
            text = orjson.dumps(body).decode()
            self.store.execute("UPDATE containers SET body = ? WHERE number = ?", (text, container.number))
            container.define(body)
            self._apply_default_ttl(container)
        return body

    def _apply_default_ttl(self, container: Container) -> None:
        """Recompute the expiry of all documents.

        A document's own ttl takes precedence over the container's.
        """
        self.store.execute(
            f"UPDATE {container.table} SET expires = CASE WHEN ?1 IS NULL THEN NULL "
            "WHEN coalesce(json_extract(body, '$.ttl'), ?1) = -1 THEN NULL "
            "ELSE ts + coalesce(json_extract(body, '$.ttl'), ?1) END",
            (container.default_ttl,),
        )

    def delete_container(self, database_name: str, name: str) -> None:
        container = self.container(database_name, name)
        self.replica.remove(container)
        with self.store.all_or_nothing():
            self.store.execute(f"DROP TABLE {container.table}")
            self.store.execute("DELETE FROM containers WHERE number = ?", (container.number,))
            self.store.execute("DELETE FROM marks WHERE container = ?", (container.number,))
            self.store.execute("DELETE FROM offers WHERE resource = ?", (container.self_link,))
        del self._containers[container.database][container.id]

    # throughput

    def _create_offer(self, resource: dict[str, Any], throughput: Throughput) -> None:
        rid = self._free_offer_rid()
        offer = {
            "id": rid, "_rid": rid, "_self": f"offers/{rid}/", "_etag": new_etag(),
            "_ts": int(self.clock.now()),
            "offerVersion": "V2", "offerType": "Invalid", "content": throughput.content,
            "resource": resource["_self"], "offerResourceId": resource["_rid"],
        }  # fmt: skip
        body = orjson.dumps(offer).decode()
        self.store.execute("INSERT INTO offers VALUES (?, ?, ?)", (rid, resource["_self"], body))

    def _free_offer_rid(self) -> str:
        """Return an unused resource id. Collisions occur, because the ids are as short as in Azure."""
        while True:
            rid = offer_rid()
            if not self.store.rows("SELECT 1 FROM offers WHERE rid = ?", (rid,)):
                return rid

    def offers(self) -> list[dict[str, Any]]:
        return [orjson.loads(body) for (body,) in self.store.rows("SELECT body FROM offers", ())]

    def offer(self, rid: str) -> dict[str, Any]:
        found = next((offer for offer in self.offers() if offer["_rid"].lower() == rid.lower()), None)
        if found is None:
            raise not_found(f"the offer {rid!r}")
        return found

    def replace_offer(self, rid: str, change: Any) -> dict[str, Any]:
        offer = self.offer(rid)
        content = change.get("content") if isinstance(change, dict) else None
        if not isinstance(content, dict):
            raise bad_request("an offer has a content with its throughput")
        settings = content.get("offerAutopilotSettings")
        throughput = Throughput(
            str(content.get("offerThroughput") or "") or None,
            orjson.dumps(settings).decode() if settings else None,
        )
        offer |= {"content": throughput.content, "_etag": new_etag(), "_ts": int(self.clock.now())}
        self.store.execute(
            "UPDATE offers SET body = ? WHERE rid = ?", (orjson.dumps(offer).decode(), offer["_rid"])
        )
        return offer
