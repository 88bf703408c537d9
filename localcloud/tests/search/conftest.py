"""A local AI Search for each test process, and clients of Microsoft's SDK."""

import http.client
import json
import ssl
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from azure.core.credentials import AzureKeyCredential
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient

from localcloud.search.service import ADMIN_KEY
from tests.support.services import RunningService, running_service

API = "api-version=2026-04-01"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def message(self) -> str:
        return str(self.body["error"]["message"])


class Search:
    """A running service and its clients."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        self.endpoint = service.addresses["endpoint"]
        self.ca = service.addresses["ca"]
        self._clients: list[SearchClient | SearchIndexClient] = []

    def indexes(self) -> SearchIndexClient:
        client = SearchIndexClient(self.endpoint, AzureKeyCredential(ADMIN_KEY), connection_verify=self.ca)
        self._clients.append(client)
        return client

    def documents(self, index: str, key: str = ADMIN_KEY) -> SearchClient:
        client = SearchClient(self.endpoint, index, AzureKeyCredential(key), connection_verify=self.ca)
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = ADMIN_KEY,
        headers: dict[str, str] | None = None,
        api: str = API,
    ) -> Answer:
        """Send a plain HTTP request. `body` is JSON or bytes."""
        address = urlsplit(self.endpoint)
        context = ssl.create_default_context(cafile=self.ca)
        sent = {"Content-Type": "application/json"} | ({"api-key": key} if key else {}) | (headers or {})
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        with closing(
            http.client.HTTPSConnection(address.hostname or "", address.port, context=context, timeout=30)
        ) as connection:
            separator = "&" if "?" in path else "?"
            target = path if path.startswith("/_") else f"{path}{separator}{api}"
            connection.request(method, target, content, sent)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())

    def search(self, index: str, **body: Any) -> Answer:
        return self.call("POST", f"/indexes('{index}')/docs/search.post.search", body)

    def found(self, index: str, **body: Any) -> list[str]:
        answer = self.search(index, **body)
        assert answer.status == 200, answer.raw
        return [item["id"] for item in answer.body["value"]]

    def write(self, index: str, *actions: dict[str, Any]) -> Answer:
        return self.call("POST", f"/indexes('{index}')/docs/search.index", {"value": list(actions)})

    def create(self, fields: list[dict[str, Any]], documents: list[dict[str, Any]], **rest: Any) -> str:
        """Create an index with a unique name and these documents."""
        name = f"test-{uuid.uuid4().hex}"
        answer = self.call("POST", "/indexes", {"name": name, "fields": fields, **rest})
        assert answer.status == 201, answer.raw
        if documents:
            written = self.write(name, *documents)
            assert written.status == 200, written.raw
        return name


VECTORS = {
    "algorithms": [
        {"name": "cosine", "kind": "hnsw"},
        {"name": "exact", "kind": "exhaustiveKnn", "exhaustiveKnnParameters": {"metric": "cosine"}},
    ],
    "profiles": [{"name": name, "algorithm": name} for name in ("cosine", "exact")],
}
KEY = {"name": "id", "type": "Edm.String", "key": True, "searchable": False}


def vector_field(name: str, dimensions: int, profile: str = "cosine", **rest: Any) -> dict[str, Any]:
    return {
        "name": name,
        "type": "Collection(Edm.Single)",
        "dimensions": dimensions,
        "vectorSearchProfile": profile,
        **rest,
    }


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    data = tmp_path_factory.mktemp("search") / "data"
    with running_service("search", data=data) as service:
        yield service


@pytest.fixture
def search(shared_service: RunningService) -> Iterator[Search]:
    with closing(Search(shared_service)) as clients:
        yield clients


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Search]]:
    """A function that starts a service in the same folder each time, after it stops the previous service."""
    running: list[tuple[Any, Search]] = []

    def stop() -> None:
        while running:
            context, clients = running.pop()
            clients.close()
            context.__exit__(None, None, None)

    def begin(*arguments: str) -> Search:
        stop()
        context = running_service("search", *arguments, data=tmp_path / "data")
        clients = Search(context.__enter__())
        running.append((context, clients))
        return clients

    yield begin
    stop()
