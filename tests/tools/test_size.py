"""`make size` counts correctly, and a figure that rises fails."""

import ast
import json
import subprocess
from pathlib import Path

import pytest

from tools import size
from tools.prose import count_hits, find_hits
from tools.size import Modules, count_patterns, find_risen, find_settings, part_of
from tools.tracked import tracked


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modules:
    """Create four modules: a imports b and c, which import each other, and c imports d."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "a.py": "import b\n",
        "b.py": "import c\n",
        "c.py": "def use():\n    import b\n    from d import x\n",
        "d.py": "x = 1\n\ny = 2\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    return Modules([Path(name) for name in texts])


def test_the_closure_holds_everything_that_a_module_imports(modules: Modules) -> None:
    assert modules.closure("c") == {"b", "c", "d"}
    assert modules.lines(modules.closure("c")) == 7


def test_a_cycle_counts_as_one_module_of_the_chain(modules: Modules) -> None:
    assert modules.longest_chain() == 3


def test_a_risen_figure_and_a_new_one_are_found() -> None:
    figures = {"lines": 11.0, "modules": 2.0, "words": 5.0, "new": 1.0}
    assert find_risen(figures, {"lines": 10, "modules": 2, "words": 6}) == ["lines", "new"]


@pytest.mark.parametrize(("committed", "code"), [(2, 0), (1, 1)])
def test_the_command_fails_when_a_figure_exceeds_the_committed_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    committed: int,
    code: int,
) -> None:
    figures = tmp_path / "size.json"
    figures.write_text(json.dumps({"modules": committed}), encoding="utf-8")
    monkeypatch.setattr(size, "FIGURES", figures)
    monkeypatch.setattr(size, "measure", lambda: {"modules": 2})
    monkeypatch.setattr("sys.argv", ["size"])
    assert size.main() == code
    assert ("above the committed 1" in capsys.readouterr().out) == bool(code)


def test_writing_commits_to_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "FIGURES", tmp_path / "size.json")
    monkeypatch.setattr(size, "measure", lambda: {"modules": 2})
    monkeypatch.setattr("sys.argv", ["size", "--write"])
    assert size.main() == 0
    assert json.loads((tmp_path / "size.json").read_text(encoding="utf-8")) == {"modules": 2}


def test_a_pattern_of_several_pieces_is_one_row_and_prose_is_none() -> None:
    tree = ast.parse('"""Finds \\\\b."""\nrows = (r"\\bno\\b", r"a " + END + r"\\w", "plain", f"{X}(?:y)")\n')
    assert count_patterns(tree) == 3


def test_settings_are_fields_and_variables_that_the_code_reads() -> None:
    trees = {
        "shared.settings.app": ast.parse("class S:\n    COSMOS_KEY: str\n    kind: str\n"),
        "web.access": ast.parse(
            "NAME = 'BY_NAME'\nos.environ.get(NAME)\nos.environ['DIRECT']\nother.get('NO')"
        ),
    }
    assert find_settings(trees, "shared.settings.") == {"COSMOS_KEY", "BY_NAME", "DIRECT"}


def test_every_file_belongs_to_one_part() -> None:
    named = ["localcloud/tests/x.py", "localcloud/src/x.py", "web/x.py", "tools/x.py"]
    assert [part_of(Path(name)) for name in named] == ["tests", "localcloud", "app", None]


def test_prose_is_checked_in_docstrings_comments_and_markdown_but_not_in_code(tmp_path: Path) -> None:
    module, page = tmp_path / "m.py", tmp_path / "p.md"
    module.write_text('"""It tells nobody."""\nx = "anew"  # anew\n', encoding="utf-8")
    page.write_text("One; two. `anew`\n\nWhat a queue holds is shown. What is it?\n", encoding="utf-8")
    words, hits = find_hits([module, page])
    assert sorted(name for name, _ in hits) == [
        "old adverbs", "opens with What, no question", "semicolon", "somebody, nobody, everybody",
    ]  # fmt: skip
    assert count_hits([module, page]) == round(4 * 10_000 / words, 1)


def test_only_tracked_files_count(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name in ("kept.py", "other.py"):
        (tmp_path / name).touch()
    subprocess.run(["git", "add", "kept.py"], cwd=tmp_path, check=True)
    assert tracked(tmp_path) == [Path("kept.py")]
