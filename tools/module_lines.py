"""Writes one line for each module into docs/architecture.md: `python -m tools.module_lines`.

A line is the first line of the module's docstring, below the line of its package.
"""

import ast
import re
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
APP = ("shared", "stages", "web", "ops")
_LINES = re.compile(r"(?<=\n## Modules\n).*?```\n(.*?)```", re.DOTALL)


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring, or nothing."""
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def modules() -> list[Path]:
    """Return the app's modules, with each package before its own modules."""
    found = [path.relative_to(ROOT) for package in APP for path in (ROOT / package).rglob("*.py")]
    return [Path("function_app.py"), *sorted(found, key=lambda path: (path.parent, path.name))]


def module_lines() -> str:
    """Return the tree of packages and modules, each with its line."""
    lines: list[str] = []
    for folder, paths in groupby(modules(), key=lambda path: path.parent):
        by_name = {path.stem: first_line(path) for path in paths}
        if folder.parts:
            lines.append(f"{folder}/  {by_name.pop('__init__', '')}".rstrip())
        width = max(map(len, by_name), default=0)
        indent = "  " if folder.parts else ""
        lines += [f"{indent}{name:<{width}}  {line}".rstrip() for name, line in by_name.items()]
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the page with the current lines."""
    text = PAGE.read_text(encoding="utf-8")
    found = _LINES.search(text)
    if found is None:
        raise LookupError(f"{PAGE.name} has no block of modules below its heading: add an empty one")
    return text[: found.start(1)] + module_lines() + text[found.end(1) :]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
