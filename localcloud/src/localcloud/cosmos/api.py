"""Routing of the REST API: names the operation of a request and selects its handler."""

from collections.abc import Awaitable

from localcloud.cosmos.account import Account
from localcloud.cosmos.api_documents import DocumentsApi
from localcloud.cosmos.api_metadata import MetadataApi
from localcloud.cosmos.errors import CosmosError, bad_request, not_implemented
from localcloud.cosmos.wire import Call, is_query
from localcloud.httpd import Response

_UNSUPPORTED = ("users", "permissions", "sprocs", "triggers", "udfs", "clientencryptionkeys",
                "attachments", "schemas")  # fmt: skip


class Api:
    def __init__(self, account: Account, *, rate: float = 0) -> None:
        self.metadata = MetadataApi(account)
        self.documents = DocumentsApi(account, rate=rate)

    def run(self, call: Call) -> Response | Awaitable[Response]:
        """Run a routed call. Only a slow query returns an awaitable."""
        assert call.run is not None  # noqa: S101 - route() sets it or raises
        response = call.run(call)
        if not isinstance(response, Response):
            return self._spend_later(call, response)
        self.documents.spend(call)
        return response

    async def _spend_later(self, call: Call, coming: Awaitable[Response]) -> Response:
        response = await coming
        self.documents.spend(call)
        return response

    def route(self, call: Call) -> None:
        """Set the name of the operation and its handler."""
        parts, method = call.parts, call.request.method
        match parts:
            case []:
                call.operation, call.run = "account.read", self.metadata.read_account
            case (
                ["dbs"]
                | ["dbs", _]
                | ["dbs", _, "colls"]
                | ["dbs", _, "colls", _]
                | ["offers"]
                | ["offers", _]
            ):
                self._route_metadata(call, parts[-1] if len(parts) % 2 else parts[-2], method)
            case ["dbs", _, "colls", _, "pkranges"] if method == "GET":
                call.operation, call.run = "pkranges.read", self.documents.read_ranges
            case ["dbs", _, "colls", _, "docs"]:
                self._route_documents(call, method)
            case ["dbs", _, "colls", _, "docs", _]:
                self._route_document(call, method)
            case ["dbs", _, "colls", _, "conflicts", *_]:
                call.operation, call.run = "conflicts.list", self.metadata.list_conflicts
            case ["dbs", _, "colls", _, "operations", "partitionkeydelete"] if method == "POST":
                call.operation, call.run = "docs.deletepartition", self.documents.delete_partition
            case _ if any(part in _UNSUPPORTED for part in parts[2::2]):
                raise not_implemented(
                    f"The resource type {next(p for p in parts[2::2] if p in _UNSUPPORTED)!r}"
                )
            case _:
                raise bad_request(f"{method} /{'/'.join(parts)[:200]} is not a request of the Cosmos DB API")
        if call.run is None:
            raise CosmosError(405, f"{method} is not allowed for /{'/'.join(parts)[:200]}")

    def _route_metadata(self, call: Call, kind: str, method: str) -> None:
        is_feed = len(call.parts) % 2 == 1
        actions = {
            ("GET", True): ("list", self.metadata.list_metadata),
            ("POST", True): ("query", self.metadata.list_metadata)
            if is_query(call)
            else ("create", self.metadata.create_metadata),
            ("GET", False): ("read", self.metadata.read_metadata),
            ("PUT", False): ("replace", self.metadata.replace_metadata),
            ("DELETE", False): ("delete", self.metadata.delete_metadata),
        }
        if (method, is_feed) in actions:
            name, call.run = actions[method, is_feed]
            call.operation = f"{kind}.{name}"

    def _route_documents(self, call: Call, method: str) -> None:
        if method == "GET":
            is_change_feed = call.header("a-im") is not None
            call.operation = "docs.changefeed" if is_change_feed else "docs.feed"
            call.run = self.documents.read_changes if is_change_feed else self.documents.read_feed
        elif method != "POST":
            return
        elif call.is_set("x-ms-cosmos-is-query-plan-request"):
            call.operation, call.run = "docs.plan", self.documents.plan
        elif is_query(call):
            call.operation, call.run = "docs.query", self.documents.query
        elif call.is_set("x-ms-cosmos-is-batch-request"):
            atomic = call.is_set("x-ms-cosmos-batch-atomic")
            call.operation, call.run = (
                ("docs.batch", self.documents.batch) if atomic else ("docs.bulk", self.documents.bulk)
            )
        elif call.is_set("x-ms-documentdb-is-upsert"):
            call.operation, call.run = "docs.upsert", self.documents.upsert
        else:
            call.operation, call.run = "docs.create", self.documents.create

    def _route_document(self, call: Call, method: str) -> None:
        actions = {
            "GET": ("docs.read", self.documents.read),
            "PUT": ("docs.replace", self.documents.replace),
            "PATCH": ("docs.patch", self.documents.patch),
            "DELETE": ("docs.delete", self.documents.delete),
        }
        if method in actions:
            call.operation, call.run = actions[method]
