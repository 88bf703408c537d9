"""Writes the tests of each requirement into docs/requirements.md: `python -m tools.requirements_coverage`.

A test has a marker such as `@pytest.mark.requirement("R-101")`. A marked test must not rest on code
that production does not call: see `unused_names`.
"""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "requirements.md"
MARKER = "pytest.mark.requirement"
APP = ("shared", "stages", "web", "ops")
_ROW = re.compile(r"^\| (R-\d+) \| (.+?) \|.*$", re.MULTILINE)
_DECISIONS = "\n## Decisions\n"
"""The rows below this heading are about requirements, and have no tests."""


def required_numbers() -> list[str]:
    """Return the number of each requirement, in the page's order."""
    text = PAGE.read_text(encoding="utf-8").partition(_DECISIONS)[0]
    return [row[1] for row in _ROW.finditer(text)]


@cache
def marked_tests() -> dict[str, tuple[Path, list[str]]]:
    """Return each marked test by name, with its file and its requirements."""
    found = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text = "" if "node_modules" in file.parts else file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if MARKER in text else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (named := _named(node)):
                found[node.name] = (file, named)
    return found


def _named(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [
        str(argument.value)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == MARKER
        for argument in decorator.args
        if isinstance(argument, ast.Constant)
    ]


def page() -> str:
    """Return the page with the tests that the markers name now."""
    tests: dict[str, list[str]] = {}
    for name, (_, named) in marked_tests().items():
        for number in named:
            tests.setdefault(number, []).append(f"`{name}`")

    def with_tests(row: re.Match[str]) -> str:
        return f"| {row[1]} | {row[2]} | {', '.join(sorted(tests.get(row[1], [])))} |"

    text, heading, rest = PAGE.read_text(encoding="utf-8").partition(_DECISIONS)
    return _ROW.sub(with_tests, text) + heading + rest


@cache
def unused_names() -> set[str]:
    """Return the app's functions and classes that no other code of the app uses."""
    files = [ROOT / "function_app.py", *(file for room in APP for file in (ROOT / room).rglob("*.py"))]
    used, defined = Counter[str](), set[str]()
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        used.update(filter(None, map(_name_of, ast.walk(tree))))
        defined |= {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.decorator_list
        }
    return {name for name in defined if not used[name]}


def _name_of(node: ast.AST) -> str | None:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(str(text)):  # the string `module:Class` names an encoder
            return text.rpartition(":")[2]
    return None


def imported_by(file: Path) -> set[str]:
    """Return the names that a test imports from the app."""
    return {
        alias.name
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in APP
        for alias in node.names
    }


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
