"""The section "Your first change" of CONTRIBUTING.md, executed step by step in a copy of the project."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.services import ROOT
from tools.tracked import tracked

HEADING = "## Your first change\n"
BLOCK = re.compile(r"^(?P<step>[^\n]*)\n```\w*\n(?P<content>.*?)^```$", re.DOTALL | re.MULTILINE)
NEW_FILE = re.compile(r"New file `(?P<file>[^`]+)`:")
AT_THE_END = re.compile(r"At the end of `(?P<file>[^`]+)`:")
AT_A_LINE = re.compile(r"In `(?P<file>[^`]+)`, (?P<how>after|before|replace) `(?P<line>[^`]+)`:")
TO_A_LIST = re.compile(r"In `(?P<file>[^`]+)`, add to `(?P<list>[^`]+)` after `(?P<name>[^`]+)`:")
GENERATED = (
    "tests/models/test_documents.py",
    "tests/tools/test_module_lines.py",
)  # both compare generated files


def steps() -> list[tuple[str, str]]:
    """Return each code block of the section with the line above it."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, heading, rest = page.partition(HEADING)
    assert heading
    section = rest.partition("\n## ")[0]
    found = [(block["step"], block["content"]) for block in BLOCK.finditer(section)]
    assert len(found) == section.count("\n```") // 2
    return found


def apply_step(root: Path, step: str, content: str) -> None:
    """Change the file as the step says. Raise ValueError if the step does not apply."""
    if match := NEW_FILE.fullmatch(step):
        file = root / match["file"]
        if file.exists():
            raise ValueError(f"{match['file']} exists already")
        file.write_text(content, encoding="utf-8")
    elif match := AT_THE_END.fullmatch(step):
        with (root / match["file"]).open("a", encoding="utf-8") as file_at_end:
            file_at_end.write(f"\n\n{content}")
    elif match := AT_A_LINE.fullmatch(step):
        change_at_line(root / match["file"], match["how"], match["line"], content)
    elif match := TO_A_LIST.fullmatch(step):
        add_to_list(root / match["file"], match["list"], match["name"], json.loads(content))
    else:
        raise ValueError(f"not a step: {step!r}")


def change_at_line(file: Path, how: str, line: str, content: str) -> None:
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    places = [number for number, text in enumerate(lines) if text.strip() == line]
    if len(places) != 1:
        raise ValueError(f"{file.name} has {len(places)} lines {line!r}")
    start = places[0] + (how == "after")
    lines[start : start + (how == "replace")] = [content]
    file.write_text("".join(lines), encoding="utf-8")


def add_to_list(file: Path, name: str, after: str, item: dict[str, Any]) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    places = [
        (items, position)
        for items in lists_in(document, name)
        for position, other in enumerate(items)
        if other["Name"] == after
    ]
    if len(places) != 1:
        raise ValueError(f"{file.name} has {len(places)} {name} with {after!r}")
    items, position = places[0]
    items.insert(position + 1, item)
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def lists_in(value: Any, name: str) -> list[list[dict[str, Any]]]:
    """Return all lists with this name in the document."""
    if isinstance(value, list):
        return [found for child in value for found in lists_in(child, name)]
    if not isinstance(value, dict):
        return []
    here = [value[name]] if isinstance(value.get(name), list) else []
    return here + [found for child in value.values() for found in lists_in(child, name)]


def run(root: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "localcloud/src")])}
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{shlex.join(arguments)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for path in tracked():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)
    return tmp_path


def test_the_first_change_works_as_written(copy: Path) -> None:
    *changes, (last, commands) = steps()
    assert last == "Run:"
    assert len(changes) >= 15
    for step, content in changes:
        apply_step(copy, step, content)
    outputs = [run(copy, *shlex.split(command.removeprefix("python "))) for command in commands.splitlines()]
    assert re.search(r"\b\d+ passed", outputs[-1])
    assert "skipped" not in outputs[-1]
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *GENERATED)
    run(copy, str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache")
    changed = sorted({path for step, _ in changes for path in re.findall(r"`([\w/]+\.py)`", step)})
    assert len(changed) >= 8
    run(copy, "-m", "ruff", "check", "--no-cache", *changed)
    run(copy, "-m", "ruff", "format", "--check", "--no-cache", *changed)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("New file `file.py`:", "exists already"),
        ("In `file.py`, after `third`:", "0 lines 'third'"),
        ("In `file.py`, replace `first`:", "2 lines 'first'"),
        ("In `list.json`, add to `Queues` after `other`:", "0 Queues with 'other'"),
        ("Somewhere in `file.py`:", "not a step"),
    ],
)
def test_a_step_that_does_not_apply_is_an_error(step: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text("first\nsecond\nfirst\n")
    (tmp_path / "list.json").write_text('{"Queues": [{"Name": "parsing"}]}')
    with pytest.raises(ValueError, match=problem):
        apply_step(tmp_path, step, "{}")
