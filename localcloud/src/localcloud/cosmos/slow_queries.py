"""A thread for slow queries, which would block the event loop.

Every query starts on the event loop. After a short time limit it is stopped and runs again in the thread, on
its own connection, which sees committed data.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from localcloud.cosmos.errors import throttled
from localcloud.cosmos.queries import Page, Work
from localcloud.cosmos.store import Store

LOOP_SECONDS = 0.2
MAX_WAITING = 50
_RETRY_MS = 1000


class SlowQueryThread:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = store.reader()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="slow-query")
        self._waiting = 0

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    async def run(self, work: Work, seconds: float) -> Page:
        if self._waiting >= MAX_WAITING:
            raise throttled(_RETRY_MS)
        self._waiting += 1
        try:
            await self._commit_of_now()
            assert self._connection is not None  # noqa: S101 - callers check is_open
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, work, self._connection, seconds)
        finally:
            self._waiting -= 1

    async def _commit_of_now(self) -> None:
        """Wait for the open commit, because the thread must see all that the reader has seen."""
        group = self._store.groups
        while self._store.group_open and self._store.groups == group:  # noqa: ASYNC110 - one loop iteration
            await asyncio.sleep(0)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()
        self._thread.shutdown(wait=True, cancel_futures=True)
        if self._connection is not None:
            self._connection.close()
