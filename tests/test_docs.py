"""The documentation is checked as the code is."""

import re
import subprocess
from pathlib import Path

import pytest

from shared.settings.app import Settings

ROOT = Path(__file__).resolve().parents[1]


def existing_tests() -> set[str]:
    return {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    }


def test_every_test_that_the_coverage_table_names_exists() -> None:
    table = (ROOT / "docs" / "spec-coverage.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", table))
    assert len(named) > 30
    assert named <= existing_tests(), named - existing_tests()


def documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_every_file_that_a_document_links_to_exists(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text(encoding="utf-8"))
    missing = [link for link in links if not (document.parent / link).exists()]
    assert not missing


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_every_make_target_that_a_document_names_exists(document: Path) -> None:
    named = set(re.findall(r"`make ([a-z-]+)", document.read_text(encoding="utf-8")))
    assert named <= make_targets()


def test_no_path_of_a_machine_and_no_registry_is_committed() -> None:
    hosts = [
        "registry.npmjs" + ".org",
        "files.pythonhosted" + ".org",
        "//pypi" + ".org",
        "deb.debian" + ".org",
    ]
    tracked = subprocess.run(
        ["git", "grep", "-lIE", "|".join(["/work/(main|wt|steering)", *hosts])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if tracked.returncode == 128:
        pytest.skip("not a git checkout")
    assert tracked.stdout.split() == []


def test_the_operators_page_says_that_the_nightly_check_repairs() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.partition("### Something is inconsistent")[2].partition("###")[0]
    assert Settings.model_fields["INTEGRITY_REPAIR"].default is True
    assert "INTEGRITY_REPAIR" in section
    assert "without repair" not in section
