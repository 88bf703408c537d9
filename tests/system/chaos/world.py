"""The whole system as processes that can be killed: the app in its host, and the local cloud under it.

Each service keeps its port and its data over a kill, as a machine that comes back would.
"""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localcloud.up.settings_file import AZURITE_KEY, COSMOS_KEY, SEARCH_KEY
from shared.settings.app import Settings, load_settings
from shared.upkeep.provisioning import provision
from tests.support.cloud import SERVICEBUS_CONFIG, azurite, faults_hit, plan_faults
from tests.support.services import ROOT, RunningService, start_service

LOCK_SECONDS = 10  # what a killed worker held comes back after this, instead of five minutes
SERVICES = ("cosmos", "search", "servicebus", "functions")
FAULTY = ("cosmos", "search", "servicebus")
# Quick where the specification waits for seconds and hours: the order of things stays the same.
QUICK = {
    "RETRY_BACKOFF_SECONDS": "0.2",
    "RETRY_BACKOFF_CAP_SECONDS": "1",
    "RETRY_BASE_DELAY_MS": "20",
    "RETRY_MAX_DELAY_SECONDS": "1",
    "APPLICATIONINSIGHTS_CONNECTION_STRING": "",
}


@dataclass
class World:
    folder: Path
    storage: str
    ports: dict[str, int]
    running: dict[str, RunningService] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)  # by service: faults that somebody ran into

    @property
    def app(self) -> str:
        return f"http://127.0.0.1:{self.ports['functions']}"

    def values(self) -> dict[str, str]:
        """The app's settings, as they stand in the environment."""
        blobs = f"BlobEndpoint={self.storage}/devstoreaccount1;"
        return {
            "COSMOS_ENDPOINT": f"http://127.0.0.1:{self.ports['cosmos']}",
            "COSMOS_KEY": COSMOS_KEY,
            "SEARCH_ENDPOINT": f"https://localhost:{self.ports['search']}",
            "SEARCH_KEY": SEARCH_KEY,
            "SEARCH_CA_FILE": str(self.folder / "search" / "tls" / "ca.pem"),
            "SERVICEBUS_CONNECTION": (
                f"Endpoint=sb://localhost:{self.ports['servicebus']};"
                "SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;"
                "UseDevelopmentEmulator=true;"
            ),
            "SERVICEBUS_ADMIN_ENDPOINT": f"http://127.0.0.1:{self.ports['admin']}",
            "STORAGE_CONNECTION": (
                f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={AZURITE_KEY};{blobs}"
            ),
            **QUICK,
        }

    def settings(self) -> Settings:
        return load_settings(self.values())

    def start(self, name: str) -> None:
        arguments = {
            "cosmos": ("--faults",),
            "search": ("--faults",),
            "servicebus": (
                "--faults",
                "--no-clamp",
                "--admin-port",
                str(self.ports["admin"]),
                "--config",
                self._config(),
            ),
            "functions": ("--root", str(ROOT)),
        }[name]
        self.running[name] = start_service(
            f"localcloud.{name}",
            *arguments,
            data=self.folder / name,
            port=self.ports[name],
            env=self.values() if name == "functions" else None,
        )

    def plan(self, name: str, *faults: dict[str, Any]) -> None:
        """Replace the faults of this service; those that were run into are counted."""
        self.hits[name] += faults_hit(self.running[name])
        plan_faults(self.running[name], *faults)

    def kill(self, name: str) -> None:
        if name in FAULTY:
            self.hits[name] += faults_hit(self.running[name])
        service = self.running.pop(name)
        service.kill()
        _close(service)

    def calm(self) -> None:
        """No fault is planned any more, and everything runs."""
        for name in SERVICES:
            if name not in self.running:
                self.start(name)
        for name in FAULTY:
            self.plan(name)

    def stop(self) -> None:
        for service in [self.running.pop(name) for name in reversed(SERVICES) if name in self.running]:
            service.stop(30)
            _close(service)

    def _config(self) -> str:
        config = json.loads(SERVICEBUS_CONFIG.read_text())
        (namespace,) = config["UserConfig"]["Namespaces"]
        subscriptions = [
            subscription for topic in namespace["Topics"] for subscription in topic["Subscriptions"]
        ]
        for entity in (*namespace["Queues"], *subscriptions):
            entity["Properties"]["LockDuration"] = f"PT{LOCK_SECONDS}S"
        path = self.folder / "Config.json"
        path.write_text(json.dumps(config))
        return str(path)


def _close(service: RunningService) -> None:
    for stream in (service.process.stdin, service.process.stdout):
        if stream is not None:
            stream.close()


def _free_ports(*names: str) -> dict[str, int]:
    sockets = {name: socket.socket() for name in names}
    try:
        for unused in sockets.values():
            unused.bind(("127.0.0.1", 0))
        return {name: unused.getsockname()[1] for name, unused in sockets.items()}
    finally:
        for unused in sockets.values():
            unused.close()


@contextmanager
def world(folder: Path) -> Iterator[World]:
    with azurite(folder / "storage") as storage:
        made = World(folder, storage, _free_ports(*SERVICES, "admin"))
        try:
            for name in SERVICES[:-1]:
                made.start(name)
            asyncio.run(provision(made.settings()))
            made.start("functions")
            yield made
        finally:
            made.stop()
