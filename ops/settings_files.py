"""The app's settings for a command: from the environment, and from a file where there is one.

local.settings.json in the current folder fills in what the environment does not set. A file that is named
(--settings) goes before the environment; it may also have lines NAME=value, as `azd env get-values` prints
them.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ops.exit_codes import Code, CommandError

LOCAL_FILE = Path("local.settings.json")
PATHS = ("SEARCH_CA_FILE", "EMBEDDING_MODEL_PATH")  # relative to the folder of the settings file


def setting_values(named: Path | None, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    given = dict(os.environ if environment is None else environment)
    if named is not None:
        return {**given, **_read(named)}
    return {**_read(LOCAL_FILE), **given} if LOCAL_FILE.is_file() else given


def _read(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(Code.USAGE, f"{path}: the settings cannot be read: {error}") from None
    values = _json_values(path, text) if text.lstrip().startswith("{") else _lines(path, text)
    return {name: _placed(path, name, value) for name, value in values.items()}


def _json_values(path: Path, text: str) -> dict[str, str]:
    try:
        values = json.loads(text)["Values"]
        return {str(name): str(value) for name, value in values.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CommandError(Code.USAGE, f'{path}: not a settings file: it has no object "Values"') from None


def _lines(path: Path, text: str) -> dict[str, str]:
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not equals:
            raise CommandError(Code.USAGE, f"{path}, line {number}: not of the form NAME=value")
        values[name.strip()] = value.strip().strip("\"'")
    return values


def _placed(path: Path, name: str, value: str) -> str:
    return str(path.parent / value) if name in PATHS and value else value
