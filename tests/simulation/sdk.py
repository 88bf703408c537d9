"""The real SDKs of Cosmos DB, AI Search and Blob storage, over an in-memory transport and on virtual time.

This is slower than the replacement of Store, Index and Blobs, and more realistic: Microsoft's code builds,
signs, retries and reads the requests. Service Bus is not covered, because AMQP needs its own socket.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Self
from urllib.parse import unquote
from xml.sax.saxutils import escape

import orjson
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import AsyncHttpTransport
from azure.core.rest._http_response_impl_async import AsyncHttpResponseImpl
from azure.core.utils import CaseInsensitiveDict
from azure.cosmos.aio import CosmosClient
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.storage.blob.aio import BlobServiceClient

from localcloud.testing import CosmosEngine
from tests.simulation.chance import Fault
from tests.simulation.network import Errors, Network
from tests.simulation.search import SearchIndex, SearchServer, matcher
from tests.support.web_server import Request, Response

Handler = Callable[[Request], Response]
KEY = "bm9uZQ=="
QUICK = {"retry_total": 2, "retry_backoff_factor": 0.2}


class _RefusedError(Exception):
    """The answer of a service that refuses."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


def _broken(sent: bool) -> Exception:
    return (ServiceResponseError if sent else ServiceRequestError)("the connection broke")


def _refused(fault: Fault) -> Exception:
    status = 429 if fault is Fault.THROTTLE else 503
    headers = [("Content-Type", "application/json"), ("x-ms-substatus", "0")]
    headers += [("Retry-After", "1"), ("x-ms-retry-after-ms", "50")] if status == 429 else []
    return _RefusedError(Response(status, b'{"code": "Refused", "message": "by the simulation"}', headers))


ERRORS = Errors(_broken, _refused, resends=False)  # the SDK decides whether to resend


class _Pieces:
    """The content of an answer, which the SDKs read piece by piece."""

    def __init__(self, _pipeline: Any, response: Any, **_options: Any) -> None:
        self.response, self.content_length = response, len(response._content)
        self._content = [response._content]

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._content:
            raise StopAsyncIteration
        return bytes(self._content.pop())


