"""Checks of the documentation: everything that it names must exist."""

import importlib.util
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TOP_LEVEL = ("benchmarks", "bicep", "docs", "evaluation", "infra", "localcloud", "ops", "samples", "shared", "stages", "tests", "tools", "web")  # fmt: skip
# `make` and a run create these. The docs name them, and a new checkout lacks them.
MADE_BY_RUNNING = ("models/", "build/", ".venv", ".localcloud")


def documents() -> list[Path]:
    at_the_root = [
        ROOT / name
        for name in ("README.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
    ]
    return [*at_the_root, *sorted(DOCS.rglob("*.md"))]


def relative_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


every_document = pytest.mark.parametrize("document", documents(), ids=relative_name)


def code_spans(text: str) -> Iterator[str]:
    """Return the text between backticks, and the lines of code blocks."""
    yield from re.findall(r"`([^`\n]+)`", text)
    for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"^ {4,}(\S.*)$", text, re.MULTILINE)


@every_document
def test_every_file_that_a_document_links_to_exists(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text(encoding="utf-8"))
    missing = [link for link in links if not (document.parent / link).exists()]

    assert not missing


def anchors(document: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub builds them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower()).replace(" ", "-")
        for heading in headings
    }


@every_document
def test_every_heading_that_a_document_links_to_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)", text)
    missing = [
        f"{page}#{anchor}"
        for page, anchor in links
        if anchor not in anchors(document.parent / page if page else document)
    ]

    assert not missing


def paths_in(code: str) -> Iterator[str]:
    """Return the repository's paths in a piece of code. Patterns and placeholders are not paths."""
    for word in re.findall(r"[\w./*<>{}$-]+", code):
        name = word.removeprefix("./").rstrip(".")
        first = name.split("/")[0]
        if "/" in name and first in TOP_LEVEL and not set(name) & set("*<>{}$"):
            yield name


def new_files(text: str) -> set[str]:
    """Return the files that a tutorial creates."""
    return set(re.findall(r"^New file `([^`]+)`:$", text, re.MULTILINE))


def is_there(name: str) -> bool:
    """Return whether the path is a file, a folder, or a module without its ending."""
    return (ROOT / name).exists() or (ROOT / f"{name}.py").exists()


@every_document
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = {path for code in code_spans(text) for path in paths_in(code)} - new_files(text)
    missing = sorted(path for path in named if not path.startswith(MADE_BY_RUNNING) and not is_there(path))

    assert not missing


def modules_in(code: str) -> Iterator[str]:
    """Return the modules of `python -m`, and those imported from the project."""
    yield from re.findall(r"python3? -m ([\w.]+)", code)
    yield from re.findall(rf"^from ((?:{'|'.join(TOP_LEVEL)})[\w.]*) import", code)


def can_be_imported(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@every_document
def test_every_module_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    created = {path.removesuffix(".py").replace("/", ".") for path in new_files(text)}
    named = {name for code in code_spans(text) for name in modules_in(code)} - created
    missing = sorted(name for name in named if not can_be_imported(name))

    assert not missing


def make_targets(folder: str) -> set[str]:
    return set(
        re.findall(r"^([a-z-]+):", (ROOT / folder / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )


@every_document
def test_every_make_target_that_a_document_names_exists(document: Path) -> None:
    named = re.findall(r"`make (?:-C (\S+) )?([a-z][a-z-]*)", document.read_text(encoding="utf-8"))

    assert [target for folder, target in named if target not in make_targets(folder)] == []


def test_the_checks_find_what_is_missing() -> None:
    code = "see shared/nowhere/at_all.py, shared/core/ids.py and shared/*/x.py; python -m shared.nowhere"

    assert [path for path in paths_in(code) if not is_there(path)] == ["shared/nowhere/at_all.py"]
    assert [name for name in modules_in(code) if not can_be_imported(name)] == ["shared.nowhere"]


def test_the_docs_say_what_the_system_is_and_not_how_it_came_about() -> None:
    history = re.compile(
        r"\bthis session\b|\bearlier sessions\b|\bthe specification\b|\bspec 00\d\b|\bsignpost|\bhere it was asked\b",
        re.IGNORECASE,
    )
    found = [
        f"{relative_name(document)}: {match}"
        for document in documents()
        for match in history.findall(document.read_text(encoding="utf-8"))
    ]

    assert not found


def minor_versions(requires_python: str) -> list[str]:
    bounds = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", requires_python)
    assert bounds is not None, requires_python
    return [f"3.{minor}" for minor in range(int(bounds[1]), int(bounds[2]))]


def test_every_python_that_we_admit_is_tested_and_its_lock_checked() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    admitted = minor_versions(project["requires-python"])

    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == admitted
    assert f"--universal --python-version {admitted[0]}\n" in makefile


def test_the_changelog_has_the_version() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert f"## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


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
    page = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
    section = page.partition("### Something is inconsistent")[2].partition("###")[0]
    assert "repairs what they find" in section
    assert "without repair" not in section


ODD_TEXTS = {
    "one whom the list": "Decided by the chair.",
    "or being changed": "promised changes",
    "not seen to be": "apparently unresolved",
    "Nothing seen": "nothing found",
    "shares its name with": "used by several addresses",
    "by who proposed it": "Rejected or withdrawn",
    "no result seen": "no result found",
    "decision seen": "decision found",
    " Spoken: ": "Heard from:",
    "Calendar of their": "Deadlines (iCal)",
    "What you say holds": "Your correction replaces",
    "in so many words": "No explicit positions found.",
    "not follow any more": "Unfollow",
    "You follow nothing": "You aren't following anything yet",
    "As it stands in": "Original copy",
    "More of its writer": "More from this sender",
    "What came of it": "Outcome",
    ">Lately<": "Recent",
    "'Lately'": "Recent",
    ">Shown by<": "Evidence",
    "by words and meaning": "keyword and semantic",
    "something rests on": "Evidence sentences",
    "How its people": "Decision process",
    "of this list is like this": "No threads match.",
    "once it is through": "New mail is searchable once processed",
    "open or was given up": "Nothing pending or failed.",
    "Skip to the text": "Skip to content",
    "Who answers whom": "Reply tree",
    "Choose and sort": "Filter and sort",
    ">whole mail<": "Full message",
}
"""Texts that native readers find odd, and better ones."""


def odd_texts_in(text: str) -> dict[str, str]:
    return {odd: better for odd, better in ODD_TEXTS.items() if odd in text}


@pytest.mark.parametrize("folder", ["localcloud/src", "ops", "shared", "web"])
def test_no_text_that_readers_found_odd_is_shown(folder: str) -> None:
    files = [
        path
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".html", ".js", ".md"} and "node_modules" not in path.parts
    ]
    assert files
    found = {relative_name(path): odd_texts_in(path.read_text()) for path in files}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_an_odd_text_is_found_with_its_better_one() -> None:
    assert odd_texts_in("<dt>What came of it</dt>") == {"What came of it": "Outcome"}
    assert odd_texts_in("<dt>Outcome</dt>") == {}
