"""Microsoft's emulators with one command: start them, wait, provision, and print the next step.

    python infra/emulators.py start      (make emulators)
    python infra/emulators.py stop       (make emulators-stop)

AI Search has no emulator. The local AI Search is started with the emulators, and runs until `stop`.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "local.settings.sample.json"
COMPOSE = ("docker", "compose", "--file", str(ROOT / "compose.yaml"))
PROVISION = "shared.operations.provisioning"
OLDEST = (3, 11)
# The Service Bus emulator allows 10 connections: one for the host, and these for the app and for `ops`, plus
# one for each while it handles dead letters.
CONNECTIONS = {"SERVICEBUS_MAX_CONNECTIONS": "3"}
PAUSE = 0.5
SERVICES = {
    "storage": "Azure Storage (Azurite)",
    "servicebus": "Service Bus",
    "cosmos": "Cosmos DB",
    "search": "AI Search (local)",
}
NEXT = """Everything is ready. Next, in this folder:
    source .venv/bin/activate && func start     the app, on Microsoft's own host
Then open http://localhost:7071. `make emulators-stop` stops the emulators. They keep no data."""


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def version_of(*command: str) -> str | None:
    """Return the first version number in a tool's output, or None if the tool is missing or fails."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    return found[0] if done.returncode == 0 and found else None


def prerequisites() -> bool:
    """Print a line for each prerequisite. Only `func start` needs the Core Tools, the emulators do not."""
    docker, compose = version_of("docker", "--version"), version_of("docker", "compose", "version")
    tools, python = version_of("func", "--version"), sys.version.split()[0]
    has_tools = tools is not None and tools.startswith("4.")
    checks = [
        (docker is not None, f"Docker {docker}", "Docker: https://docs.docker.com/get-docker/"),
        (compose is not None, f"Docker Compose {compose}", "Docker Compose 2: it comes with Docker"),
        (sys.version_info >= OLDEST, f"Python {python}", f"Python {OLDEST[0]}.{OLDEST[1]} or newer"),
        (
            has_tools,
            f"Core Tools {tools}",
            "Core Tools 4 (for func start): npm install -g azure-functions-core-tools@4",
        ),
    ]
    for is_there, found, missing in checks:
        say(f"  ok       {found}" if is_there else f"  missing  {missing}")
    return all(is_there for is_there, _, _ in checks[:3])


def write_settings(folder: Path) -> dict[str, str]:
    """Return the existing settings. If there are none, create them from the sample."""
    file = folder / "local.settings.json"
    if not file.exists():
        sample = json.loads(SAMPLE.read_text())
        sample["Values"] |= CONNECTIONS
        file.write_text(json.dumps(sample, indent=2) + "\n")
        say(f"  written  {file.name}, from {SAMPLE.name}")
    values: dict[str, str] = json.loads(file.read_text())["Values"]
    for name in CONNECTIONS.keys() - values.keys():
        say(f"  add      {name}={CONNECTIONS[name]} to {file.name}: the emulator allows only 10 connections")
    return values


def start_search(folder: Path, settings: dict[str, str]) -> None:
    """Start the local AI Search in the background, unless one is already running."""
    address = urlsplit(settings["SEARCH_ENDPOINT"])
    if answers(address.hostname or "", address.port or 443):
        return
    data = folder / ".localcloud/search"
    data.mkdir(parents=True, exist_ok=True)
    with (data.parent / "search.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "localcloud.search", "--port", str(address.port), "--data", str(data)],
            cwd=ROOT, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    pid_file(folder).write_text(str(process.pid))


def pid_file(folder: Path) -> Path:
    return folder / ".localcloud/search.pid"


def wait_for(settings: Mapping[str, str], name: str, deadline: float) -> bool:
    """Print when the service is ready, or after the deadline that it is not, with the place to look."""
    while not _is_ready(settings, name):
        if time.monotonic() > deadline:
            say(f"  silent   {SERVICES[name]} at {_address(settings, name)}: {_remedy(name)}")
            return False
        time.sleep(PAUSE)
    say(f"  ready    {SERVICES[name]} at {_address(settings, name)}")
    return True


def answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


def _address(settings: Mapping[str, str], name: str) -> str:
    if name == "storage":
        return _blobs(settings["STORAGE_CONNECTION"])
    names = {
        "servicebus": "SERVICEBUS_ADMIN_ENDPOINT",
        "cosmos": "COSMOS_ENDPOINT",
        "search": "SEARCH_ENDPOINT",
    }
    return settings[names[name]]


def _blobs(connection: str) -> str:
    found = re.search(r"BlobEndpoint=([^;]+)", connection)
    return found[1] if found else "http://localhost:10000"  # UseDevelopmentStorage=true


def _is_ready(settings: Mapping[str, str], name: str) -> bool:
    """Return whether a service is ready.

    Service Bus and Cosmos DB listen earlier, so their responses are checked.
    """
    address = _address(settings, name)
    if name in ("servicebus", "cosmos"):
        return _is_ok(f"{address}/health" if name == "servicebus" else address)
    place = urlsplit(address)
    return answers(place.hostname or "", place.port or 443)


def _is_ok(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as response:  # noqa: S310
            return bool(response.status == 200)  # noqa: PLR2004 - OK
    except urllib.error.HTTPError as error:
        return error.code == 401  # noqa: PLR2004 - a Cosmos DB that requires a key is ready
    except OSError:
        return False


def _remedy(name: str) -> str:
    return "see .localcloud/search.log" if name == "search" else f"see `docker compose logs {name}`"


def provision(folder: Path, settings: dict[str, str]) -> int:
    """Create the database, containers, index and blob containers, unless they exist."""
    environment = {**settings, **os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", PROVISION], cwd=folder, env=environment, check=False
    ).returncode


def start(folder: Path, patience: float) -> int:
    if not prerequisites():
        return 1
    if subprocess.run([*COMPOSE, "up", "--detach", "--wait"], check=False).returncode != 0:
        say("  failed   docker compose up: see the lines above and `docker compose logs`")
        return 1
    settings = write_settings(folder)
    start_search(folder, settings)
    deadline = time.monotonic() + patience
    ready = [wait_for(settings, name, deadline) for name in SERVICES]
    if not all(ready):
        return 1
    if provision(folder, settings) != 0:
        say("  failed   provisioning: see the line above")
        return 1
    say("  created  database, containers, index, blob containers")
    say(NEXT)
    return 0


def stop(folder: Path) -> int:
    file = pid_file(folder)
    if file.exists():
        try:
            os.kill(int(file.read_text()), signal.SIGTERM)
        except ProcessLookupError:
            say("  gone     AI Search was not running")
        file.unlink()
    return subprocess.run([*COMPOSE, "down"], check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["start", "stop"])
    parser.add_argument("--folder", type=Path, default=ROOT, help="where local.settings.json and data are")
    parser.add_argument(
        "--patience", type=float, default=300, help="how many seconds to wait for all of them"
    )
    given = parser.parse_args()
    return start(given.folder, given.patience) if given.command == "start" else stop(given.folder)


if __name__ == "__main__":
    sys.exit(main())
