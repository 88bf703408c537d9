"""HTTP handlers for the account, databases, containers and offers."""

from typing import Any

import orjson

from localcloud.cosmos import wire
from localcloud.cosmos.account import Account, Throughput
from localcloud.cosmos.container import Container
from localcloud.cosmos.errors import bad_request, cross_partition_disabled, not_found
from localcloud.httpd import Response

_DATABASE = 2  # path segments of a database: dbs and its name


class MetadataApi:
    def __init__(self, account: Account) -> None:
        self.account = account

    def read_account(self, call: wire.Call) -> Response:
        endpoint = f"http://{call.header('host') or '127.0.0.1'}/"
        location = [{"name": "Local", "databaseAccountEndpoint": endpoint}]
        body = {
            "_self": "", "id": "localcloud", "_rid": "localcloud", "media": "//media/",
            "addresses": "//addresses/",
            "_dbs": "//dbs/", "writableLocations": location, "readableLocations": location,
            "enableMultipleWriteLocations": False,
            "userReplicationPolicy": {"minReplicaSetSize": 1, "maxReplicasetSize": 4},
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
            "systemReplicationPolicy": {"minReplicaSetSize": 1, "maxReplicasetSize": 4},
            "readPolicy": {"primaryReadCoefficient": 1, "secondaryReadCoefficient": 1},
            "queryEngineConfiguration": orjson.dumps({
                "maxSqlQueryInputLength": 262144, "maxJoinsPerSqlQuery": 10, "maxLogicalAndPerSqlQuery": 2000,
                "maxLogicalOrPerSqlQuery": 2000, "maxUdfRefPerSqlQuery": 10,
                "maxInExpressionItemsCount": 16000,
                "queryMaxInMemorySortDocumentCount": 500, "maxQueryRequestTimeoutFraction": 0.9,
                "sqlAllowNonFiniteNumbers": False, "sqlAllowAggregateFunctions": True,
                "sqlAllowSubQuery": True,
                "sqlAllowScalarSubQuery": True, "allowNewKeywords": True, "sqlAllowLike": True,
                "sqlAllowGroupByClause": True, "maxSpatialQueryCells": 12,
                "spatialMaxGeometryPointCount": 256,
                "sqlAllowTop": True, "enableSpatialIndexing": True,
            }).decode(),
        }  # fmt: skip
        return self._metadata(call, 200, body)

    def create_metadata(self, call: wire.Call) -> Response:
        throughput = Throughput(
            call.header("x-ms-offer-throughput"), call.header("x-ms-cosmos-offer-autopilot-settings")
        )
        if call.parts == ["dbs"]:
            return self._metadata(call, 201, self.account.create_database(call.json(), throughput))
        if call.parts[-1] == "colls":
            return self._metadata(
                call, 201, self.account.create_container(call.parts[1], call.json(), throughput)
            )
        raise bad_request("an offer is created with its database or container")

    def list_metadata(self, call: wire.Call) -> Response:
        if call.parts == ["dbs"]:
            name, rid, values = "Databases", "", self.account.databases()
        elif call.parts == ["offers"]:
            name, rid, values = "Offers", "", self.account.offers()
        else:
            database = self.account.database(call.parts[1], owner=True)
            name, rid, values = (
                "DocumentCollections",
                database["_rid"],
                self.account.container_bodies(call.parts[1]),
            )
        texts = [orjson.dumps(value).decode() for value in values]
        if call.request.method == "POST":
            spec = wire.query_in(call)
            texts = self.account.queries.over_values(values, spec.text, spec.parameters)
        start = wire.small_number(call.header("x-ms-continuation"), 0)
        count = wire.page_size(call) or 100
        page = texts[start : start + count]
        if start + count < len(texts):
            call.headers.append(("x-ms-continuation", str(start + count)))
        call.headers.append(("x-ms-item-count", str(len(page))))
        return wire.answer(call, 200, wire.feed_body(rid, name, page), charge=2.0)

    def read_metadata(self, call: wire.Call) -> Response:
        if call.parts[0] == "offers":
            return self._metadata(call, 200, self.account.offer(call.parts[1]))
        if len(call.parts) == _DATABASE:
            return self._metadata(call, 200, self.account.database(call.parts[1]))
        container = self.account.container(call.parts[1], call.parts[3])
        if call.is_set("x-ms-documentdb-populatequotainfo"):
            (count,) = self.account.store.rows(f"SELECT count(*) FROM {container.table}", ())[0]
            call.headers.append(
                ("x-ms-resource-quota", "documentsSize=20971520;documentsCount=-1;collectionSize=20971520;")
            )
            call.headers.append(
                ("x-ms-resource-usage", f"documentsSize=0;documentsCount={count};collectionSize=0;")
            )
        call.headers.append(("x-ms-documentdb-collection-index-transformation-progress", "100"))
        call.headers.append(("x-ms-session-token", wire.all_tokens(container.lsns)))
        return self._metadata(call, 200, {**container.body, **self._statistics(call, container)})

    def _statistics(self, call: wire.Call, container: Container) -> dict[str, Any]:
        if not call.is_set("x-ms-documentdb-populatepartitionstatistics"):
            return {}
        sql = f"SELECT range, count(*), sum(length(body)) / 1024 FROM {container.table} GROUP BY range"
        rows = {number: rest for number, *rest in self.account.store.rows(sql, ())}
        return {
            "statistics": [
                {"id": str(number), "documentCount": documents, "sizeInKB": size, "partitionKeys": []}
                for number in range(len(container.ranges))
                for documents, size in [rows.get(number, (0, 0))]
            ]
        }

    def list_conflicts(self, call: wire.Call) -> Response:
        """Return an empty list. An account with one write region has no conflicts."""
        container = self.account.container(call.parts[1], call.parts[3], owner=True)
        if len(call.parts) % 2 == 0:
            raise not_found(f"the conflict {call.parts[5]!r}")
        scoped = call.header("x-ms-documentdb-partitionkey") is not None
        if (
            wire.is_query(call)
            and not scoped
            and not call.is_set("x-ms-documentdb-query-enablecrosspartition")
        ):
            raise cross_partition_disabled()
        return wire.answer(call, 200, wire.feed_body(container.rid, "Conflicts", []), charge=1.0)

    def replace_metadata(self, call: wire.Call) -> Response:
        if call.parts[0] == "offers":
            return self._metadata(call, 200, self.account.replace_offer(call.parts[1], call.json()))
        if len(call.parts) == _DATABASE:
            raise bad_request("a database has no properties to replace")
        body = self.account.replace_container(
            call.parts[1], call.parts[3], call.json(), call.header("if-match")
        )
        return self._metadata(call, 200, body)

    def delete_metadata(self, call: wire.Call) -> Response:
        if call.parts[0] == "offers":
            raise bad_request("an offer cannot be deleted: delete its database or container")
        if len(call.parts) == _DATABASE:
            self.account.delete_database(call.parts[1])
        else:
            self.account.delete_container(call.parts[1], call.parts[3])
        return wire.answer(call, 204, b"", charge=5.0)

    def _metadata(self, call: wire.Call, status: int, body: dict[str, Any]) -> Response:
        if "_etag" in body:
            call.headers.append(("etag", body["_etag"]))
        return wire.answer(call, status, orjson.dumps(body), charge=1.0)
