"""A second start skips an unchanged preparation, and loads the app while the services start."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localcloud.up.preparation import Preparation
from tests.support.services import ROOT

APP = "import azure.functions as func\nprint('the app is loaded', flush=True)\napp = func.FunctionApp()\n"


@pytest.fixture
def preparation(tmp_path: Path) -> Preparation:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("1")
    (tmp_path / "store").mkdir()
    return Preparation(
        ("prepare",),
        stamp=tmp_path / "stamp",
        root=tmp_path,
        files=("code/**/*.py",),
        folders=(tmp_path / "store",),
        variables=("TOY_",),
    )


def test_it_is_done_once_it_was_noted_and_stays_so(preparation: Preparation) -> None:
    assert not preparation.is_done({"A": "1"})
    preparation.note_done({"A": "1"})
    assert preparation.is_done({"A": "1"})
    assert not preparation.is_done({"A": "2"})


def another_file(root: Path) -> None:
    (root / "code" / "two.py").write_text("2")


def changed_file(root: Path) -> None:
    (root / "code" / "one.py").write_text("1 + 1")


def another_store(root: Path) -> None:
    """Replace the store. The old one is kept, so that its inode number is not reused."""
    (root / "store").rename(root / "old")
    shutil.copytree(root / "old", root / "store")


def without_stamp(root: Path) -> None:
    (root / "stamp").unlink()


@pytest.mark.parametrize("change", [another_file, changed_file, another_store, without_stamp])
def test_a_change_of_code_or_stores_has_it_done_again(
    preparation: Preparation, change: Callable[[Path], None]
) -> None:
    preparation.note_done({})
    assert preparation.is_done({})
    change(preparation.root)
    assert not preparation.is_done({})


def test_variables_that_it_reads_count_and_others_do_not(
    preparation: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    preparation.note_done({})
    monkeypatch.setenv("OTHER", "x")
    assert preparation.is_done({})
    monkeypatch.setenv("TOY_MODEL", "x")
    assert not preparation.is_done({})


def host(root: Path, gate: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "localcloud.functions", "--root", str(root), "--port", "0"]
    return subprocess.Popen(
        [*command, "--data", str(root / "data"), "--after", str(gate)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_until(process: "subprocess.Popen[str]", words: str) -> list[str]:
    assert process.stdout is not None
    said: list[str] = []
    while line := process.stdout.readline():
        said.append(line)
        if words in line:
            return said
    raise AssertionError(f"it never said {words!r}: {said}")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "function_app.py").write_text(APP)
    (tmp_path / "host.json").write_text('{"version": "2.0"}')
    return tmp_path


def test_the_host_loads_the_app_and_continues_after_its_gate(app: Path) -> None:
    gate = app / "gate"
    with host(app, gate) as process:
        try:
            said = read_until(process, "the app is loaded")
            assert not any(line.startswith("READY") for line in said)
            gate.touch()
            read_until(process, "READY ")
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_waiting_host_stops_on_a_signal(app: Path) -> None:
    with host(app, app / "gate") as process:
        read_until(process, "the app is loaded")
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
    assert (process.returncode, "READY" in said, "Traceback" in said) == (0, False, False)
