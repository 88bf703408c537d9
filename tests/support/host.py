"""The Functions host as a process, and a plain HTTP client for it."""

import http.client
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from tests.support.services import RunningService, running_service


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Host:
    service: RunningService

    @property
    def url(self) -> str:
        return self.service.addresses["http"]

    @property
    def log(self) -> str:
        return self.service.log.read_text(encoding="utf-8")

    def ask(
        self, method: str, path: str, body: bytes | str | None = None, timeout: float = 20, **headers: str
    ) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=timeout)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, 20, **headers)


@contextmanager
def running_host(root: Path, data: Path, *arguments: str, **environ: str) -> Iterator[Host]:
    with (
        patch.dict(os.environ, environ),
        running_service("functions", "--root", str(root), *arguments, data=data) as service,
    ):
        yield Host(service)
