"""Checks a Bicep file and every module that it uses."""

import re
from pathlib import Path

from tools.bicepcheck.bodies import Bodies
from tools.bicepcheck.declarations import File, Module, Output, Parameter, Variable, read_file
from tools.bicepcheck.expressions import Expressions
from tools.bicepcheck.problems import Problem, Problems
from tools.bicepcheck.schema import Schema, schema
from tools.bicepcheck.syntax import check_syntax

__all__ = ["check_all", "check_file", "modules_of"]

# We declare no types of our own.
_TYPE = re.compile(r"(string|int|bool|object|array)(\[\])?\??|'[^']*'( *\| *'[^']*')*")


def check_all(entry: Path, types: Schema | None = None) -> list[Problem]:
    """The problems of a file and of all that it leads to."""
    return sorted(problem for path in modules_of(entry) for problem in check_file(path, types))


def modules_of(entry: Path) -> list[Path]:
    """The file itself and every module under it, each once."""
    found: list[Path] = []
    waiting = [entry.resolve()]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.append(path)
        waiting += [(path.parent / module.target).resolve() for module in read_file(path).all(Module)]
    return found


def check_file(path: Path, types: Schema | None = None) -> list[Problem]:
    file, problems, types = read_file(path), Problems(path), types or schema()
    check_syntax(file.root, problems)
    if problems.found:
        return problems.found  # what cannot be read cannot be judged
    expressions = Expressions(file, types, problems)
    expressions.check()
    _declared_once(file, problems)
    _known_types(file, problems)
    _all_used(file, expressions.used, problems)
    Bodies(file, types, problems).check()
    return problems.found


def _declared_once(file: File, problems: Problems) -> None:
    seen: set[tuple[bool, str]] = set()
    for each in file.declarations:
        key = (isinstance(each, Output), each.name)
        if key in seen:
            problems.add(each.node, "duplicate", f"{each.name} is declared twice")
        seen.add(key)


def _known_types(file: File, problems: Problems) -> None:
    for each in file.declarations:
        if isinstance(each, Parameter | Output) and not _TYPE.fullmatch(each.type):
            problems.add(each.node, "undefined", f"there is no type {each.type}")


def _all_used(file: File, used: set[str], problems: Problems) -> None:
    for each in file.declarations:
        if isinstance(each, Parameter | Variable) and each.name not in used:
            problems.add(each.node, "unused", f"{each.name} is never used")
