"""A budget of tokens, such as one archive may cost: set aside before a call, settled after it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared.clients.cosmos.batches import Patch
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict, Store
from shared.core.errors import DocumentNotFoundError
from shared.documents.reports import TokenAccount


class TokenBudget(Protocol):
    """Calls that run side by side cannot overspend together."""

    async def reserve(self, tokens: int) -> bool:
        """Set tokens aside; False where the budget does not have them."""

    async def settle(self, reserved: int, used: int) -> None:
        """Give back what was set aside, and count what was used."""


@dataclass
class MemoryTokenBudget:
    """In memory; without a limit unless one is given."""

    limit: int | None = None
    used: int = 0
    reserved: int = 0

    async def reserve(self, tokens: int) -> bool:
        if self.limit is not None and self.used + self.reserved + tokens > self.limit:
            return False
        self.reserved += tokens
        return True

    async def settle(self, reserved: int, used: int) -> None:
        self.reserved -= reserved
        self.used += used


@dataclass(frozen=True)
class StoredBudget:
    """Of one archive, for all workers: an account in Cosmos DB, changed only by conditional patches.

    What a crashed call had set aside stays so: it may have been spent.
    """

    store: Store
    archive_id: str
    limit: int | None
    now: Callable[[], datetime]

    async def reserve(self, tokens: int) -> bool:
        try:
            return await self._reserve(tokens)
        except DocumentNotFoundError:  # the archive's first call
            await self.store.create(TokenAccount(id=self.archive_id, created_at=self.now()), Session())
            return await self._reserve(tokens)

    async def _reserve(self, tokens: int) -> bool:
        patch = Patch(self.archive_id, self.archive_id, increment={"reserved": tokens})
        fits = f"c.used + c.reserved + {tokens:d} <= {self.limit:d}" if self.limit is not None else None
        changed = await self.store.patch(TokenAccount, patch, Session(), condition=fits)
        return changed is not Conflict.CONFLICT

    async def settle(self, reserved: int, used: int) -> None:
        spent = {"reserved": -reserved, "used": used, "calls": 1 if used else 0}
        patch = Patch(self.archive_id, self.archive_id, increment=spent)
        await self.store.patch(TokenAccount, patch, Session())
