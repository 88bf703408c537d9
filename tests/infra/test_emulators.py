"""`make emulators` with a fake docker on the PATH: its calls, its output, and what it creates."""

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from shared.models.containers import CONTAINERS
from shared.settings.app import load_settings
from tests.infra.conftest import ROOT
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SCRIPT = ROOT / "infra/emulators.py"
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in
  *version*) echo "$(basename "$0") version ${VERSION:-4.0.5}" ;;
  *up*) exit "${UP_ENDS:-0}" ;;
esac
"""


class Desk:
    """A folder with fake tools and its own settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        self.path = folder / "bin"
        self.path.mkdir()
        (self.path / "python3").symlink_to(sys.executable)
        for name in ("sh", "basename"):
            (self.path / name).symlink_to(shutil.which(name) or name)

    def has(self, *tools: str) -> None:
        for tool in tools:
            file = self.path / tool
            file.write_text(STAND_IN)
            file.chmod(0o755)

    def run(self, command: str = "start", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(SCRIPT), command, "--folder", str(self.folder), "--patience", "20"],
            env={"PATH": str(self.path), "CALLS": str(self.calls), "HOME": str(self.folder), **environment},
            cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def asked(self) -> list[str]:
        return self.calls.read_text().splitlines()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def emulators() -> ModuleType:
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        spec = importlib.util.spec_from_file_location("emulators", SCRIPT)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(SCRIPT.parent))


def test_each_prerequisite_has_a_line_and_what_is_missing_says_how_to_get_it(desk: Desk) -> None:
    done = desk.run()
    lines = done.stdout.splitlines()

    assert done.returncode == 1
    assert [line.split()[0] for line in lines] == ["missing", "missing", "ok", "missing"]
    assert "https://docs.docker.com" in lines[0]
    assert "azure-functions-core-tools@4" in lines[3]


def test_old_core_tools_are_named_and_the_emulators_start_without_them(desk: Desk) -> None:
    desk.has("docker", "func")
    done = desk.run(VERSION="3.0.1", UP_ENDS="1")

    assert "missing  Core Tools 4" in done.stdout
    assert any(" up " in line for line in desk.asked())


def test_emulators_that_do_not_start_are_said_so(desk: Desk) -> None:
    desk.has("docker", "func")
    done = desk.run(UP_ENDS="1")

    assert done.returncode == 1
    assert "docker compose logs" in done.stdout
    assert not (desk.folder / "local.settings.json").exists()


def test_everything_is_waited_for_and_made(desk: Desk, cloud: AppCloud, bus_service: RunningService) -> None:
    """The local cloud replaces the containers, on other ports, by the existing settings."""
    desk.has("docker", "func")
    settings = {
        "FUNCTIONS_WORKER_RUNTIME": "python",
        **cloud.storage.settings,
        **bus_service.settings,
        **cloud.cosmos.settings,
        **cloud.search.settings,
        "SERVICEBUS_MAX_CONNECTIONS": "3",
        "COSMOS_DATABASE": "emulated",
        "SEARCH_INDEX": "emulated",
    }
    (desk.folder / "local.settings.json").write_text(json.dumps({"IsEncrypted": False, "Values": settings}))

    done = desk.run()

    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:9]] == ["ok"] * 4 + ["ready"] * 4 + [
        "created"
    ]
    assert "func start" in done.stdout
    assert containers_of(settings) == CONTAINERS.keys()
    assert not (desk.folder / ".localcloud").exists()  # a search service answers, so no other is started
    assert json.loads((desk.folder / "local.settings.json").read_text())["Values"] == settings


def containers_of(settings: dict[str, str]) -> set[str]:
    from azure.cosmos import CosmosClient  # noqa: PLC0415

    client = CosmosClient(settings["COSMOS_ENDPOINT"], settings["COSMOS_KEY"])
    database = client.get_database_client(settings["COSMOS_DATABASE"])
    return {container["id"] for container in database.list_containers()}


def test_settings_are_written_where_there_are_none_and_left_alone_where_there_are(tmp_path: Path) -> None:
    module = emulators()
    written = module.write_settings(tmp_path)
    file = tmp_path / "local.settings.json"
    file.write_text(file.read_text().replace("consensus", "mine"))

    assert load_settings(written).COSMOS_DATABASE == "consensus"
    assert load_settings(written).SERVICEBUS_MAX_CONNECTIONS == 3  # the emulator allows ten in total
    assert module.write_settings(tmp_path)["COSMOS_DATABASE"] == "mine"


STARTS_SEARCH = """
import sys, time, pathlib
import emulators
settings = {"SEARCH_ENDPOINT": sys.argv[2]}
emulators.start_search(pathlib.Path(sys.argv[1]), settings)
sys.exit(not emulators.wait_for(settings, "search", time.monotonic() + 30))
"""


def test_our_search_service_runs_beside_them_until_they_are_stopped(desk: Desk) -> None:
    desk.has("docker")
    port = free_port()
    started = subprocess.run(
        [sys.executable, "-c", STARTS_SEARCH, str(desk.folder), f"https://localhost:{port}"],
        env={**os.environ, "PYTHONPATH": str(SCRIPT.parent)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    stopped = desk.run("stop")
    deadline = time.monotonic() + 20
    while is_open(port) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert (started.returncode, stopped.returncode) == (0, 0), started.stdout + started.stderr
    assert not is_open(port)
    assert desk.asked()[-1].endswith(" down")
    assert not (desk.folder / ".localcloud/search.pid").exists()


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def is_open(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def test_images_are_pinned_by_digest_and_ports_are_open_to_this_machine_only() -> None:
    for service in COMPOSE["services"].values():
        assert re.fullmatch(r"mcr\.microsoft\.com/[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", service["image"])
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_the_sample_settings_are_the_addresses_of_the_emulators() -> None:
    values = json.loads((ROOT / "local.settings.sample.json").read_text())["Values"]
    ports = {
        int(port.split(":")[1])
        for service in COMPOSE["services"].values()
        for port in service.get("ports", [])
    }

    assert urlsplit(values["COSMOS_ENDPOINT"]).port in ports
    assert urlsplit(values["SERVICEBUS_ADMIN_ENDPOINT"]).port in ports
    assert {5672, 10000} <= ports
    assert urlsplit(values["SEARCH_ENDPOINT"]).port not in ports


def test_the_service_bus_emulator_waits_for_its_database_and_reads_our_entities() -> None:
    bus = COMPOSE["services"]["servicebus"]

    assert bus["depends_on"] == {"sql": {"condition": "service_healthy"}}
    assert "healthcheck" in COMPOSE["services"]["sql"]
    (mount,) = bus["volumes"]
    assert (ROOT / mount.split(":")[0]).is_file()
