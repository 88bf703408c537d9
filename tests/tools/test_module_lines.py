"""The page of the architecture has the line of every module of the app."""

from pathlib import Path

from tools.module_lines import PAGE, first_line, module_lines, modules, page


def test_the_page_has_the_lines_that_the_docstrings_give() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run python -m tools.module_lines"


def test_every_module_of_the_app_has_a_line() -> None:
    lines = module_lines().splitlines()
    runner = next(line for line in lines if line.split()[:1] == ["runner"])

    assert len(modules()) > 300
    assert len(lines) >= len(modules()) - 1  # the package of each folder is its heading
    assert runner.split(maxsplit=1)[1] == first_line(Path("shared/pipeline/runner.py"))
    assert "shared/pipeline/state/" in [line.split()[0] for line in lines]
