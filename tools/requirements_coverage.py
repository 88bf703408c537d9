"""Writes docs/requirements-coverage.md from markers of tests: `python -m tools.requirements_coverage`.

A test has a marker such as `@pytest.mark.requirement("R-101")`. The page lists each requirement of
docs/requirements.md with its tests. A claim must not rest on code that production does not call: see
`unused_names`.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "docs" / "requirements.md"
PAGE = ROOT / "docs" / "requirements-coverage.md"
MARKER = "pytest.mark.requirement"
APP = ("shared", "stages", "web", "ops")
HEAD = (
    "# Which test shows which requirement\n"
    "Written by `python -m tools.requirements_coverage` from the markers of the tests"
    " (`@pytest.mark.requirement`). The numbers are those of [requirements.md](requirements.md). A test fails"
    " when this page is not the one that the markers give, when a requirement has no test, or when a marked"
    " test names code of the app that the app itself does not use.\n"
)


def sections() -> Iterator[tuple[str, list[str]]]:
    """Yield each heading of the requirements, with the numbers below it."""
    text = REQUIREMENTS.read_text(encoding="utf-8").partition("## Decisions")[0]
    for part in text.split("\n## ")[1:]:
        numbers = re.findall(r"^\| (R-\d+) \|", part, re.MULTILINE)
        if numbers:
            yield part.partition("\n")[0], numbers


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
    """Return the page for the current markers."""
    tests: dict[str, list[str]] = {}
    for name, (_, named) in marked_tests().items():
        for number in named:
            tests.setdefault(number, []).append(f"`{name}`")
    parts = [HEAD]
    for heading, numbers in sections():
        rows = [f"| {number} | {', '.join(sorted(tests.get(number, [])))} |" for number in numbers]
        parts.append("\n".join([f"## {heading}", "| no. | tests |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


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
