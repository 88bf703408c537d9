"""The whole local cloud for tests: each service a process of its own, on free ports, with faults allowed.

One cloud serves all tests of a pytest worker. Tests stay apart by names of their own: a database, an index
and a blob container for each; and a Service Bus namespace for each where queues matter.
"""

import json
import signal
import subprocess
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from localcloud.lifeline import LIFELINE_VARIABLE
from localcloud.ports import Ports
from localcloud.up.catalogue import plan_services
from localcloud.up.settings_file import AZURITE_KEY, COSMOS_KEY, SEARCH_KEY
from shared.settings.app import Settings, load_settings
from tests.support.services import ROOT, RunningService, running_service

SERVICEBUS_CONFIG = ROOT / "infra" / "servicebus" / "Config.json"


@dataclass(frozen=True)
class LocalCloud:
    cosmos: RunningService
    search: RunningService
    storage: "subprocess.Popen[str]"
    blob_endpoint: str

    def settings(self, servicebus: RunningService, **more: str) -> Settings:
        """Settings with a database and an index of their own."""
        own = uuid.uuid4().hex[:12]
        return load_settings(
            {
                "COSMOS_ENDPOINT": self.cosmos.addresses["endpoint"],
                "COSMOS_KEY": COSMOS_KEY,
                "COSMOS_DATABASE": f"test-{own}",
                "SEARCH_ENDPOINT": self.search.addresses["endpoint"],
                "SEARCH_KEY": SEARCH_KEY,
                "SEARCH_INDEX": f"test-{own}",
                "SEARCH_CA_FILE": self.search.addresses["ca"],
                "SERVICEBUS_CONNECTION": servicebus_connection(servicebus),
                "STORAGE_CONNECTION": self.storage_connection,
                "ORCHESTRATION_QUIET_SECONDS": "0",
                **more,
            }
        )

    @property
    def storage_connection(self) -> str:
        return (
            "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
            f"AccountKey={AZURITE_KEY};BlobEndpoint={self.blob_endpoint}/devstoreaccount1;"
        )


def servicebus_connection(service: RunningService) -> str:
    port = urlsplit(service.addresses["amqp"]).port
    return (
        f"Endpoint=sb://localhost:{port};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
    )


@contextmanager
def local_cloud() -> Iterator[LocalCloud]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cloud-")))
        cosmos = stack.enter_context(running_service("localcloud.cosmos", "--faults", data=folder / "cosmos"))
        search = stack.enter_context(running_service("localcloud.search", "--faults", data=folder / "search"))
        storage, blobs = stack.enter_context(azurite_process(folder / "storage"))
        yield LocalCloud(cosmos, search, storage, blobs)


@contextmanager
def servicebus(folder: Path, *arguments: str, config: Path = SERVICEBUS_CONFIG) -> Iterator[RunningService]:
    options = ("--admin-port", "0", "--config", str(config), "--faults", *arguments)
    with running_service("localcloud.servicebus", *options, data=folder / "servicebus") as service:
        yield service


@contextmanager
def frozen(process: "subprocess.Popen[str]") -> Iterator[None]:
    """It stands still inside: its connections stay open, and nothing is answered."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def azurite(folder: Path) -> Iterator[str]:
    """Azurite, where only its address matters."""
    with azurite_process(folder) as (_, address):
        yield address


@contextmanager
def azurite_process(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Azurite as the supervisor starts it, on ports that it chooses; the address of its blobs."""
    (plan,) = plan_services(Ports(0, 0, 0), root=ROOT, data=folder, only=["storage"])
    command = [part for part in plan.command if part != "--silent"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={LIFELINE_VARIABLE: "stdin", "PATH": "/usr/bin:/bin"},
    )
    try:
        yield process, blob_address(process)
    finally:
        process.terminate()
        process.communicate(timeout=20)


def blob_address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    said = ""
    while "Table service is successfully listening" not in said:
        line = process.stdout.readline()
        assert line, f"Azurite did not start:\n{said}"
        said += line
    return next(line.split()[-1] for line in said.splitlines() if "Blob service is successfully" in line)


def plan_faults(service: RunningService, *faults: dict[str, Any]) -> None:
    """Replace the faults that the service acts out."""
    _control(service, "/_localcloud/faults", list(faults))


def faults_hit(service: RunningService) -> int:
    return sum(fault["hits"] for fault in _control(service, "/_localcloud/faults", None))


def set_replica_lag(cosmos: RunningService, seconds: float) -> None:
    _control(cosmos, "/_localcloud/lag", {"seconds": seconds})


def _control(service: RunningService, path: str, body: Any) -> Any:
    base = service.addresses.get("admin") or service.addresses["endpoint"]
    request = urllib.request.Request(
        base + path,
        data=None if body is None else json.dumps(body).encode(),
        method="GET" if body is None else "PUT",
    )
    context = None
    if "ca" in service.addresses:
        import ssl  # noqa: PLC0415 - only AI Search speaks TLS

        context = ssl.create_default_context(cafile=service.addresses["ca"])
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        return json.loads(answer.read() or b"null")


def wait_for(condition: Any, *, seconds: float = 20, what: str = "the condition") -> Any:
    """Poll until the condition gives something true; what it gave."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"{what} did not come about within {seconds} s"
        time.sleep(0.02)
    return result
