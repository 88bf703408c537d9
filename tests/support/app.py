"""The whole app in the dev host, with every service of the local cloud and the telemetry receiver."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from shared.settings.app import Settings
from tests.support.cloud import AppCloud
from tests.support.receiver import Receiver
from tests.support.services import ROOT, RunningService, running_service

__all__ = ["RunningApp", "running_app"]


@dataclass(frozen=True)
class RunningApp:
    host: RunningService
    settings: Settings
    receiver: Receiver

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.host.addresses["http"] + path, timeout=30) as answer:
            return json.loads(answer.read())

    def upload(self, content: bytes, source: str) -> str:
        """Upload an archive and return its id."""
        request = urllib.request.Request(
            f"{self.host.addresses['http']}/api/archives?source={source}&filename=list.mbox", data=content
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(json.loads(answer.read())["archive_id"])

    def spans(self, **attributes: str) -> list[dict[str, Any]]:
        asked = {name.replace("__", "."): value for name, value in attributes.items()}
        return list(self.receiver.ask("/api/spans", limit="5000", **asked)["spans"])


@contextmanager
def running_app(
    cloud: AppCloud, bus: RunningService, receiver: Receiver, folder: Path, **more: str
) -> Iterator[RunningApp]:
    settings = cloud.settings(bus, SERVICEBUS_ADMIN_ENDPOINT=bus.addresses["admin"], **more)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in _values(settings).items():
            environment.setenv(name, value)
        environment.setenv("AzureWebJobsStorage", cloud.storage_connection)
        environment.setenv("APPLICATIONINSIGHTS_CONNECTION_STRING", receiver.connection_string)
        subprocess.run(
            [sys.executable, "-m", "shared.operations.provisioning"], cwd=ROOT, env=os.environ, check=True
        )
        with running_service("functions", "--root", str(ROOT), data=folder / "functions") as running:
            yield RunningApp(running, settings, receiver)


def _values(settings: Settings) -> dict[str, str]:
    given = settings.model_dump(exclude_unset=True)
    return {
        name: value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        for name, value in given.items()
        if value is not None
    }
