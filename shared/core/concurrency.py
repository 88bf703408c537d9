"""Limited concurrency, batches, and resources that are started once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, cast

Item = TypeVar("Item")
AT_ONCE = 16


async def gather_limited(work: Iterable[Awaitable[Item]], limit: int = AT_ONCE) -> list[Item]:
    """Run the work, at most `limit` at a time, and return ordered results. Raise the first error at the end.

    Pass a generator, so that each coroutine is created when it is started.
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
        # Acquire before a coroutine is created, so that a cancellation cannot lose it.
        await gate.acquire()
        while (awaitable := next(pieces, None)) is not None:
            tasks.append(asyncio.create_task(run(awaitable)))
            await asyncio.sleep(0)  # Let the task start.
            await gate.acquire()
        if tasks:
            await asyncio.wait(tasks)
    except BaseException:  # Canceled, or the generator failed.
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
    """Yield the items in lists of `size`, with only one list in memory. The last may be shorter."""
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
    """Resources that are started on first use, shared by all callers, and closed by this object."""

    def __init__(self) -> None:
        self._starting: dict[Hashable, asyncio.Task[Any]] = {}
        self._given: dict[Hashable, Any] = {}
        self.failed: dict[Hashable, BaseException] = {}  # The error of the last failed start of each resource

    def give(self, key: Hashable, resource: Closable) -> None:
        """Use this resource instead of starting one. Its giver closes it."""
        self._given[key] = resource

    async def get(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Resource]]) -> Resource:
        """Return the resource. The next call retries a failed start. A canceled caller stops no start."""
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
    """The queue is full. Another caller would wait too long."""


class BoundedQueue:
    """A limit of concurrent and waiting requests, so that requests cannot accumulate."""

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
        """Do nothing. `StartedOnce` requires it."""
