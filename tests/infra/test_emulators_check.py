"""`make emulators-check`: mail through the whole app, on the local cloud with the emulator's limits switched on."""

import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localcloud.up.settings_file import COSMOS_KEY, SEARCH_KEY
from shared.pipeline.topology import QUEUES
from tests.infra.conftest import ROOT
from tests.support.cloud import LocalCloud, servicebus_connection
from tests.support.services import RunningService, running_service

# The real host has one connection for all triggers; the dev host, which stands in for it, one for each.
CONNECTIONS = 10 - 1 + len(QUEUES)


@contextmanager
def webhook() -> Iterator[tuple[str, list[str]]]:
    """A receiver: its address, and the titles of the reports that it got."""
    titles: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            titles.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["title"])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/hook", titles
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings_of(cloud: LocalCloud, bus: RunningService, hook: str) -> dict[str, str]:
    return {
        "FUNCTIONS_WORKER_RUNTIME": "python",
        "AzureWebJobsStorage": cloud.storage_connection,
        "STORAGE_CONNECTION": cloud.storage_connection,
        "SERVICEBUS_CONNECTION": servicebus_connection(bus),
        "SERVICEBUS_ADMIN_ENDPOINT": bus.addresses["admin"],
        "SERVICEBUS_MAX_CONNECTIONS": "3",
        "COSMOS_ENDPOINT": cloud.cosmos.addresses["endpoint"],
        "COSMOS_KEY": COSMOS_KEY,
        "COSMOS_DATABASE": "emulators-check",
        "SEARCH_ENDPOINT": cloud.search.addresses["endpoint"],
        "SEARCH_KEY": SEARCH_KEY,
        "SEARCH_INDEX": "emulators-check",
        "SEARCH_CA_FILE": cloud.search.addresses["ca"],
        "EMBEDDING_MODEL_PATH": str(ROOT / "models/all-MiniLM-L6-v2"),
        "ORCHESTRATION_QUIET_SECONDS": "1",
        "WEBHOOK_ALLOWED_HOSTS": "127.0.0.1",
        "WEBHOOKS": json.dumps([{"name": "check", "url": hook, "secret": "s" * 16}]),
    }


def check(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "infra/emulators/check.py"), "--folder", str(folder), *arguments],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip


def test_without_settings_it_says_what_to_do(tmp_path: Path) -> None:
    done = check(tmp_path)

    assert (done.returncode, done.stdout) == (
        1,
        "  missing  local.settings.json: run `make emulators` first\n",
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_mail_goes_through_the_whole_pipeline_within_the_emulators_limits(
    cloud: LocalCloud, tmp_path: Path
) -> None:
    limits = ("--admin-port", "0", "--max-connections", str(CONNECTIONS))
    bus_folder, host_folder = tmp_path / "bus", tmp_path / "host"
    with (
        webhook() as (hook, titles),
        running_service("localcloud.servicebus", *limits, data=bus_folder) as bus,
        pytest.MonkeyPatch.context() as environment,
    ):
        settings = settings_of(cloud, bus, hook)
        (tmp_path / "local.settings.json").write_text(json.dumps({"IsEncrypted": False, "Values": settings}))
        for name, value in settings.items():
            environment.setenv(name, value)
        provisioned = subprocess.run(
            [sys.executable, "-m", "shared.upkeep.provisioning"], cwd=ROOT, env=os.environ, check=False
        )
        with running_service("localcloud.functions", "--root", str(ROOT), data=host_folder) as host:
            done = check(tmp_path, "--app", host.addresses["http"], "--patience", "240")
            with urllib.request.urlopen(f"{bus.addresses['admin']}/health", timeout=10) as answer:
                counts = json.loads(answer.read())["connections"]

    assert provisioned.returncode == 0
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:-1]] == ["ok", "taken", "ok", "ok", "ok"]
    assert counts["refused"] == 0
    assert len(QUEUES) < counts["most"] <= CONNECTIONS
    assert len(titles) == 2  # both reports, by the messages that were scheduled for them
