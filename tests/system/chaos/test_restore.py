"""The restore drill: each store is deleted with its data, and the runbook's commands restore it.

The commands are those of docs/operate.md. A test fails if one of them is missing there.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.support.cloud import wait_for
from tests.support.services import ROOT
from tests.system.chaos.end_state import QUERIES, end_state
from tests.system.chaos.test_chaos import PASSING, SAMPLES, Passing, ask, is_complete, settle, upload
from tests.system.chaos.world import HOSTS, STORAGE, World, world

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model"),
]
RUNBOOK = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8").partition("### Disaster recovery")[2]
PROVISION = "python -m shared.operations.provisioning"
VERIFY, REPAIR = "python -m ops verify --recent", "python -m ops verify --repair --recent"
DAMAGED = 3


@dataclass
class Place:
    app: World
    archives: list[str] = field(default_factory=list)
    files: dict[str, tuple[Path, str]] = field(default_factory=dict)  # by archive: its file and its source
    calm: dict[str, Any] = field(default_factory=dict)

    def run(self, command: str, *more: str, ends: tuple[int, ...] = (0,)) -> str:
        assert command in RUNBOOK, f"docs/operate.md has no `{command}`"
        done = subprocess.run(
            [sys.executable, *command.split()[1:], *more, *(["--yes"] if "--repair" in command else [])],
            cwd=ROOT, env={**os.environ, **self.app.values()}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in ends, (command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout + done.stderr

    def lose(self, name: str) -> None:
        """Stop the app, delete the store with all of its data, and start an empty one."""
        for running in (*HOSTS, name):
            if running in self.app.running:
                self.app.kill(running)
        for part in (self.app.folder / name).iterdir():
            if part.name != "tls":  # the identity stays, as an address in Azure does
                shutil.rmtree(part) if part.is_dir() else part.unlink()
        self.app.start(name)

    def start_app(self) -> None:
        for host in HOSTS:
            self.app.start(host)
        wait_for(lambda: ask("GET", f"{self.app.app()}/api/health"), seconds=90, what="the app")

    def ingest_again(self) -> None:
        for file, source in self.files.values():
            self.run("python -m ops archive ingest", str(file), "--source", source)

    def is_as_before(self) -> None:
        ended = settle(self.app, self.archives, Passing(self.app))
        for kind, expected in self.calm.items():
            assert ended[kind] == expected, kind


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with world(tmp_path_factory.mktemp("restore")) as app:
        place = Place(app)
        for sample in SAMPLES:
            id_ = upload(app, sample.source, sample.path.name, sample.path.read_bytes())
            place.archives.append(id_)
            place.files[id_] = sample.path, sample.source
        place.calm = settle(app, place.archives, Passing(app))
        assert all(place.calm[kind] for kind in (*QUERIES, "vectors"))
        yield place


def test_a_lost_index_is_made_again_from_the_database(place: Place) -> None:
    place.lose("search")
    place.run(PROVISION)
    assert not any(end_state(place.app.settings())["vectors"])
    place.start_app()
    assert "chunk without vector" in place.run(REPAIR, ends=(0, DAMAGED))
    place.is_as_before()
    place.run(VERIFY)


def test_a_lost_bus_loses_no_document_as_the_sweep_asks_again(place: Place) -> None:
    for host in HOSTS[1:]:
        place.app.kill(host)
    file = place.app.folder / "waiting.mbox"
    file.write_text(PASSING.format("waiting"))
    waiting = upload(place.app, "passing", file.name, file.read_bytes())
    place.lose("servicebus")
    place.start_app()
    wait_for(lambda: is_complete(place.app, waiting), seconds=300, what="the archive whose event was lost")
    ask("DELETE", f"{place.app.app()}/api/archives/{waiting}")
    wait_for(
        lambda: ask("GET", f"{place.app.app()}/api/archives/{waiting}") is None, seconds=120, what="deletion"
    )
    place.is_as_before()
    place.run(VERIFY)


def test_lost_files_are_named_and_come_back_from_the_same_files(place: Place) -> None:
    place.lose(STORAGE)
    place.run(PROVISION)
    place.start_app()
    assert "archive without file" in place.run(VERIFY, ends=(DAMAGED,))
    place.is_as_before()  # threads and reports do not depend on the files
    place.ingest_again()
    place.run(VERIFY)
    place.is_as_before()


def test_a_lost_database_is_made_again_from_the_files(place: Place, tmp_path: Path) -> None:
    """Without a backup, entered data is lost: sources, corrections, records."""
    place.lose("cosmos")
    place.run(PROVISION)
    place.start_app()
    assert "vector without chunk" in place.run(REPAIR, ends=(0, DAMAGED))
    with BlobServiceClient.from_connection_string(place.app.values()["STORAGE_CONNECTION"]) as service:
        stored = service.get_container_client(ARCHIVES_CONTAINER)
        for path in stored.list_blob_names():
            if (known := path.partition("/")[0]) in place.files:
                copy = tmp_path / path
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(stored.download_blob(path).readall())
                place.files[known] = copy, place.files[known][1]
    assert all(str(file).startswith(str(tmp_path)) for file, _ in place.files.values())
    place.ingest_again()
    place.is_as_before()
    place.run(VERIFY)
