"""Which dead letters an operation is about."""

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shared.clients.connections import Clients
from shared.clients.servicebus.dead_letters import DeadLetter, peek_all
from shared.upkeep.deadletters.causes import Diagnosed, diagnose


class LetterSelection(BaseModel):
    """All of these conditions hold; without any, everything in the queues is chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queues: list[str]
    sequence_numbers: list[int] = Field(default_factory=list)
    groups: list[str] = Field(default_factory=list)
    event_types: list[str] = Field(default_factory=list)
    before: datetime | None = None  # enqueued
    since: datetime | None = None
    limit: int | None = Field(default=None, gt=0)

    def shown(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)

    def _takes(self, letter: DeadLetter) -> bool:
        return (
            (not self.sequence_numbers or letter.sequence_number in self.sequence_numbers)
            and (not self.event_types or letter.subject in self.event_types)
            and (self.before is None or letter.enqueued_at < self.before)
            and (self.since is None or letter.enqueued_at >= self.since)
        )

    def plain(self, letters: Iterable[DeadLetter]) -> list[DeadLetter]:
        """Those that fit all conditions but the group, which needs the cause."""
        return [letter for letter in letters if self._takes(letter)]

    def grouped(self, letters: Iterable[Diagnosed]) -> list[Diagnosed]:
        return [letter for letter in letters if not self.groups or letter.group in self.groups]


async def choose(clients: Clients, selection: LetterSelection) -> list[Diagnosed]:
    """The letters that are in the queues now and fit, with their causes; at most `limit`."""

    async def of(queue: str) -> list[Diagnosed]:
        letters = selection.plain([letter async for letter in peek_all(clients.bus, queue)])
        return selection.grouped(await diagnose(clients.store, letters))

    chosen = [diagnosed for found in await asyncio.gather(*map(of, selection.queues)) for diagnosed in found]
    return chosen[: selection.limit]
