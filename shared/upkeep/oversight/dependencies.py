"""Whether the app can work: each thing that it needs is asked, all at once, each with a deadline."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from shared.clients.blobs import ARCHIVES_CONTAINER
from shared.clients.calls import somebody_waits
from shared.clients.classify import classify
from shared.clients.connections import Clients
from shared.clients.search.versions import IndexMissingError
from shared.core.errors import PermanentError
from shared.embedding.model_facts import check_model_folder, known_dimension
from shared.embedding.openvino.model_folder import ModelFolderError
from shared.pipeline.topology import PARSING
from shared.upkeep.oversight.consumers import last_consumers

MAKE = "run `azd provision`; locally, `python -m shared.upkeep.provisioning`"


class NotProvisionedError(PermanentError):
    """Something that the app needs was not made, or is of another shape."""


@dataclass(frozen=True)
class Check:
    """What came of asking one dependency."""

    ok: bool
    seconds: float
    says: str | None = None  # in one line, where it is not well


async def check_dependencies(clients: Clients) -> dict[str, Check]:
    """By dependency: model, cosmos, servicebus, search, blobs."""
    asked = {
        "model": _model,
        "cosmos": _cosmos,
        "servicebus": _servicebus,
        "search": _search,
        "blobs": _blobs,
    }
    with somebody_waits():
        checks = await asyncio.gather(*(_checked(clients, ask) for ask in asked.values()))
    return dict(zip(asked, checks, strict=True))


async def _checked(clients: Clients, ask: Callable[[Clients], Awaitable[object]]) -> Check:
    started = clients.runtime.monotonic()
    says: str | None = None
    try:
        await ask(clients)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        says = _said(error)
    return Check(says is None, round(clients.runtime.monotonic() - started, 3), says)


def _said(error: Exception) -> str:
    failure = classify(error)
    return failure.message if failure.safe_to_log else failure.error_type


async def _model(clients: Clients) -> None:
    await asyncio.to_thread(check_model_folder, clients.settings)


async def _cosmos(clients: Clients) -> None:
    await last_consumers(clients)


async def _servicebus(clients: Clients) -> None:
    await clients.bus.peek(PARSING.name, start=1, count=1)


async def _blobs(clients: Clients) -> None:
    if not await clients.blobs.has_container(ARCHIVES_CONTAINER):
        raise NotProvisionedError(f"there is no blob container {ARCHIVES_CONTAINER}: {MAKE}")


async def _search(clients: Clients) -> None:
    """The index of this model, which takes vectors of its length."""
    versions = clients.index.versions
    found = await versions.dimensions()
    if found is None:
        raise IndexMissingError(versions.own)
    try:
        wanted = known_dimension(clients.settings)
    except ModelFolderError:  # the model says so itself
        return
    if wanted is not None:
        versions.require(found, wanted)
