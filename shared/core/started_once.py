"""Things that are expensive to start, and shared by all coroutines that need them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Protocol, TypeVar


class Closable(Protocol):
    def close(self) -> Awaitable[None]: ...


Resource = TypeVar("Resource", bound=Closable)


class StartedOnce:
    """Starts each resource on first use, for all callers together, and closes those that it started."""

    def __init__(self) -> None:
        self._starting: dict[Hashable, asyncio.Task[Any]] = {}
        self._given: dict[Hashable, Any] = {}

    def give(self, key: Hashable, resource: Closable) -> None:
        """Use this one instead of starting one. Who gives it also closes it."""
        self._given[key] = resource

    async def get(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Resource]]) -> Resource:
        """The resource. A start that failed is forgotten once its error is raised: the next call tries again.

        A caller that is cancelled does not cancel the start: others may wait for it.
        """
        if key in self._given:
            given: Resource = self._given[key]
            return given
        if key not in self._starting:
            self._starting[key] = asyncio.create_task(start())
        task: asyncio.Task[Resource] = self._starting[key]
        try:
            return await asyncio.shield(task)
        except BaseException:
            if task.done() and self._starting.get(key) is task:
                del self._starting[key]
            raise

    async def close(self) -> None:
        while self._starting:
            _, task = self._starting.popitem()
            await (await task).close()
