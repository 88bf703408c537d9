"""The operations of the service by route: their requests and responses."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import orjson

from localcloud.httpd import Request
from localcloud.search.catalog import Catalog, Conditions
from localcloud.search.documents import Action, Outcome, parse_batch
from localcloud.search.errors import DocumentError, SearchError, bad_request, unsupported
from localcloud.search.index import Index
from localcloud.search.request import parse_search, select_of
from localcloud.search.searching import run_search
from localcloud.search.values import project

MAX_PARAMETERS = 200
MAX_BODY = 16 * 1024 * 1024
_ROUTE = re.compile(r"/(\w+)(?:\('((?:[^']|'')*)'\)|/([^/()']+))?(/.*)?")
_REFUSED = re.compile(r"(suggest|autocomplete|analyze)$")
_LOOKUP = re.compile(r"/docs(?:\('((?:[^']|'')*)'\)|/([^/()'$]+))")


@dataclass(slots=True)
class Answer:
    status: int
    body: Any = None  # JSON, or None for an empty body
    headers: tuple[tuple[str, str], ...] = ()
    text: bytes | None = None  # instead of JSON


@dataclass(slots=True)
class Call:
    """A request to an operation."""

    catalog: Catalog
    request: Request
    name: str = ""  # of the index or alias
    key: str = ""
    failing: Callable[[Action], DocumentError | None] | None = None  # an injected partial failure

    def json(self) -> dict[str, Any]:
        if len(self.request.body) > MAX_BODY:
            raise SearchError(413, f"The request can have at most {MAX_BODY} bytes.", "RequestEntityTooLarge")
        try:
            body = orjson.loads(self.request.body)
        except orjson.JSONDecodeError as error:
            raise bad_request(f"The request body is not valid JSON: {error}.") from None
        if not isinstance(body, dict):
            raise bad_request("The request body must be a JSON object.")
        return body

    def parameters(self) -> dict[str, list[str]]:
        try:
            sent = parse_qs(self.request.query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
        except ValueError:
            raise bad_request(f"The address may have at most {MAX_PARAMETERS} parameters.") from None
        # The JavaScript client (13.0.0) escapes the $ of $select twice.
        return {name.replace("%24", "$", 1): values for name, values in sent.items()}

    def conditions(self) -> Conditions:
        headers = self.request.headers
        return Conditions(headers.get("if-match"), headers.get("if-none-match"))


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation. `thread` is inline, reader or writer. Query keys may use `open` operations."""

    name: str
    thread: str
    run: Callable[[Call], Answer]
    open: bool = False


# indexes


def _index_body(index: Index) -> dict[str, Any]:
    return {"@odata.etag": f'"{index.etag}"', **index.schema.definition}


def _resource(status: int, body: dict[str, Any], location: str = "") -> Answer:
    headers = [("ETag", f"W/{body['@odata.etag']}")]
    if location:
        headers.append(("Location", location))
    return Answer(status, body, tuple(headers))


def _create_index(call: Call) -> Answer:
    index = call.catalog.create_index(call.json())
    return _resource(201, _index_body(index), _location(call, f"/indexes('{index.schema.name}')"))


def _location(call: Call, path: str) -> str:
    host = call.request.headers.get("host", "localhost")
    return f"https://{host}{path}?{call.request.query}"


def _deleted(delete: Callable[[str, Conditions], None], call: Call) -> Answer:
    delete(call.name, call.conditions())
    return Answer(204)


def _put_index(call: Call) -> Answer:
    index, created = call.catalog.put_index(call.name, call.json(), call.conditions())
    return _resource(201 if created else 200, _index_body(index))


def _list_indexes(call: Call) -> Answer:
    names = {name for value in call.parameters().get("$select", []) for name in value.split(",")}
    bodies = [_index_body(index) for index in call.catalog.indexes()]
    if names and "*" not in names:
        bodies = [{name: value for name, value in body.items() if name in names} for body in bodies]
    return Answer(200, {"value": bodies})


def _index_statistics(call: Call) -> Answer:
    view = call.catalog.index(call.name).view()
    size, vectors = view.storage_size()
    return Answer(200, {"documentCount": view.count, "storageSize": size, "vectorIndexSize": vectors})


# aliases


def _put_alias(call: Call) -> Answer:
    body, created = call.catalog.put_alias(call.name, call.json(), call.conditions())
    return _resource(201 if created else 200, body)


# documents


def _index_documents(call: Call) -> Answer:
    index = call.catalog.resolve(call.name)
    actions = parse_batch(index.schema, call.json())
    for action in actions if call.failing else ():
        action.error = action.error or (call.failing(action) if call.failing else None)
    outcomes: list[Outcome] = index.apply(actions)
    status = 207 if any(outcome.message is not None for outcome in outcomes) else 200
    return Answer(status, {"value": [outcome.body() for outcome in outcomes]})


