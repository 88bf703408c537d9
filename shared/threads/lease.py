"""A lock in Cosmos DB: one worker at a time, released by itself when its holder is gone."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from shared.documents import Lock
from shared.errors import TransientError
from shared.session import Session
from shared.store import Conflict, Store

__all__ = ["THREADING", "Lease", "LeaseTakenError"]

THREADING = "threading"  # held by who adds messages to threads, or takes some out

HELD_SECONDS = 120.0
WAIT_SECONDS = 60.0
POLL_SECONDS = 0.1


class LeaseTakenError(TransientError):
    """Another worker holds the lock, and did not release it in time."""


class Lease:
    def __init__(
        self,
        store: Store,
        name: str,
        now: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._name = name
        self._now = now
        self._sleep = sleep
        self._owner = uuid.uuid4().hex

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        lock = await self._acquire()
        try:
            yield
        finally:
            await self._release(lock)

    @asynccontextmanager
    async def held_if_free(self) -> AsyncIterator[bool]:
        """Whether it is held now: one that another worker has is left alone."""
        lock = await self._try() or await self._try()  # the first may have to create it
        try:
            yield lock is not None
        finally:
            if lock is not None:
                await self._release(lock)

    async def _release(self, lock: Lock) -> None:
        # CONFLICT: its time was over and somebody else has it; then there is nothing to release.
        await self._store.replace(lock.model_copy(update={"owner": "", "expires": 0.0}), Session())

    async def _acquire(self) -> Lock:
        waited = 0.0
        while True:
            if (lock := await self._try()) is not None:
                return lock
            if waited >= WAIT_SECONDS:
                raise LeaseTakenError(f"the lock {self._name} was not released within {WAIT_SECONDS:.0f} s")
            await self._sleep(POLL_SECONDS)
            waited += POLL_SECONDS

    async def _try(self) -> Lock | None:
        session, now = Session(), self._now().timestamp()
        mine = {"owner": self._owner, "expires": now + HELD_SECONDS}
        known = await self._store.find(Lock, self._name, self._name, session)
        if known is None:
            await self._store.create(Lock(id=self._name), session)
            return None
        if known.owner and known.expires > now:
            return None
        taken = await self._store.replace(known.model_copy(update=mine), session)
        return None if taken is Conflict.CONFLICT else taken
