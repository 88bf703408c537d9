"""Health checks of the dependencies, each with its own deadline."""

import asyncio
import json
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.calls import SERVICE_NAMES, as_request
from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.search.versions import IndexMissingError
from shared.core.errors import PermanentError, PipelineError, ServiceSilentError
from shared.embedding.factory import EMBEDDER
from shared.embedding.openvino.model_folder import ModelFolderError, check_model_folder, known_dimension
from shared.models.records import Run
from shared.pipeline.topology import PARSING
from shared.settings.app import Settings

MAKE = "run `azd provision`; locally, `python -m shared.operations.provisioning`"
LEAST_FREE_BYTES = 100 * 1024**2
ASK_SECONDS = 4.0
APP_SECONDS = 5.0  # the app checks its own dependencies
ALIVE_SECONDS = 2.0  # a running process answers within this time
CONNECT_SECONDS = 0.5
SERVER_ERRORS = range(500, 600)
REFUSES = "refuses ("
PROBE = "health/probe"  # a blob that is written to test whether Blob Storage accepts writes
_OPERATION = re.compile(r" \([\w.]+\)$")
AMQP_PORTS = {"sb": 5671, "emulator": 5672}


class NotProvisionedError(PermanentError):
    """A resource that the app needs is missing or has a different shape."""


class DiskFullError(PermanentError):
    """A disk of the app's host is full."""


class AppAwayError(PermanentError):
    """The app does not answer at its address."""


@dataclass(frozen=True)
class Check:
    ok: bool
    seconds: float
    says: str | None = None  # the problem in one line, None if the check is ok


Ask = Callable[[Clients], Coroutine[Any, Any, None]]


async def _cosmos(clients: Clients) -> None:
    await clients.store.find(Run, "latest", Session(), partition="consumers")


async def _bus(clients: Clients) -> None:
    await clients.bus.peek(PARSING.name, start=1, count=1)


async def _search(clients: Clients) -> None:
    versions = clients.index.versions
    found = await versions.dimensions()
    if found is None:
        raise IndexMissingError(versions.own)
    with suppress(ModelFolderError):  # the check of the model reports it
        if (wanted := known_dimension(clients.settings)) is not None:
            versions.require(found, wanted)


async def _blobs(clients: Clients) -> None:
    if not await clients.blobs.has_container(ARCHIVES_CONTAINER):
        raise NotProvisionedError(f"there is no blob container {ARCHIVES_CONTAINER}: {MAKE}")


async def _writes_blobs(clients: Clients) -> None:
    """Write a blob, because only a write shows a full disk or a read-only role."""
    await _blobs(clients)
    await clients.blobs.upload(ARCHIVES_CONTAINER, PROBE, b"x" * 4096, retry_total=0)


async def _model(clients: Clients) -> None:
    await asyncio.to_thread(check_model_folder, clients.settings)
    if (error := clients.resources.failed.get(EMBEDDER)) is not None:
        raise error


async def _disk(clients: Clients) -> None:
    await asyncio.to_thread(check_disks, clients.settings)


def check_disks(settings: Settings) -> None:
    """Check the disks of temporary files and, locally, of the services."""
    ca = settings.SEARCH_CA_FILE
    for folder in filter(Path.exists, [Path(tempfile.gettempdir()), *([ca.parent] if ca else [])]):
        usage = shutil.disk_usage(folder)
        if usage.free < LEAST_FREE_BYTES:
            free, all_ = usage.free // 1024**2, usage.total // 1024**2
            raise DiskFullError(
                f"the disk of {folder} is full: {free} of {all_} MB are free. Delete files, or make it larger"
            )


async def _app(clients: Clients) -> None:
    """Check that the app answers at its address, and report the problems of its host."""
    url = clients.settings.app_url
    try:
        await asyncio.to_thread(_answer_of, f"{url}/api/health/live", ALIVE_SECONDS)
    except TimeoutError:
        raise AppAwayError(f"the app at {url} hangs: no answer within {ALIVE_SECONDS:g} s") from None
    except (OSError, ValueError) as error:
        raise AppAwayError(f"the app at {url} does not answer: is it running? ({error})") from None
    try:
        answer = await asyncio.to_thread(_answer_of, f"{url}/api/health", APP_SECONDS - 0.4)
    except (OSError, ValueError):  # the app waits for a dependency that this process checks and names as well
        return
    problems = answer.get("problems", [])
    own = [problem for problem in problems if problem.partition(":")[0] in HOST or REFUSES in problem]
    if own:
        raise AppAwayError(f"the app at {url} says: {'; '.join(own)}")


