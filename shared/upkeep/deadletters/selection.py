"""Which dead letters an operation is about."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shared.clients.connections import Clients
from shared.clients.servicebus.dead_letters import DeadLetter
from shared.upkeep.deadletters.causes import Diagnosed
from shared.upkeep.deadletters.groups import diagnosed_letters


class LetterSelection(BaseModel):
    """All of these conditions hold; without any, everything in the queues is chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queues: list[str]
    sequence_numbers: list[int] = Field(default_factory=list)
    groups: list[str] = Field(default_factory=list)
    event_types: list[str] = Field(default_factory=list)
    before: datetime | None = None  # enqueued
    since: datetime | None = None
    satisfied: bool = False  # only those whose work is done by now
    limit: int | None = Field(default=None, gt=0)

    def shown(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_defaults=True)

    def takes(self, letter: DeadLetter) -> bool:
        """Whether it fits all conditions but the group, which needs the cause."""
        return (
            (not self.sequence_numbers or letter.sequence_number in self.sequence_numbers)
            and (not self.event_types or letter.subject in self.event_types)
            and (self.before is None or letter.enqueued_at < self.before)
            and (self.since is None or letter.enqueued_at >= self.since)
        )


async def choose(clients: Clients, selection: LetterSelection) -> list[Diagnosed]:
    """The letters that are in the queues now and fit, with their causes; at most `limit`."""
    found = await diagnosed_letters(
        clients, selection.queues, takes=selection.takes, judged=selection.satisfied
    )
    chosen = [
        letter
        for letter in found
        if (not selection.groups or letter.group in selection.groups)
        and (letter.satisfied or not selection.satisfied)
    ]
    return chosen[: selection.limit]
