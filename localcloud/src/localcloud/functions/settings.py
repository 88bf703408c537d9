"""App settings: local.settings.json, `%NAME%` in bindings, and the connections of triggers."""

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
        problem = f"is not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        problems.error(path.name, problem, "correct it there")
        return None
    if not isinstance(value, dict):
        problems.error(path.name, f"contains a {type(value).__name__}", "make it one JSON object")
        return None
    return value


def load_local_settings(root: Path, environ: MutableMapping[str, str], problems: Problems) -> None:
    """Add the file's values to the environment. Existing variables take precedence."""
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
        problem = f"{where} cannot be an environment variable"
        problems.error(LOCAL_SETTINGS, problem, "give it a plain name and a string value")
        return
    environ.setdefault(name, value)


def resolve_names(value: Any, environ: Mapping[str, str], where: str, problems: Problems) -> Any:
    """Replace `%NAME%` with that setting's value in all strings of a binding."""
    if isinstance(value, dict):
        return {key: resolve_names(item, environ, where, problems) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve_names(item, environ, where, problems) for item in value]
    if not isinstance(value, str):
        return value

    def setting(match: re.Match[str]) -> str:
        name = match[1]
        if not environ.get(name):
            problems.error(where, f"%{name}% refers to a setting that is not set", f"set {name}")
            return match[0]
        return environ[name]

    return _NAME.sub(setting, value)


def find_connection(name: str, environ: Mapping[str, str]) -> str | None:
    """Return a trigger's connection string, looked up in the same places and order as in the real host."""
    for base in (f"AzureWebJobs{name}", name):
        for prefix in ("", "ConnectionStrings:", "ConnectionStrings__", "CUSTOMCONNSTR_"):
            if found := environ.get(prefix + base):
                return found
    return None
