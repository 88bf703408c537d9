"""A lease in Cosmos DB: one worker at a time, across processes.

The holder renews it while it works. A holder that dies renews nothing, so the lease expires and another
worker takes it. All writes are conditional on the ETag: of two workers that try at once, one succeeds.
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
RENEWALS = 3  # in the lock's life: it outlasts one that fails, and one that comes late

_waiting: WeakKeyDictionary[Store, dict[str, asyncio.Lock]] = WeakKeyDictionary()


def _turns(store: Store) -> dict[str, asyncio.Lock]:
    return _waiting.setdefault(store, defaultdict(asyncio.Lock))


class LeaseTakenError(TransientError):
    """Another worker holds the lock, and did not release it in time."""


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
    async def held(self, session: Session | None = None, *, for_good: bool = False) -> AsyncIterator[None]:
        """Until the work is done. `for_good`: nobody will want this lock again, so its document goes.

        The session sees what those wrote who held the lock before with theirs, wherever they ran. A holder
        that is paused for longer than the lock lives goes on without it: no write may depend on the lock
        alone.
        """
        session = session or Session()
        # Those of this process take turns without asking the store again and again.
        async with (
            _turns(self._store)[self._name],
            self._kept(await self._acquire(), session, for_good=for_good),
        ):
            yield

    @asynccontextmanager
    async def held_if_free(self) -> AsyncIterator[bool]:
        """Whether it is held now: one that another worker has is left alone."""
        lock = await self._try()
        if lock is None:
            yield False
            return
        async with self._kept(lock, Session()):
            yield True

    @asynccontextmanager
    async def _kept(self, lock: Lock, session: Session, *, for_good: bool = False) -> AsyncIterator[None]:
        """Renewed for as long as the work takes, and then released."""
        session.merge(Session(lock.session))
        done = asyncio.Event()
        renewing = asyncio.create_task(self._renewed(lock, done))
        try:
            yield
        finally:
            done.set()
            await self._release(await renewing, session, for_good=for_good)

    async def _renewed(self, lock: Lock, done: asyncio.Event) -> Lock:
        """The lock as it is in the end."""
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

    async def _release(self, lock: Lock, session: Session, *, for_good: bool) -> None:
        """Nothing, where its time was over and somebody else has it, or had."""
        if for_good:
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
        taken = await self._store.replace(known.model_copy(update=mine), session)
        return None if taken is Conflict.CONFLICT else taken

    async def _ended(self, done: asyncio.Event, *, within: float) -> bool:
        """Whether the work ended before so many seconds of the runtime's time had passed."""
        waiting = {asyncio.ensure_future(done.wait()), asyncio.ensure_future(self._runtime.sleep(within))}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return done.is_set()
