"""The one embedder of this process, started on first use."""

import asyncio

from shared.config import Settings
from shared.embedding.factory import open_embedder
from shared.embedding.port import Embedder

__all__ = ["close_embedder", "embedder"]

_started: dict[asyncio.AbstractEventLoop, asyncio.Task[Embedder]] = {}


async def embedder(settings: Settings) -> Embedder:
    """Every stage of the process shares it: one encoder has all cores."""
    loop = asyncio.get_running_loop()
    if loop not in _started:
        _started[loop] = loop.create_task(open_embedder(settings))
    try:
        return await asyncio.shield(_started[loop])
    except BaseException:
        if _started[loop].done():
            del _started[loop]  # the next call tries again
        raise


async def close_embedder() -> None:
    task = _started.pop(asyncio.get_running_loop(), None)
    if task is not None:
        await (await task).close()
