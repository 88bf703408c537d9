"""Writes `local.settings.json`: the sample's settings with the addresses that this start really has.

What the user has set there stays; only the settings that name a local service's address are ours.
"""

import json
from pathlib import Path
from typing import Any

from localcloud.ports import Ports

# Public values of Microsoft's emulators (and one of ours), the same on every machine: not secrets.
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

COSMOS_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
SEARCH_KEY = "localcloud-search-admin-key"
INSTRUMENTATION_KEY = "00000000-0000-0000-0000-000000004319"


class SettingsFileError(ValueError):
    """The settings file cannot be used."""


def storage_connection(ports: Ports) -> str:
    if ports.blob == Ports().blob:
        return "UseDevelopmentStorage=true"
    endpoints = "".join(
        f"{kind.title()}Endpoint=http://127.0.0.1:{getattr(ports, kind)}/{AZURITE_ACCOUNT};"
        for kind in ("blob", "queue", "table")
    )
    return f"DefaultEndpointsProtocol=http;AccountName={AZURITE_ACCOUNT};AccountKey={AZURITE_KEY};{endpoints}"


def servicebus_connection(ports: Ports) -> str:
    host = "localhost" if ports.amqp == Ports().amqp else f"localhost:{ports.amqp}"
    return (
        f"Endpoint=sb://{host};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
    )


def telemetry_connection(port: int) -> str:
    return f"InstrumentationKey={INSTRUMENTATION_KEY};IngestionEndpoint=http://127.0.0.1:{port}/"


def local_values(ports: Ports, data: Path, *, telemetry: bool = True) -> dict[str, str]:
    """The settings that depend on where this local cloud listens and keeps its data."""
    return {
        "AzureWebJobsStorage": storage_connection(ports),
        "STORAGE_CONNECTION": storage_connection(ports),
        "SERVICEBUS_CONNECTION": servicebus_connection(ports),
        "SERVICEBUS_ADMIN_ENDPOINT": f"http://localhost:{ports.admin}",
        "COSMOS_ENDPOINT": f"http://localhost:{ports.cosmos}",
        "COSMOS_KEY": COSMOS_KEY,
        "SEARCH_ENDPOINT": f"https://localhost:{ports.search}",
        "SEARCH_KEY": SEARCH_KEY,
        "SEARCH_CA_FILE": str(data / "search" / "tls" / "ca.pem"),
        "APPLICATIONINSIGHTS_CONNECTION_STRING": telemetry_connection(ports.telemetry) if telemetry else "",
    }


def write_local_settings(root: Path, values: dict[str, str]) -> dict[str, str]:
    """Write the file; all the values that are now in it."""
    target = root / "local.settings.json"
    settings = _read(target if target.exists() else root / "local.settings.sample.json")
    settings["Values"] = {
        **_read(root / "local.settings.sample.json")["Values"],
        **settings["Values"],
        **values,
    }
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
