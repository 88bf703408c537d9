"""Dead letters by stage, reason and error: one line for each cause."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from shared.clients.connections import Clients
from shared.clients.servicebus.dead_letters import DeadLetter, peek_all
from shared.upkeep.deadletters.causes import Diagnosed, diagnose


@dataclass(frozen=True)
class Group:
    id: str
    queue: str
    reason: str
    error_hash: str
    error_type: str
    error: str
    count: int
    first_seen: datetime
    last_seen: datetime
    example: int  # a sequence number

    def shown(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "first_seen": self.first_seen.isoformat(),
            "last_seen": self.last_seen.isoformat(),
        }


def group_letters(letters: Iterable[Diagnosed]) -> list[Group]:
    """The groups, the largest first."""
    groups: dict[str, Group] = {}
    for diagnosed in letters:
        known = groups.get(diagnosed.group)
        groups[diagnosed.group] = _new(diagnosed) if known is None else _grown(known, diagnosed.cause.seen_at)
    return sorted(groups.values(), key=lambda group: (-group.count, group.queue, group.id))


def _new(diagnosed: Diagnosed) -> Group:
    cause = diagnosed.cause
    return Group(
        diagnosed.group,
        diagnosed.letter.queue,
        cause.reason,
        cause.error_hash,
        cause.error_type,
        cause.error,
        1,
        cause.seen_at,
        cause.seen_at,
        diagnosed.letter.sequence_number,
    )


def _grown(group: Group, seen: datetime) -> Group:
    return replace(
        group,
        count=group.count + 1,
        first_seen=min(group.first_seen, seen),
        last_seen=max(group.last_seen, seen),
    )


async def diagnosed_letters(
    clients: Clients, queues: Sequence[str], *, most: int | None = None
) -> list[Diagnosed]:
    """Every dead letter of these queues, with its cause; at most so many of each queue, the oldest."""

    async def of(queue: str) -> list[Diagnosed]:
        letters: list[DeadLetter] = [letter async for letter in peek_all(clients.bus, queue, most=most)]
        return await diagnose(clients.store, letters)

    # All at once: most of the time goes into opening links, and each queue is quick by itself.
    return [diagnosed for found in await asyncio.gather(*map(of, queues)) for diagnosed in found]
