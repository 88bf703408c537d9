"""`localcloud.toml`: the app that `localcloud up` starts. All lines are optional."""

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = "localcloud.toml"


class ProjectError(ValueError):
    """The file cannot be used."""


@dataclass(frozen=True)
class Project:
    root: Path
    name: str = "The local cloud"
    config: Path | None = None
    """The entities of Service Bus, in the format of Microsoft's emulator."""
    prepare: tuple[str, ...] = ()
    """A command that prepares the services for the app, such as containers and an index."""
    prepare_files: tuple[str, ...] = ()
    """Patterns. The command runs again when a matching file has changed."""
    prepare_variables: tuple[str, ...] = ()
    """Prefixes of settings. The command runs again when such a setting has changed."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """Names and paths below the address of the Functions host, to show."""


def read_project(root: Path) -> Project:
    path = root / FILE
    if not path.exists():
        return Project(root)
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProjectError(f"{FILE}: {error}") from None
    pages = _of_kind(dict, "pages", found.pop("pages", {}))
    prepare = _of_kind(dict, "prepare", found.pop("prepare", {}))
    values = {
        "name": _of_kind(str, "name", found.pop("name", Project.name)),
        "pages": {name: _of_kind(str, f"pages.{name}", page) for name, page in pages.items()},
        "prepare": _texts(prepare, "command"),
        "prepare_files": _texts(prepare, "files"),
        "prepare_variables": _texts(prepare, "variables"),
    }
    if "servicebus" in found:
        values["config"] = root / _of_kind(str, "servicebus", found.pop("servicebus"))
    if unknown := [*found, *(f"prepare.{name}" for name in prepare)]:
        raise ProjectError(f"{FILE}: {unknown[0]!r} is an unknown key")
    if values["prepare"][:1] == ("python",):
        values["prepare"] = (sys.executable, *values["prepare"][1:])
    return Project(root, **values)


def _texts(table: dict[str, Any], name: str) -> tuple[str, ...]:
    return tuple(_of_kind(str, name, text) for text in _of_kind(list, name, table.pop(name, [])))


def _of_kind(kind: type, name: str, value: Any) -> Any:
    if not isinstance(value, kind):
        raise ProjectError(f"{FILE}: {name!r} must be a {kind.__name__}")
    return value
