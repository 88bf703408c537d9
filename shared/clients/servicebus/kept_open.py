"""Senders and receivers that stay open, as many as there may be connections.

The SDK opens a connection for each of them, which costs half a second. Azure takes thousands of connections,
Microsoft's emulator ten in all: where one more would be too many, the one that was not used for longest is
closed first.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

Handler = TypeVar("Handler")


class KeptOpen:
    """By name; each for one coroutine at a time, for the SDK's are not made for two."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[str, tuple[Any, asyncio.Lock]] = {}  # those used last stand last
        self._leaving = 0  # given up, and their connection is still open
        self._released = asyncio.Event()

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    @asynccontextmanager
    async def use(self, name: str, make: Callable[[], Handler]) -> AsyncIterator[Handler]:
        """The one of this name, made where there is none; others wait until it is free."""
        while True:
            if name not in self._kept:
                if not await self._has_room():
                    continue
                self._kept[name] = (make(), asyncio.Lock())
            kept = self._kept[name] = self._kept.pop(name)
            async with kept[1]:
                if self._kept.get(name) is kept:  # it may have been given up while we waited for it
                    try:
                        yield kept[0]
                    finally:
                        self._released.set()
                    return

    def give_up(self, name: str) -> None:
        """Nobody gets it any more. It counts until `left` is called: who gives it up closes it."""
        if self._kept.pop(name, None) is not None:
            self._leaving += 1

    def left(self) -> None:
        """One that was given up is closed."""
        self._leaving -= 1
        self._released.set()

    async def close(self) -> None:
        await asyncio.gather(*(handler.close() for handler, _ in self._kept.values()))
        self._kept.clear()

    async def _has_room(self) -> bool:
        """Whether one more may be opened; where not, look again: one was closed, or became free."""
        if len(self._kept) + self._leaving < self._most:
            return True
        idle = next((name for name, (_, lock) in self._kept.items() if not lock.locked()), None)
        if idle is None:
            self._released.clear()
            await self._released.wait()
            return False
        handler, _ = self._kept[idle]
        self.give_up(idle)
        try:
            await handler.close()
        finally:
            self.left()
        return False
