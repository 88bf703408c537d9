"""The telemetry receiver for tests: a process of its own, and queries to it."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.services import RunningService, running_service

__all__ = ["Receiver", "receiving"]


@dataclass(frozen=True)
class Receiver:
    service: RunningService
    folder: Path

    @property
    def endpoint(self) -> str:
        return self.service.addresses["endpoint"]

    @property
    def connection_string(self) -> str:
        return self.service.settings["APPLICATIONINSIGHTS_CONNECTION_STRING"]

    def ask(self, path: str, **parameters: str) -> dict[str, Any]:
        """Return the answer, which must be 200."""
        status, answer = self.request(path, parameters=parameters)
        assert status == 200, answer
        return answer

    def request(
        self,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        parameters: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        request = urllib.request.Request(f"{self.endpoint}{path}{query}", data=body, headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def metric(self, name: str, **labels: str) -> dict[str, Any] | None:
        """Return the one series of the metric with these labels."""
        found = self.ask(f"/api/metrics/{name}", **labels)["metrics"]
        assert len(found) <= 1, found
        return found[0] if found else None

    def everything(self) -> str:
        """Return all data of the receiver as one text."""
        return json.dumps(
            [
                self.ask("/api/spans", limit="5000"),
                self.ask("/api/logs", limit="5000"),
                self.ask("/api/metrics"),
            ]
        )


@contextmanager
def receiving(folder: Path) -> Iterator[Receiver]:
    with running_service("telemetry", data=folder / "telemetry") as service:
        yield Receiver(service, folder / "telemetry")
