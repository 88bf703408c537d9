"""The one embedder of this process, started on first use."""

import asyncio

from shared.embedding.factory import open_embedder
from shared.embedding.port import Embedder
from shared.settings.app import Settings

__all__ = ["close_embedder", "embedder"]

_started: dict[asyncio.AbstractEventLoop, asyncio.Task[Embedder]] = {}


async def embedder(settings: Settings) -> Embedder:
    """Every stage of the process shares it: one encoder has all cores."""
    loop = asyncio.get_running_loop()
    if loop not in _started:
        _started[loop] = loop.create_task(open_embedder(settings))
    starting = _started[loop]
    try:
        return await asyncio.shield(starting)
    except BaseException:
        if starting.done() and _started.get(loop) is starting:  # of all who waited for it, one takes it away
            del _started[loop]  # the next call tries again
        raise


async def close_embedder() -> None:
    task = _started.pop(asyncio.get_running_loop(), None)
    if task is not None:
        await (await task).close()
