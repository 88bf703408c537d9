"""The whole system as processes that can be killed: the app in its host, on the local cloud.

Each service keeps its port and its data after a kill, like a machine that restarts.
"""

import asyncio
import json
import os
import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from azure.storage.blob import BlobServiceClient

from localcloud import LocalCloud
from localcloud.testing import Faults
from shared.operations.provisioning import provision
from shared.settings.app import Settings, load_settings
from tests.support.cloud import SERVICEBUS_CONFIG, wait_for
from tests.support.services import ROOT, RunningService, start_service

LOCK_SECONDS = 10  # the work of a killed worker is delivered again after this, instead of five minutes
DUPLICATE_SECONDS = 5  # the topic forgets ids after this, instead of half an hour
STORAGE = "storage"
HOSTS = ("functions", "functions-2")
CLOCKS = {"functions": -6.0, "functions-2": 7.0}  # the error of each host's clock, in seconds
SERVICES = (STORAGE, "cosmos", "search", "servicebus", *HOSTS)
FAULTY = ("cosmos", "search", "servicebus")
# Shorter than the specification's seconds and hours, but in the same order.
QUICK = {
    "RETRY_BASE_DELAY_MS": "10",
    "RETRY_MAX_DELAY_SECONDS": "1",
    "RETRY_JOB_INTERVAL_SECONDS": "12",
    "RETRY_JOB_BASE_DELAY_SECONDS": "2",
    "RETRY_JOB_MAX_DELAY_SECONDS": "8",
    "RETRY_JOB_STUCK_THRESHOLD_HOURS": "0.03",  # longer than a call's deadline
    "APPLICATIONINSIGHTS_CONNECTION_STRING": "",
}


@dataclass
class World:
    folder: Path
    ports: dict[str, int]
    running: dict[str, RunningService] = field(default_factory=dict)
    planned: dict[str, str] = field(default_factory=dict)  # by service: the names of its faults
    hits: Counter[str] = field(default_factory=Counter)  # by name: faults that hit
    model: Path | None = None  # the model's path, if it is not the default
    more: dict[str, str] = field(default_factory=dict)  # in the environment of the hosts
    duplicate_seconds: int = DUPLICATE_SECONDS

    def app(self, host: str = "functions") -> str:
        return f"http://127.0.0.1:{self.ports[host]}"

    def values(self) -> dict[str, str]:
        """Return the app's settings as environment variables."""
        addresses = {
            "cosmos": {"endpoint": f"http://127.0.0.1:{self.ports['cosmos']}"},
            "search": {
                "endpoint": f"https://localhost:{self.ports['search']}",
                "ca": str(self.folder / "search" / "tls" / "ca.pem"),
            },
            "servicebus": {
                "amqp": f"amqp://localhost:{self.ports['servicebus']}",
                "admin": f"http://127.0.0.1:{self.ports['admin']}",
            },
            STORAGE: {"blob": f"http://127.0.0.1:{self.ports[STORAGE]}"},
        }
        known = [LocalCloud.settings_of(name, where) for name, where in addresses.items()]
        return {
            **{name: value for settings in known for name, value in settings.items()},
            **({"EMBEDDING_MODEL_PATH": str(self.model)} if self.model is not None else {}),
            **QUICK,
        }

    def settings(self) -> Settings:
        return load_settings(self.values())

    def start(self, name: str) -> None:
        self.running[name] = self._start(name)

    def _start(self, name: str) -> RunningService:
        broker = ("--no-clamp", "--admin-port", str(self.ports["admin"]), "--config", self._config())
        arguments = {
            "cosmos": ("--faults",),
            "search": ("--faults",),
            "servicebus": ("--faults", *broker),
            STORAGE: (),
        }.get(name, ("--root", str(ROOT)))
        return start_service(
            "functions" if name in HOSTS else name,
            *arguments,
            data=self.folder / name,
            port=self.ports[name],
            env={**self.values(), **self.more, **_off_by(CLOCKS[name])} if name in HOSTS else None,
        )

    def plan(self, service: str, fault: dict[str, Any], named: str) -> None:
        """Replace the faults of this service. The hits of the old ones are counted under their name."""
        self._count(service)
        self.planned[service] = named
        Faults(self.running[service]).plan(fault)

    def _count(self, service: str) -> None:
        if service in self.planned:
            self.hits[self.planned.pop(service)] += Faults(self.running[service]).hits

    def was_hit(self, named: str) -> bool:
        services = [service for service, planned in self.planned.items() if planned == named]
        return self.hits[named] > 0 or any(Faults(self.running[service]).hits for service in services)

    def kill(self, name: str) -> None:
        self._count(name)
        if name == STORAGE:
            wait_for(self._blobs_are_on_disk, seconds=60, what="Azurite to save what it has taken")
        service = self.running.pop(name)
        service.kill()
        _close(service)

    def _blobs_are_on_disk(self) -> bool:
        """Wait for Azurite, which answers before it saves a blob, and saves every five seconds."""
        with BlobServiceClient.from_connection_string(self.values()["STORAGE_CONNECTION"]) as blobs:
            names = [
                blob.name
                for container in blobs.list_containers()
                for blob in blobs.get_container_client(container.name).list_blobs()
            ]
        saved, extents = (
            "".join(path.read_text() for path in self.folder.glob(f"{STORAGE}/**/__azurite_db_{kind}__.json"))
            for kind in ("blob", "blob_extent")
        )
        held = set(re.findall(r'"persistency":\{"id":("[^"]+")', saved))
        return all(json.dumps(name) in saved for name in names) and all(id_ in extents for id_ in held)

    def calm(self) -> None:
        """Remove all faults and start everything."""
        for name in SERVICES:
            if name not in self.running:
                self.start(name)
        for name in FAULTY:
            self._count(name)
            Faults(self.running[name]).plan()

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
        for entity in (*namespace["Queues"], *namespace["Topics"]):
            if entity["Properties"]["RequiresDuplicateDetection"]:
                entity["Properties"]["DuplicateDetectionHistoryTimeWindow"] = f"PT{self.duplicate_seconds}S"
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


def _off_by(seconds: float) -> dict[str, str]:
    """Return the environment that shifts the clock of an app process."""
    path = os.pathsep.join((str(Path(__file__).with_name("skewed")), str(ROOT)))
    return {"PYTHONPATH": path, "CLOCK_IS_OFF_BY": str(seconds)}


@contextmanager
def world(folder: Path, **options: Any) -> Iterator[World]:
    made = World(folder, _free_ports(*SERVICES, "admin"), **options)
    try:
        for name in SERVICES[: -len(HOSTS)]:
            made.start(name)
        asyncio.run(provision(made.settings()))
        for name in HOSTS:
            made.start(name)
        yield made
    finally:
        made.stop()
