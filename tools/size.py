"""`make size`: the size of the project, compared with the committed figures of tools/size.json.

No figure may rise. A change that needs more space commits the new figures: `make size ARGS=--write`.
"""

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import typer

from ops.cli import app
from tools.prose import count_hits
from tools.tracked import tracked

FIGURES = Path(__file__).with_suffix(".json")
# The first matching row determines a file's part. Files without a row (tools, benchmarks) are not counted.
PARTS = (
    ("tests", ("tests/", "localcloud/tests/")),
    ("localcloud", ("localcloud/src/",)),
    ("app", ("function_app.py", "shared/", "stages/", "web/", "ops/")),
)
READER = "shared/reading/"
SETTINGS = "shared/settings/"
# Syntax that only regular expressions have: a string with it is a pattern.
PATTERN = re.compile(r"\(\?[:=!<i]|\\[bwWsSd]|\[\^")
ENVIRONMENTS = {"environ", "environment", "env"}


def part_of(path: Path) -> str | None:
    name = path.as_posix()
    return next((part for part, prefixes in PARTS if name.startswith(prefixes)), None)


class Modules:
    """Python files by dotted name, with their imports."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = {_dotted(path): path for path in paths}
        self.trees = {name: _tree(path) for name, path in self.paths.items()}
        self.imports = {
            name: {target for target in _imports(tree) if target in self.paths and target != name}
            for name, tree in self.trees.items()
        }

    def closure(self, name: str) -> set[str]:
        """Return the module and all its direct and indirect imports."""
        found, left = {name}, [name]
        while left:
            new = self.imports[left.pop()] - found
            found |= new
            left += new
        return found

    def longest_chain(self) -> int:
        """Return the number of modules on the longest import path. A cycle counts as one module."""

        @cache
        def cycle(name: str) -> frozenset[str]:
            return frozenset(other for other in closures[name] if name in closures[other])

        @cache
        def chain(together: frozenset[str]) -> int:
            onward = {cycle(target) for name in together for target in self.imports[name]} - {together}
            return 1 + max(map(chain, onward), default=0)

        closures = {name: self.closure(name) for name in self.paths}
        return max((chain(cycle(name)) for name in self.paths), default=0)

    def lines(self, names: set[str]) -> int:
        return sum(_lines(self.paths[name]) for name in names)


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _imports(tree: ast.AST) -> Iterator[str]:
    """Yield the imported modules, and names that can be modules, including imports inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def count_patterns(node: ast.AST) -> int:
    """Count strings that can only be regular expressions. A concatenated string counts once."""
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
        pieces = [piece.value for piece in ast.walk(node) if isinstance(piece, ast.Constant)]
        if any(isinstance(piece, str) for piece in pieces):
            return int(any(isinstance(piece, str) and PATTERN.search(piece) for piece in pieces))
    docstring = (
        ast.get_docstring(node) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else None
    )
    body = list(ast.iter_child_nodes(node))
    return sum(count_patterns(child) for child in (body[1:] if docstring else body))


def find_settings(trees: Mapping[str, ast.Module], fields_in: str) -> set[str]:
    """Return the app settings: fields of the settings' classes, and variables that the code reads."""
    found = set()
    for name, tree in trees.items():
        nodes = list(ast.walk(tree))
        constants = {
            target.id: node.value.value
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        keys = [key for node in nodes if (key := _environment_key(node)) is not None]
        keys_named = [constants.get(key.id) if isinstance(key, ast.Name) else key for key in keys]
        found |= {
            str(key.value if isinstance(key, ast.Constant) else key)
            for key in keys_named
            if isinstance(key, str | ast.Constant)
        }
        if name.startswith(fields_in):
            found |= {
                node.target.id
                for node in nodes
                if isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and re.match(r"[A-Z]+_[A-Z_]+(__\w+)?$|WEBHOOKS$", node.target.id)
            }
    return found


def _environment_key(node: ast.AST) -> ast.expr | None:
    """Return the name in `environ.get(name)`, `environ.setdefault(name, ...)` and `environ[name]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        asked, key = node.func.value, node.args[0]
        if node.func.attr not in {"get", "setdefault"}:
            return None
    elif isinstance(node, ast.Subscript):
        asked, key = node.value, node.slice
    else:
        return None
    name = asked.attr if isinstance(asked, ast.Attribute) else getattr(asked, "id", "")
    return key if name in ENVIRONMENTS else None


def count_commands() -> int:
    def count(command: object) -> int:
        return sum(map(count, getattr(command, "commands", {}).values())) or 1

    return count(typer.main.get_command(app))


def measure() -> dict[str, float]:
    """Return all figures by name."""
    paths = tracked()
    python = [path for path in paths if path.suffix == ".py"]
    figures: dict[str, float] = {}
    for part in ("app", "localcloud", "tests"):
        own = [path for path in python if part_of(path) == part]
        figures[f"{part}: lines"] = sum(map(_lines, own))
        figures[f"{part}: modules"] = len(own)
        figures[f"{part}: statements"] = sum(
            isinstance(node, ast.stmt) for path in own for node in ast.walk(_tree(path))
        )
    app = Modules([path for path in python if part_of(path) == "app"])
    figures["longest import chain"] = app.longest_chain()
    for name in sorted(app.paths):
        if name.startswith("stages."):
            imported = {module for module in app.closure(name) if app.trees[module].body}
            figures[f"imported by {name}: modules"] = len(imported)
            figures[f"imported by {name}: lines"] = app.lines(imported)
    figures["pattern rows of the reader"] = sum(
        count_patterns(_tree(path)) for path in python if path.as_posix().startswith(READER)
    )
    figures["app settings"] = len(find_settings(app.trees, SETTINGS.replace("/", ".")))
    figures["commands"] = count_commands()
    documents = [path for path in paths if path.suffix == ".md"]
    figures["words of docs"] = sum(
        len(path.read_text(encoding="utf-8").split()) for path in documents if path.parts[0] == "docs"
    )
    figures["prose: hits in 10,000 words"] = count_hits([*documents, *python])
    return figures


def find_risen(figures: Mapping[str, float], committed: Mapping[str, float]) -> list[str]:
    """Return the names of the figures that exceed the committed figures. A new figure always does."""
    return [name for name, figure in figures.items() if figure > committed.get(name, 0)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write these figures to the file")
    options = parser.parse_args()
    figures = measure()
    if options.write:
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    committed = json.loads(FIGURES.read_text(encoding="utf-8"))
    risen = find_risen(figures, committed)
    for name, figure in figures.items():
        mark = f"  above the committed {committed.get(name, 0):,}" if name in risen else ""
        sys.stdout.write(f"{figure:10,}  {name}{mark}\n")
    if risen:
        sys.stdout.write(f"{len(risen)} figures have risen: cut, or commit to them with ARGS=--write\n")
    return int(bool(risen))


if __name__ == "__main__":
    sys.exit(main())
