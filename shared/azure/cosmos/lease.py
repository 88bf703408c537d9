"""A lease in Cosmos DB: one worker at a time, across processes.

The holder renews the lease while it works. The lease of a holder that dies expires, and another worker takes
it. All writes are conditional on the ETag, so of two simultaneous workers one succeeds.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from shared.azure.cosmos.session import Session
from shared.azure.cosmos.store import Conflict, Store
from shared.core.errors import TransientError
from shared.core.runtime import Runtime
from shared.models.records import Lock

log = logging.getLogger(__name__)
HELD_SECONDS = 120.0
WAIT_SECONDS = 60.0
POLL_SECONDS = 0.1
RENEWALS = 3  # in the lifetime of the lock: one may fail and one may be late

_waiting: WeakKeyDictionary[Store, dict[str, asyncio.Lock]] = WeakKeyDictionary()


def _turns(store: Store) -> dict[str, asyncio.Lock]:
    return _waiting.setdefault(store, defaultdict(asyncio.Lock))


class LeaseTakenError(TransientError):
    """Another worker holds the lock and did not release it in time."""


class Lease:
    def __init__(
        self,
        store: Store,
        name: str,
        runtime: Runtime,
        *,
        seconds: float = HELD_SECONDS,
        patience: float = WAIT_SECONDS,
        poll: float = POLL_SECONDS,
    ) -> None:
        self._store = store
        self._name = name
        self._runtime = runtime
        self._owner = runtime.new_id()
        self._seconds, self._patience, self._poll = seconds, patience, poll

    @asynccontextmanager
    async def hold(
        self, session: Session | None = None, *, delete_after: bool = False
    ) -> AsyncIterator[None]:
        """Hold the lock. `delete_after` deletes its document, for a name that is never used again.

        The session sees the writes of earlier holders. A holder that is paused for too long loses the lock
        and continues, so no write may depend on the lock alone.
        """
        session = session or Session()
        # Workers of this process wait for each other without polling the store.
        async with (
            _turns(self._store)[self._name],
            self._kept(await self._acquire(), session, delete_after=delete_after),
        ):
            yield

    @asynccontextmanager
    async def hold_if_free(self) -> AsyncIterator[bool]:
        """Hold the lock if it is free. Yield whether it is held."""
        lock = await self._try()
        if lock is None:
            yield False
            return
        async with self._kept(lock, Session()):
            yield True

    @asynccontextmanager
    async def _kept(self, lock: Lock, session: Session, *, delete_after: bool = False) -> AsyncIterator[None]:
        """Renew the lock during the work and release it afterwards."""
        session.merge(Session(lock.session))
        done = asyncio.Event()
        renewing = asyncio.create_task(self._renewed(lock, done))
        try:
            yield
        finally:
            done.set()
            await self._release(await renewing, session, delete_after=delete_after)

    async def _renewed(self, lock: Lock, done: asyncio.Event) -> Lock:
        """Renew the lock until the work is done, and return its last version."""
        while not await self._ended(done, within=self._seconds / RENEWALS):
            longer = {"expires": self._runtime.now().timestamp() + self._seconds}
            try:
                renewed = await self._store.replace(lock.model_copy(update=longer), Session())
            except Exception:
                log.exception("the lock %s could not be renewed", self._name)
                continue
            if renewed is Conflict.CONFLICT:
                log.error("the lock %s was lost while it was held: its time was over", self._name)
                return lock
            lock = renewed
        return lock

    async def _release(self, lock: Lock, session: Session, *, delete_after: bool) -> None:
        """Release the lock, unless another worker has taken it after it expired."""
        if delete_after:
            await self._store.delete(Lock, lock.id, Session(), etag=lock.etag)
            return
        free = {"owner": "", "expires": 0.0, "session": session.tokens()}
        await self._store.replace(lock.model_copy(update=free), Session())

    async def _acquire(self) -> Lock:
        waited = 0.0
        while True:
            if (lock := await self._try()) is not None:
                return lock
            if waited >= self._patience:
                raise LeaseTakenError(f"the lock {self._name} was not released within {self._patience:.0f} s")
            await self._runtime.sleep(self._poll)
            waited += self._poll

    async def _try(self) -> Lock | None:
        session, now = Session(), self._runtime.now().timestamp()
        known = await self._store.find(Lock, self._name, session)
        if known is None:
            await self._store.create(Lock(id=self._name, created_at=self._runtime.now()), session)
            known = await self._store.read(Lock, self._name, session)
        if known.owner and known.expires > now:
            return None
        mine = {"owner": self._owner, "expires": now + self._seconds}
        replaced = await self._store.replace(known.model_copy(update=mine), session)
        return None if replaced is Conflict.CONFLICT else replaced

    async def _ended(self, done: asyncio.Event, *, within: float) -> bool:
        """Return whether the work ended within so many seconds of the runtime's clock."""
        waiting = {asyncio.ensure_future(done.wait()), asyncio.ensure_future(self._runtime.sleep(within))}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return done.is_set()
