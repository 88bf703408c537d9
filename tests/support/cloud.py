"""The whole local cloud for tests: each service a process of its own, on free ports, with fault injection.

One cloud serves all tests of a pytest worker. Each test has its own database, index and blob container, and
its own Service Bus namespace if queues matter.
"""

import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from localcloud import LocalCloud
from shared.settings.app import Settings, load_settings
from tests.support.services import ROOT, RunningService, running_service

SERVICEBUS_CONFIG = ROOT / "infra" / "servicebus" / "Config.json"


@dataclass(frozen=True)
class AppCloud:
    cosmos: RunningService
    search: RunningService
    storage: RunningService

    def settings(self, servicebus: RunningService, **more: str) -> Settings:
        """Return settings with a database and an index of their own."""
        own = uuid.uuid4().hex[:12]
        services = (self.cosmos, self.search, self.storage)
        known = {name: value for service in services for name, value in service.settings.items()}
        return load_settings(
            {
                **known,
                "COSMOS_DATABASE": f"test-{own}",
                "SEARCH_INDEX": f"test-{own}",
                "SERVICEBUS_CONNECTION": servicebus_connection(servicebus),
                "ORCHESTRATION_QUIET_SECONDS": "0",
                **more,
            }
        )

    @property
    def blob_endpoint(self) -> str:
        return self.storage.addresses["blob"]

    def through(self, proxy: str) -> "AppCloud":
        """Return the same services, with the blobs behind a proxy at this address."""
        return replace(self, storage=replace(self.storage, addresses={"blob": proxy}))

    @property
    def storage_connection(self) -> str:
        return self.storage.settings["STORAGE_CONNECTION"]


def servicebus_connection(service: RunningService) -> str:
    return service.settings["SERVICEBUS_CONNECTION"]


@contextmanager
def local_cloud() -> Iterator[AppCloud]:
    with (
        tempfile.TemporaryDirectory(prefix="cloud-") as folder,
        LocalCloud(Path(folder), "cosmos", "search", "storage") as cloud,
    ):
        yield AppCloud(**cloud.services)


@contextmanager
def servicebus(folder: Path, *arguments: str, config: Path = SERVICEBUS_CONFIG) -> Iterator[RunningService]:
    options = ("--admin-port", "0", "--config", str(config), "--faults", *arguments)
    with running_service("servicebus", *options, data=folder / "servicebus") as service:
        yield service


@contextmanager
def frozen(process: "subprocess.Popen[str]") -> Iterator[None]:
    """Freeze the process: its connections stay open, but get no answers."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def wait_for(condition: Any, *, seconds: float = 20, what: str = "the condition") -> Any:
    """Poll until the condition is true, and return its value. Expensive conditions are polled less often."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if result := condition():
            return result
        now = time.monotonic()
        assert now < deadline, f"{what} did not come about within {seconds} s"
        time.sleep(min(max(0.02, 4 * (now - began)), 0.3))
