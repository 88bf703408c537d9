"""Bounded concurrency, and work in parts: how much is under way, or held in memory, at one time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
AT_ONCE = 16


async def gather_limited(work: Iterable[Awaitable[Item]], limit: int = AT_ONCE) -> list[Item]:
    """Run all of it, at most `limit` at a time; results in order. The first error is raised when all ended.

    Pass a generator of coroutines: each is made when its turn comes, and starts before the next is made. To
    serialise one batch takes a while, in which the service can already work on those before it.
    """
    gate = asyncio.Semaphore(limit)

    async def run(awaitable: Awaitable[Item]) -> Item:
        try:
            return await awaitable
        finally:
            gate.release()

    tasks: list[asyncio.Task[Item]] = []
    try:
        pieces = iter(work)
        # The gate first: a coroutine that is made, and then not awaited for a cancellation, would be lost.
        await gate.acquire()
        while (awaitable := next(pieces, None)) is not None:
            tasks.append(asyncio.create_task(run(awaitable)))
            await asyncio.sleep(0)  # let it start
            await gate.acquire()
        if tasks:
            await asyncio.wait(tasks)
    except BaseException:  # cancelled, or the generator of the work failed
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    failed = [error for task in tasks if (error := task.exception()) is not None]
    if failed:
        raise failed[0]
    return [task.result() for task in tasks]


def batches_of(items: Sequence[Item], size: int) -> list[list[Item]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


async def in_pages(items: AsyncIterator[Item], size: int) -> AsyncIterator[list[Item]]:
    """The items in lists of `size`; the last may be shorter. Only one list is held at a time."""
    page: list[Item] = []
    async for item in items:
        page.append(item)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page
