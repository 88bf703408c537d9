"""Waits until each service answers at the address that the settings give it."""

import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

__all__ = ["SERVICES", "answers", "wait_for"]

PAUSE = 0.5
SERVICES = {
    "storage": "Azure Storage (Azurite)",
    "servicebus": "Service Bus",
    "cosmos": "Cosmos DB",
    "search": "AI Search (ours)",
}


def wait_for(settings: Mapping[str, str], name: str, deadline: float, say: Callable[[str], None]) -> bool:
    """Say when the service is ready; or, at the deadline, that it is not, and where to look."""
    while not _is_ready(settings, name):
        if time.monotonic() > deadline:
            say(f"  silent   {SERVICES[name]} at {_address(settings, name)}: {_remedy(name)}")
            return False
        time.sleep(PAUSE)
    say(f"  ready    {SERVICES[name]} at {_address(settings, name)}")
    return True


def answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


def _address(settings: Mapping[str, str], name: str) -> str:
    if name == "storage":
        return _blobs(settings["STORAGE_CONNECTION"])
    names = {
        "servicebus": "SERVICEBUS_ADMIN_ENDPOINT",
        "cosmos": "COSMOS_ENDPOINT",
        "search": "SEARCH_ENDPOINT",
    }
    return settings[names[name]]


def _blobs(connection: str) -> str:
    found = re.search(r"BlobEndpoint=([^;]+)", connection)
    return found[1] if found else "http://localhost:10000"  # UseDevelopmentStorage=true


def _is_ready(settings: Mapping[str, str], name: str) -> bool:
    """Service Bus and Cosmos DB listen before they are ready: their answer counts."""
    address = _address(settings, name)
    if name in ("servicebus", "cosmos"):
        return _is_ok(f"{address}/health" if name == "servicebus" else address)
    place = urlsplit(address)
    return answers(place.hostname or "", place.port or 443)


def _is_ok(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as response:  # noqa: S310 - of one's own settings
            return bool(response.status == 200)  # noqa: PLR2004 - OK
    except urllib.error.HTTPError as error:
        return error.code == 401  # noqa: PLR2004 - a Cosmos DB that asks for a key is ready to
    except OSError:
        return False


def _remedy(name: str) -> str:
    return "see .localcloud/search.log" if name == "search" else f"see `docker compose logs {name}`"
