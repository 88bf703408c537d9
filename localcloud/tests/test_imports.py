"""The local cloud does not depend on the app that runs on it."""

import ast
from pathlib import Path

from tests.support.services import ROOT

APP = {"shared", "web", "ops", "stages", "function_app"}
# Not imports: the host's default for the file to load, and a module that a child process runs.
NAMED = {("catalogue.py", "shared.operations.provisioning"), ("loader.py", "function_app.py")}


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def dotted_strings(tree: ast.AST) -> set[str]:
    """Return strings that could name a module of the app, for import_module and similar functions."""
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {text for text in texts if isinstance(text, str) and "." in text and " " not in text}


def of_the_app(names: set[str], file: Path) -> list[str]:
    found = {name for name in names if name.partition(".")[0] in APP and (file.name, name) not in NAMED}
    return [f"{file.relative_to(ROOT)}: {name}" for name in sorted(found)]


def test_the_local_cloud_imports_nothing_of_the_app() -> None:
    files = sorted((ROOT / "src").rglob("*.py"))
    trees = {file: ast.parse(file.read_text()) for file in files}
    assert [
        name
        for file, tree in trees.items()
        for name in of_the_app(imported(tree) | dotted_strings(tree), file)
    ] == []
