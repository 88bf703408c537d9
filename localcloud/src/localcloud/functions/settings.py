"""App settings: local.settings.json, `%NAME%` in bindings, and the connections that triggers name."""

import json
import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from localcloud.functions.problems import Problems

LOCAL_SETTINGS = "local.settings.json"
_NAME = re.compile(r"%([^%\s]+)%")


def read_json_object(path: Path, problems: Problems) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        problems.error(path.name, f"cannot be read ({error})", "make it a readable UTF-8 file")
        return None
    except json.JSONDecodeError as error:
        what = f"is not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        problems.error(path.name, what, "correct it there")
        return None
    if not isinstance(value, dict):
        problems.error(path.name, f"holds a {type(value).__name__}", "make it one JSON object")
        return None
    return value


def load_local_settings(root: Path, environ: MutableMapping[str, str], problems: Problems) -> None:
    """Put the file's values into the environment; what is set there already wins."""
    path = root / LOCAL_SETTINGS
    if not path.exists():
        return
    document = read_json_object(path, problems)
    if document is None:
        return
    if document.get("IsEncrypted"):
        remedy = "decrypt it with `func settings decrypt` or set IsEncrypted to false"
        problems.error(LOCAL_SETTINGS, "IsEncrypted is true, which the dev host cannot read", remedy)
        return
    for name, value in _entries(document, "Values", problems):
        _set_default(environ, name, value, f"Values.{name}", problems)
    for name, value in _entries(document, "ConnectionStrings", problems):
        text = value.get("ConnectionString") if isinstance(value, dict) else value
        _set_default(environ, f"ConnectionStrings:{name}", text, f"ConnectionStrings.{name}", problems)


def _entries(document: dict[str, Any], section: str, problems: Problems) -> list[tuple[str, Any]]:
    entries = document.get(section, {})
    if not isinstance(entries, dict):
        problems.error(LOCAL_SETTINGS, f"{section} is not an object", "write it as name: value pairs")
        return []
    return list(entries.items())


def _set_default(
    environ: MutableMapping[str, str], name: str, value: Any, where: str, problems: Problems
) -> None:
    if isinstance(value, bool):
        value = str(value).lower()
    if isinstance(value, int | float):
        value = str(value)
    if not isinstance(value, str) or not name or "=" in name or "\0" in name + value:
        what = f"{where} cannot be an environment variable"
        problems.error(LOCAL_SETTINGS, what, "give it a plain name and a string value")
        return
    environ.setdefault(name, value)


def resolve_names(value: Any, environ: Mapping[str, str], where: str, problems: Problems) -> Any:
    """Replace `%NAME%` by the setting of that name, in every string inside a binding."""
    if isinstance(value, dict):
        return {key: resolve_names(item, environ, where, problems) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve_names(item, environ, where, problems) for item in value]
    if not isinstance(value, str):
        return value

    def setting(match: re.Match[str]) -> str:
        name = match[1]
        if not environ.get(name):
            problems.error(where, f"%{name}% names a setting that is not set", f"set {name}")
            return match[0]
        return environ[name]

    return _NAME.sub(setting, value)


def find_connection(name: str, environ: Mapping[str, str]) -> str | None:
    """The connection string that a trigger names, looked up where the real host does, in its order."""
    for base in (f"AzureWebJobs{name}", name):
        for prefix in ("", "ConnectionStrings:", "ConnectionStrings__", "CUSTOMCONNSTR_"):
            if found := environ.get(prefix + base):
                return found
    return None