class _Answer(AsyncHttpResponseImpl):
    def __init__(self, request: Any, response: Response) -> None:
        headers = CaseInsensitiveDict({str(name): str(value) for name, value in response.headers})
        super().__init__(
            request=request,
            internal_response=None,
            status_code=response.status,
            headers=headers,
            reason=str(response.status),
            content_type=headers.get("Content-Type", ""),
            stream_download_generator=_Pieces,
            block_size=4096,
        )
        self._content = response.body

    async def read(self) -> bytes:
        return bytes(self._content or b"")

    async def load_body(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        self._is_closed = True

    def body(self) -> bytes:
        return bytes(self._content or b"")


class MemoryTransport(AsyncHttpTransport[Any, Any]):
    def __init__(self, network: Network, service: str, handler: Handler) -> None:
        self._network, self._service, self._handler = network, service, handler

    async def send(self, request: Any, **_options: Any) -> Any:
        target = "/" + request.url.partition("://")[2].partition("/")[2]
        headers = {name.lower(): str(value) for name, value in request.headers.items()}
        sent = Request(request.method, target, headers, _content(request))
        try:
            answered = await self._network.call(
                self._service,
                request.method.lower(),
                lambda: self._handler(sent),
                ERRORS,
                target.partition("?")[0][-60:],
            )
        except _RefusedError as refused:
            answered = refused.response
        return _Answer(request, answered)

    async def open(self) -> None:
        """Nothing to open."""

    async def close(self) -> None:
        """Nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to close."""


def _content(request: Any) -> bytes:
    content = request.content if hasattr(request, "content") else request.data
    if content is None:
        return b""
    if hasattr(content, "read"):
        content = content.read()
    return content.encode() if isinstance(content, str) else bytes(content)


def cosmos_client(network: Network, server: CosmosEngine) -> CosmosClient:
    def handle(request: Request) -> Response:
        answer = server.answer(request.method, request.target, request.headers, request.body)
        return Response(answer.status, answer.body, list(answer.headers.items()))

    return CosmosClient(
        "http://cosmos.example.org", credential=KEY, transport=MemoryTransport(network, "cosmos", handle)
    )


_NAMED = re.compile(r"/(indexes|aliases)\('([^']+)'\)(/docs/search\.(index|post\.search))?$")


def search_clients(
    network: Network, server: SearchServer
) -> tuple[Callable[[str], SearchClient], SearchIndexClient]:
    key, endpoint = AzureKeyCredential("none"), "https://search.example.org"

    def options() -> dict[str, Any]:
        return {
            "transport": MemoryTransport(network, "search", lambda request: _search(server, request)),
            **QUICK,
        }

    return (
        lambda name: SearchClient(endpoint, name, key, **options()),
        SearchIndexClient(endpoint, key, **options()),
    )


def _search(server: SearchServer, request: Request) -> Response:
    path = unquote(request.raw_path)
    if path == "/indexes":
        return _json(200, {"value": [{"name": name, "fields": []} for name in sorted(server.indexes)]})
    found = _NAMED.fullmatch(path)
    if found is None:
        raise NotImplementedError(f"the simulated index does not know {request.method} {path}")
    kind, name, _, operation = found.groups()
    body = orjson.loads(request.body) if request.body else {}
    if kind == "aliases":
        return _alias(server, request.method, name, body)
    if operation is None:
        return _index(server, request.method, name, body)
    index = server.indexes.get(server.aliases.get(name, name))
    if index is None:
        return _json(404, {"error": {"code": "", "message": f"there is no index {name}"}})
    return _written(server, index, body) if operation == "index" else _searched(server, index, body)


def _alias(server: SearchServer, method: str, name: str, body: dict[str, Any]) -> Response:
    if method == "PUT":
        (server.aliases[name],) = body["indexes"]
    if name not in server.aliases:
        return _json(404, {"error": {"code": "", "message": f"there is no alias {name}"}})
    return _json(200, {"name": name, "indexes": [server.aliases[name]]})


def _index(server: SearchServer, method: str, name: str, body: dict[str, Any]) -> Response:
    if method == "PUT":
        dimensions = next(field["dimensions"] for field in body["fields"] if field.get("dimensions"))
        server.indexes.setdefault(name, SearchIndex(dimensions))
    if name not in server.indexes:
        return _json(404, {"error": {"code": "", "message": f"there is no index {name}"}})
    if method == "DELETE":
        del server.indexes[name]
        return Response(204)
    vector = {
        "name": "embedding",
        "type": "Collection(Edm.Single)",
        "dimensions": server.indexes[name].dimensions,
    }
    return _json(200, {"name": name, "fields": [vector]})


def _written(server: SearchServer, index: SearchIndex, body: dict[str, Any]) -> Response:
    results = []
    for action in body["value"]:
        what, key = action.pop("@search.action"), action["chunk_id"]
        server.change(index, key, None if what == "delete" else {**index.stored.get(key, {}), **action})
        results.append({"key": key, "status": True, "errorMessage": None, "statusCode": 200})
    return _json(200, {"value": results})


def _searched(server: SearchServer, index: SearchIndex, body: dict[str, Any]) -> Response:
    matches = matcher(body.get("filter"))
    found = sorted(filter(matches, server.visible(index).values()), key=lambda each: str(each["chunk_id"]))
    names = body["select"].split(",") if body.get("select") else None
    start, most = body.get("skip") or 0, body.get("top")
    shown = found[start:] if most is None else found[start : start + most]
    rows = [
        {"@search.score": 1.0, **{name: document.get(name) for name in names or document}}
        for document in shown
    ]
    return _json(200, {"@odata.count": len(found), "value": rows})


def _json(status: int, body: Any) -> Response:
    return Response(status, orjson.dumps(body), [("Content-Type", "application/json")])


def blob_client(network: Network, stored: dict[tuple[str, str], bytes]) -> BlobServiceClient:
    return BlobServiceClient(
        "https://blobs.example.org",
        credential=None,
        transport=MemoryTransport(network, "blobs", lambda request: _blob(stored, request)),
        retry_total=2,
        initial_backoff=1,
        increment_base=1,
    )


def _blob(stored: dict[tuple[str, str], bytes], request: Request) -> Response:
    container, _, path = unquote(request.raw_path).lstrip("/").partition("/")
    key = (container, path)
    if request.method == "PUT":
        stored[key] = request.body
        return Response(201, b"", _blob_headers(()))
    if not path:
        names = (
            f"<Blob><Name>{escape(name)}</Name></Blob>" for at, name in sorted(stored) if at == container
        )
        listed = f"<EnumerationResults><Blobs>{''.join(names)}</Blobs><NextMarker/></EnumerationResults>"
        return Response(200, listed.encode(), _blob_headers([("Content-Type", "application/xml")]))
    if key not in stored:
        missing = [("x-ms-error-code", "BlobNotFound"), ("Content-Type", "application/xml")]
        return Response(404, b"", _blob_headers(missing))
    if request.method == "DELETE":
        del stored[key]
        return Response(202, b"", _blob_headers(()))
    content = stored[key]
    first, _, last = request.headers.get("x-ms-range", "bytes=0-").removeprefix("bytes=").partition("-")
    part = content[int(first) : int(last or len(content)) + 1]
    shown = [
        ("Content-Length", str(len(part))),
        ("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"),
        ("Content-Type", "application/octet-stream"),
        ("x-ms-blob-type", "BlockBlob"),
    ]
    return Response(206, part, _blob_headers(shown))


def _blob_headers(more: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    date = "Fri, 15 Jan 2027 08:00:00 GMT"
    return [("ETag", '"0x1"'), ("Last-Modified", date), ("Date", date), ("x-ms-version", "2025-01-05"), *more]
