"""`make run`, as a user starts it: from nothing to a report on the screen, without leftovers."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from tests.support.services import ROOT

pytestmark = pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model")

APP = (
    "function_app.py", "host.json", "infra", "local.settings.sample.json", "localcloud.toml", "models",
    "shared", "stages", "web",
)  # fmt: skip
STAGES = ("parsing", "chunking", "embedding", "orchestration", "summarization", "reporting")


def prepare(root: Path) -> None:
    for name in APP:
        if not (root / name).exists():
            (root / name).symlink_to(ROOT / name)


def run(root: Path, archive: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    """Start in a folder of its own, so that settings and data of a real start do not change."""
    prepare(root)
    start = [sys.executable, "-m", "localcloud", "up", "--root", str(root), "--once", *more]
    then = ["--", sys.executable, "-m", "tools.run_archives", str(archive)]
    return subprocess.run([*start, *then], cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)


def test_the_samples_go_through_all_stages_to_a_report_and_a_second_start_knows_them(tmp_path: Path) -> None:
    first = run(tmp_path, ROOT / "samples")
    lines = [line.split() for line in first.stdout.splitlines() if line.strip()]
    assert first.returncode == 0, first.stdout
    assert [line[0] for line in lines if line[0] in STAGES] == list(STAGES)
    assert ["reporting", "12", "threads"] in lines
    assert "View the thread: " in first.stdout
    assert "/threads/" in first.stdout
    assert "start again without --once" in first.stdout

    provisioned = (tmp_path / ".localcloud" / "prepared").stat().st_mtime_ns
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "tally.mbox").symlink_to(ROOT / "samples" / "tally.mbox")
    (folder / "README").write_text("Mail of a list.\n")
    second = run(tmp_path, folder)
    assert second.returncode == 1  # with the file that is no archive, which does not stop the others
    assert "not added: README: /api/archives: 415" in second.stdout
    assert "Call for adoption" in second.stdout
    assert (tmp_path / ".localcloud" / "prepared").stat().st_mtime_ns == provisioned
    assert "tally.mbox (already known)" in second.stdout


@pytest.mark.slow
def test_a_start_beside_another_hands_its_archive_over_and_leaves_that_one_running(tmp_path: Path) -> None:
    prepare(tmp_path)
    command = [sys.executable, "-m", "localcloud", "up", "--root", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert "The local cloud starts" in running.stdout.readline()
            # The first start is still running, and the second waits for it.
            second = run(tmp_path, ROOT / "samples" / "slowmail.mbox")
            assert second.returncode == 0, second.stdout + second.stderr
            assert f"(process {running.pid})" in second.stdout
            assert "View the thread" in second.stdout
            refused = run(tmp_path, ROOT / "samples", "--fresh")
            assert (refused.returncode, "in use by process" in refused.stderr) == (1, True)
            assert running.poll() is None
        finally:
            running.send_signal(signal.SIGINT)
            said, _ = running.communicate(timeout=60)
    assert running.returncode == 0, said


def test_what_is_no_archive_is_one_clear_line_and_the_exit_code_tells(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.txt"
    nothing.write_text("This is a shopping list.\n")
    ended = run(tmp_path, nothing)
    assert ended.returncode == 1
    assert "error: nothing.txt: /api/archives: 415" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr
