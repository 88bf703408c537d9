"""Apps in temporary folders, the dev host as a process, and a plain HTTP client for it."""

import http.client
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.parse import urlsplit

from tests.support.services import RunningService, running_service

Found = TypeVar("Found")
EXAMPLE_APP = Path(__file__).parent / "example_app"
HEADER = (
    "import azure.functions as func\n\napp = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)\n"
)
NO_BROKER = (
    # The discard port.
    "Endpoint=sb://127.0.0.1:9;SharedAccessKeyName=k;SharedAccessKey=s;UseDevelopmentEmulator=true"
)


def write_app(
    root: Path,
    code: str = HEADER,
    *,
    host: Mapping[str, Any] | str | None = None,
    settings: Mapping[str, Any] | str | None = None,
    **modules: str,
) -> Path:
    """Write an app with this function_app.py, host.json, local.settings.json, and other modules by name."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "function_app.py").write_text(code, encoding="utf-8")
    (root / "host.json").write_text(_text({"version": "2.0"} if host is None else host), encoding="utf-8")
    if settings is not None:
        (root / "local.settings.json").write_text(_text(settings), encoding="utf-8")
    for name, source in modules.items():
        (root / f"{name}.py").write_text(source, encoding="utf-8")
    return root


def _text(value: Mapping[str, Any] | str) -> str:
    return value if isinstance(value, str) else json.dumps(value)


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


def wait_for(look: Callable[[], Found], *, seconds: float = 30) -> Found:
    """Return the result of `look` as soon as it is true."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s")
        time.sleep(0.02)
    return found


def lines(path: Path) -> list[Any]:
    """Return the JSON lines that a function has written so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
