"""The settings that point an app to the services, and `local.settings.json`, which stores them.

The user's values in the file stay. Only settings that point to a local service are overwritten.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from localcloud.ports import Ports

# Public values of Microsoft's emulators and of this project, the same on every machine: not secrets.
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

COSMOS_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
SEARCH_KEY = "localcloud-search-admin-key"
INSTRUMENTATION = {"InstrumentationKey": "00000000-0000-0000-0000-000000004319"}
TELEMETRY, FUNCTIONS = "APPLICATIONINSIGHTS_CONNECTION_STRING", "FUNCTIONS_URL"
CA_FILE = Path("search") / "tls" / "ca.pem"


class SettingsFileError(ValueError):
    """The settings file cannot be used."""


def settings_of(service: str, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that an app needs to use the service at these addresses."""
    match service:
        case "storage":
            connection = _storage_connection(addresses)
            return {"AzureWebJobsStorage": connection, "STORAGE_CONNECTION": connection}
        case "servicebus":
            connection = _servicebus_connection(_port(addresses["amqp"]))
            return {"SERVICEBUS_CONNECTION": connection, "SERVICEBUS_ADMIN_ENDPOINT": addresses["admin"]}
        case "cosmos":
            return {"COSMOS_ENDPOINT": addresses["endpoint"], "COSMOS_KEY": COSMOS_KEY}
        case "search":
            where = {"SEARCH_ENDPOINT": addresses["endpoint"], "SEARCH_CA_FILE": addresses["ca"]}
            return {**where, "SEARCH_KEY": SEARCH_KEY}
        case "telemetry":
            where = {"IngestionEndpoint": f"http://127.0.0.1:{_port(addresses['endpoint'])}/"}
            connection = ";".join(f"{name}={value}" for name, value in (INSTRUMENTATION | where).items())
            return {TELEMETRY: connection}
    return {FUNCTIONS: addresses["http"]}


def _storage_connection(addresses: Mapping[str, str]) -> str:
    if _port(addresses["blob"]) == Ports().blob:
        return "UseDevelopmentStorage=true"
    account = f"DefaultEndpointsProtocol=http;AccountName={AZURITE_ACCOUNT};AccountKey={AZURITE_KEY};"
    places = (f"{kind.title()}Endpoint={address}/{AZURITE_ACCOUNT};" for kind, address in addresses.items())
    return account + "".join(places)


def _servicebus_connection(port: int) -> str:
    host = "localhost" if port == Ports().amqp else f"localhost:{port}"
    return (
        f"Endpoint=sb://{host};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
    )


def _port(address: str) -> int:
    return int(address.rpartition(":")[2].rstrip("/"))


def settings_of_all(ports: Ports, data: Path, only: Collection[str]) -> dict[str, str]:
    """Return the settings of these services on these ports."""
    addresses = {
        "storage": {kind: f"http://127.0.0.1:{getattr(ports, kind)}" for kind in ("blob", "queue", "table")},
        "servicebus": {"amqp": f"amqp://localhost:{ports.amqp}", "admin": f"http://localhost:{ports.admin}"},
        "cosmos": {"endpoint": f"http://localhost:{ports.cosmos}"},
        "search": {"endpoint": f"https://localhost:{ports.search}", "ca": str(data / CA_FILE)},
        "telemetry": {"endpoint": f"http://localhost:{ports.telemetry}"},
        "functions": {"http": f"http://localhost:{ports.functions}"},
    }
    chosen = [settings_of(name, where) for name, where in addresses.items() if name in only]
    return {name: value for settings in chosen for name, value in settings.items()}


def write_local_settings(root: Path, values: dict[str, str]) -> dict[str, str]:
    """Write the file and return all its values. Telemetry is off if the receiver does not run."""
    target = root / "local.settings.json"
    sample = root / "local.settings.sample.json"
    first: dict[str, Any] = {"IsEncrypted": False, "Values": {}}
    if sample.exists():
        first = _read(sample)
    settings = _read(target) if target.exists() else first
    local = {TELEMETRY: "", FUNCTIONS: "", **values}
    settings["Values"] = {**first["Values"], **settings["Values"], **local}
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    temporary.replace(target)
    return dict(settings["Values"])


def _read(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsFileError(
            f"{path.name}: {error}. Fix it, or delete it to start from the sample"
        ) from None
    values = settings.get("Values") if isinstance(settings, dict) else None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise SettingsFileError(f'{path.name}: "Values" must be an object of strings')
    return dict(settings)
