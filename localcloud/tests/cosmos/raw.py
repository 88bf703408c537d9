"""Signed requests that no SDK would send."""

import base64
import hashlib
import hmac
import http.client
import json
from email.utils import formatdate
from typing import Any, Self
from urllib.parse import quote, urlsplit

from localcloud.cosmos.auth import EMULATOR_KEY, Resource


def headers_for(method: str, path: str, key: str = EMULATOR_KEY) -> dict[str, str]:
    date = formatdate(usegmt=True)
    resource = Resource(path)
    text = f"{method.lower()}\n{resource.kind.lower()}\n{resource.link}\n{date.lower()}\n\n"
    signature = base64.b64encode(
        hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
    ).decode()
    return {"x-ms-date": date, "authorization": quote(f"type=master&ver=1.0&sig={signature}", safe="")}


class RawClient:
    def __init__(self, endpoint: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, {**headers_for(method, path), **(headers or {})})
        response = self._connection.getresponse()
        return (
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read(),
        )

    def query(self, path: str, text: str, **parameters: Any) -> tuple[int, dict[str, str], bytes]:
        values = [{"name": f"@{name}", "value": value} for name, value in parameters.items()]
        headers = {"x-ms-documentdb-isquery": "true", "x-ms-documentdb-query-enablecrosspartition": "true",
                   "content-type": "application/query+json"}  # fmt: skip
        return self.send("POST", path, {"query": text, "parameters": values}, headers)
