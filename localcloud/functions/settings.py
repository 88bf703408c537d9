"""App settings: local.settings.json, `%NAME%` in bindings, and the connections that triggers name."""

import json
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Connection:
    """How to reach a Service Bus namespace: by connection string, or by name with an identity."""

    name: str
    connection_string: str | None = None
    fully_qualified_namespace: str | None = None
    credential: str | None = None
    client_id: str | None = None
    tenant_id: str | None = None
    client_secret: str | None = None


def find_connection(name: str, environ: Mapping[str, str]) -> Connection | None:
    """The connection that a trigger names, looked up where and in the order that the real host does."""
    for base in (f"AzureWebJobs{name}", name):
        for variable in (
            base,
            f"ConnectionStrings:{base}",
            f"ConnectionStrings__{base}",
            f"CUSTOMCONNSTR_{base}",
        ):
            if environ.get(variable):
                return Connection(name, connection_string=environ[variable])
        if namespace := _part(base, "fullyQualifiedNamespace", environ):
            return Connection(
                name,
                fully_qualified_namespace=namespace,
                credential=_part(base, "credential", environ),
                client_id=_part(base, "clientId", environ),
                tenant_id=_part(base, "tenantId", environ),
                client_secret=_part(base, "clientSecret", environ),
            )
    return None


def _part(base: str, part: str, environ: Mapping[str, str]) -> str | None:
    return environ.get(f"{base}__{part}") or environ.get(f"{base}:{part}") or None
