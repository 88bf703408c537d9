import json
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from shared.embedding.openvino.build import (
    WEIGHTS_SHA256,
    WeightsError,
    is_current,
    locate_package,
    main,
    read_weights,
)
from shared.embedding.openvino.encoder import OpenVinoEncoder
from shared.embedding.openvino.model_folder import Manifest, ModelFolderError, Precision, sha256
from tests.support.services import ROOT


@pytest.fixture
def copied(model_folder: Path, tmp_path: Path) -> Path:
    """Return a folder of links, so that a test can replace single files."""
    folder = tmp_path / "copied"
    folder.mkdir()
    for file in model_folder.iterdir():
        (folder / file.name).symlink_to(file)
    (folder / "manifest.json").unlink()
    shutil.copyfile(model_folder / "manifest.json", folder / "manifest.json")
    return folder


def test_the_folder_holds_the_graphs_the_tokenizer_the_notice_and_their_hashes(model_folder: Path) -> None:
    manifest = Manifest.read(model_folder)
    assert set(manifest.files) == {"NOTICE", "fp32.bin", "fp32.xml", "int8.bin", "int8.xml", "tokenizer.json"}
    assert all(sha256(model_folder / name) == digest for name, digest in manifest.files.items())
    assert (manifest.model, manifest.dimension, manifest.window) == ("all-MiniLM-L6-v2", 384, 256)
    assert manifest.weights_sha256 == WEIGHTS_SHA256
    assert "Apache License, Version 2.0" in (model_folder / "NOTICE").read_text()


def test_the_package_has_the_weights_of_the_public_original() -> None:
    assert sha256(locate_package() / "model.safetensors") == WEIGHTS_SHA256


def test_weights_that_were_changed_are_refused(tmp_path: Path) -> None:
    content = bytearray((locate_package() / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(WeightsError, match=f"not {WEIGHTS_SHA256}"):
        read_weights(tmp_path)
    assert main(["--weights", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="is missing"):
        read_weights(tmp_path)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "files", missing)
    with pytest.raises(WeightsError, match=r"--no-deps -r requirements-model\.txt"):
        locate_package()


@pytest.mark.parametrize("name", ["fp32.bin", "fp32.xml", "tokenizer.json"])
def test_a_file_that_was_changed_is_not_loaded(copied: Path, name: str) -> None:
    content = (copied / name).read_bytes()
    (copied / name).unlink()
    (copied / name).write_bytes(content + b" ")
    assert not is_current(copied)
    with pytest.raises(ModelFolderError, match=f"{name} is not the file that was built"):
        OpenVinoEncoder(copied, precision=Precision.FP32)


def test_a_missing_folder_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match=r"python -m shared\.embedding\.openvino\.build --out"):
        OpenVinoEncoder(tmp_path / "none")


@pytest.mark.parametrize("content", ["{}", "no json", '{"format": 1}', "[]"])
def test_a_manifest_that_is_none_is_refused(copied: Path, content: str) -> None:
    (copied / "manifest.json").write_text(content)
    with pytest.raises(ModelFolderError, match="not a manifest"):
        Manifest.read(copied)


def test_a_manifest_of_another_format_is_refused(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(json.dumps({**manifest, "format": 2}))
    with pytest.raises(ModelFolderError, match="format 2"):
        Manifest.read(copied)


def test_a_graph_that_computes_something_else_is_refused(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["probe_vector"] = manifest["probe_vector"][::-1]
    (copied / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelFolderError, match="wrong vector"):
        OpenVinoEncoder(copied)


def test_the_command_leaves_a_current_folder_and_a_strangers_folder_alone(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (copied / "fp32.bin").stat().st_mtime_ns
    assert main(["--out", str(copied)]) == 0
    assert "is current" in capsys.readouterr().out
    assert (copied / "fp32.bin").stat().st_mtime_ns == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    assert main(["--out", str(tmp_path / "mine")]) == 1
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_the_command_builds_a_folder_that_encodes(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "model"
    command = [sys.executable, "-m", "shared.embedding.openvino.build", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "384 dimensions" in done.stdout
    assert [path.name for path in out.parent.iterdir()] == ["model"]
    assert OpenVinoEncoder(out).encode(["one"]).shape == (1, 384)
