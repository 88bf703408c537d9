"""Bounded concurrency, work in parts, and resources that are started once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, cast

Item = TypeVar("Item")
AT_ONCE = 16


async def gather_limited(work: Iterable[Awaitable[Item]], limit: int = AT_ONCE) -> list[Item]:
    """Run all of it, at most `limit` at a time; results in order. The first error is raised when all ended.

    Pass a generator: each coroutine is made and started in its turn.
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
        # The gate first: a cancellation must not lose a coroutine that is made.
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


class Closable(Protocol):
    def close(self) -> Awaitable[None]: ...


Resource = TypeVar("Resource", bound=Closable)


class StartedOnce:
    """Starts each resource on first use, for all callers together, and closes those that it started."""

    def __init__(self) -> None:
        self._starting: dict[Hashable, asyncio.Task[Any]] = {}
        self._given: dict[Hashable, Any] = {}
        self.failed: dict[Hashable, BaseException] = {}  # why the last start of a resource failed

    def give(self, key: Hashable, resource: Closable) -> None:
        """Use this one instead of starting one; its giver closes it."""
        self._given[key] = resource

    async def get(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Resource]]) -> Resource:
        """The resource. A failed start is tried again by the next call. A cancelled caller stops no start."""
        if key in self._given:
            return cast("Resource", self._given[key])
        if key not in self._starting:
            self._starting[key] = asyncio.create_task(start())
        task: asyncio.Task[Resource] = self._starting[key]
        try:
            resource = await asyncio.shield(task)
        except BaseException as error:
            if task.done() and self._starting.get(key) is task:
                del self._starting[key]
                self.failed[key] = error
            raise
        self.failed.pop(key, None)
        return resource

    async def close(self) -> None:
        while self._starting:
            _, task = self._starting.popitem()
            await (await task).close()


class QueueFullError(Exception):
    """So many wait already that another would wait in vain."""


class BoundedQueue:
    """So many at a time, so many that wait, and no more: what readers ask for cannot pile up."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._most = at_once + waiting
        self._turn = asyncio.Semaphore(at_once)
        self._inside = 0

    async def __aenter__(self) -> None:
        if self._inside >= self._most:
            raise QueueFullError("Too many requests of this kind wait already. Try again later.")
        self._inside += 1
        try:
            await self._turn.acquire()
        except BaseException:
            self._inside -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._turn.release()

    async def close(self) -> None:
        """Nothing is kept open: as a resource of the connections it ends with them."""