def _lookup(call: Call) -> Answer:
    index = call.catalog.resolve(call.name)
    select = select_of({"select": call.parameters().get("$select", [])}, index.schema)
    rowid = index.view().find(call.key)
    document = index.documents([rowid])[0] if rowid is not None else None
    if document is None:
        return Answer(404)
    return Answer(200, project(document, index.schema, select))


def _count(call: Call) -> Answer:
    count = call.catalog.resolve(call.name).view().count
    return Answer(200, text=b"\xef\xbb\xbf%d" % count)


def _search(call: Call) -> Answer:
    index = call.catalog.resolve(call.name)
    schema = index.schema  # an update may replace the index's schema
    sent = call.json()
    body = run_search(parse_search(sent, schema), index.view(), schema, index.documents)
    following = body.get("@search.nextPageParameters")
    if following is not None:
        body["@search.nextPageParameters"] = sent | following
        body["@odata.nextLink"] = _location(call, f"/indexes('{call.name}')/docs/search.post.search")
    return Answer(200, body)


# routes


_COLLECTIONS = {
    ("indexes", "POST"): Operation("indexes.create", "writer", _create_index),
    ("indexes", "GET"): Operation("indexes.list", "inline", _list_indexes),
    ("aliases", "POST"): Operation(
        "aliases.create", "writer", lambda call: _resource(201, call.catalog.create_alias(call.json()))
    ),
    ("aliases", "GET"): Operation(
        "aliases.list", "inline", lambda call: Answer(200, {"value": call.catalog.aliases()})
    ),
}
_RESOURCES = {
    ("indexes", "PUT"): Operation("indexes.createOrUpdate", "writer", _put_index),
    ("indexes", "GET"): Operation(
        "indexes.get", "inline", lambda call: _resource(200, _index_body(call.catalog.index(call.name)))
    ),
    ("indexes", "DELETE"): Operation(
        "indexes.delete", "writer", lambda call: _deleted(call.catalog.delete_index, call)
    ),
    ("aliases", "PUT"): Operation("aliases.createOrUpdate", "writer", _put_alias),
    ("aliases", "GET"): Operation(
        "aliases.get", "inline", lambda call: _resource(200, call.catalog.alias(call.name))
    ),
    ("aliases", "DELETE"): Operation(
        "aliases.delete", "writer", lambda call: _deleted(call.catalog.delete_alias, call)
    ),
}
_STATISTICS = Operation("indexes.stats", "inline", _index_statistics)
_WRITE = Operation("docs.index", "writer", _index_documents)
_READ = Operation("docs.lookup", "inline", _lookup, open=True)
_COUNT = Operation("docs.count", "inline", _count, open=True)
_SEARCH = Operation("docs.search", "reader", _search, open=True)
_UNDER_INDEX = {
    ("GET", "/search.stats"): _STATISTICS,
    ("GET", "/stats"): _STATISTICS,
    ("POST", "/docs/search.index"): _WRITE,
    ("POST", "/docs/index"): _WRITE,
    ("GET", "/docs/$count"): _COUNT,
    ("POST", "/docs/search.post.search"): _SEARCH,
    ("POST", "/docs/search"): _SEARCH,
}
_ELSEWHERE = frozenset(
    {"indexers", "datasources", "skillsets", "synonymmaps", "knowledgebases", "knowledgesources", "agents"}
    | {"servicestats"}
)


def find_operation(request: Request) -> tuple[Operation, str, str]:
    """Return the operation, the name of its index or alias, and the document's key."""
    path = request.path.rstrip("/")
    match = _ROUTE.fullmatch(path)
    if match is None:
        raise SearchError(404, f"There is no resource at '{path:.200}'.", "ResourceNotFound")
    kind, rest = match[1], match[4] or ""
    name = match[2].replace("''", "'") if match[2] is not None else match[3]
    if kind in _ELSEWHERE:
        raise unsupported(f"{kind}: only indexes, their documents, and aliases")
    if refused := _REFUSED.search(rest):
        raise unsupported(refused[1])
    found = _find(request.method, kind, name, rest)
    key = ""
    if found is None and kind == "indexes" and name and (lookup := _LOOKUP.fullmatch(rest)):
        if request.method == "GET":
            found = _READ
        key = lookup[1].replace("''", "'") if lookup[1] is not None else lookup[2]
    if found is None:
        known = any(_find(method, kind, name, rest) for method in ("GET", "POST", "PUT", "DELETE"))
        raise SearchError(
            405 if known else 404,
            f"{request.method} '{path:.200}' is not an operation of this service.",
            "OperationNotAllowed",
        )
    return found, name or "", key


def _find(method: str, kind: str, name: str | None, rest: str) -> Operation | None:
    if name is None:
        return _COLLECTIONS.get((kind, method)) if not rest else None
    if not rest:
        return _RESOURCES.get((kind, method))
    return _UNDER_INDEX.get((method, rest)) if kind == "indexes" else None