def _answer_of(url: str, seconds: float) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(url, timeout=seconds) as response:  # noqa: S310 - an operator set it
            answer = json.loads(response.read())
    except urllib.error.HTTPError as unready:
        answer = json.loads(unready.read())
    return answer if isinstance(answer, dict) else {}


SERVICES: dict[str, Ask] = {"cosmos": _cosmos, "servicebus": _bus, "search": _search, "blobs": _blobs}
HOST: dict[str, Ask] = {"model": _model, "disk": _disk}


async def check_dependencies(clients: Clients, *, is_app: bool = True) -> dict[str, Check]:
    """Check all dependencies concurrently. A command asks the app about its host."""
    asked = {**HOST, **SERVICES, "blobs": _writes_blobs} if is_app else dict(SERVICES)
    if not is_app and clients.settings.app_url:
        asked["app"] = _app
    with as_request():
        checks = await asyncio.gather(*(_checked(clients, name, ask) for name, ask in asked.items()))
    return dict(zip(asked, checks, strict=True))


async def _checked(clients: Clients, name: str, ask: Ask) -> Check:
    """Check for a listener first, because an SDK would retry a refused connection for seconds."""
    started = clients.runtime.monotonic()
    if (address := await refused_at(clients.settings, name)) is not None:
        problem: str | None = f"{SERVICE_NAMES[name]} refuses connections at {address}: is it running?"
    else:
        problem = await _find_problem(clients, name, ask)
    return Check(problem is None, round(clients.runtime.monotonic() - started, 3), problem)


async def _find_problem(clients: Clients, name: str, ask: Ask) -> str | None:
    """Return the problem, or None. A canceled call is not waited for, because its SDK may take seconds."""
    asking = asyncio.ensure_future(ask(clients))
    allowed = APP_SECONDS if ask is _app else max(ASK_SECONDS, 2 * clients.settings.REQUEST_SECONDS)
    done, _ = await asyncio.wait({asking}, timeout=allowed)
    if done:
        error = asking.exception()
        return None if error is None else _in_words(name, error)
    asking.add_done_callback(lambda late: late.cancelled() or late.exception())
    asking.cancel()
    return f"{SERVICE_NAMES.get(name, name)} did not answer within {allowed:g} s"


def _in_words(name: str, error: BaseException) -> str:
    failure, service = classify(error), SERVICE_NAMES.get(name, name)
    message = failure.message if failure.safe_to_log else failure.error_type
    if (status := getattr(error, "status_code", None)) is not None:
        full = " Its disk may be full." if name == "blobs" and status in SERVER_ERRORS else ""
        return f"{service} {REFUSES}{status}): {message}.{full}"
    if isinstance(error, ServiceSilentError):
        return _OPERATION.sub("", message)
    if not failure.is_outage or isinstance(error, PipelineError):
        return message
    return f"{service} cannot be reached: {message}"


async def refused_at(settings: Settings, name: str) -> str | None:
    for host, port in addresses(settings, name):
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(host, port)
        except ConnectionRefusedError:
            return f"{host}:{port}"
        except OSError:  # no answer or unknown: the SDK reports it
            continue
        writer.close()
    return None


def addresses(settings: Settings, name: str) -> Iterator[tuple[str, int]]:
    connections = {"servicebus": settings.SERVICEBUS_CONNECTION, "blobs": settings.STORAGE_CONNECTION}
    connection = connections.get(name)
    parts = connection.get_secret_value().split(";") if connection else []
    given = dict(part.split("=", 1) for part in parts if "=" in part)
    address = {
        "cosmos": settings.COSMOS_ENDPOINT,
        "search": settings.SEARCH_ENDPOINT,
        "blobs": given.get("BlobEndpoint", settings.STORAGE_BLOB_ENDPOINT or ""),
        "servicebus": given.get("Endpoint", ""),
    }.get(name, "")
    if name == "blobs" and "UseDevelopmentStorage" in given:
        address = "http://127.0.0.1:10000"
    url = urlsplit(address)
    known = {
        "http": 80,
        "https": 443,
        "sb": AMQP_PORTS["emulator" if "UseDevelopmentEmulator" in given else "sb"],
    }
    if url.hostname and (port := url.port or known.get(url.scheme)):
        yield url.hostname, port
