"""Dead letters by stage, reason and error: one line for each cause."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from shared.clients.connections import Clients
from shared.clients.servicebus.dead_letters import DeadLetter, peek_all
from shared.upkeep.deadletters.causes import Diagnosed, diagnose
from shared.upkeep.deadletters.satisfied import satisfied_letters


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
    satisfied: int = 0  # of them: what these asked for is done by now

    def shown(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "first_seen": self.first_seen.isoformat(),
            "last_seen": self.last_seen.isoformat(),
        }


def group_letters(letters: Iterable[Diagnosed]) -> list[Group]:
    """The groups, the largest first."""
    by_cause: dict[str, list[Diagnosed]] = {}
    for diagnosed in letters:
        by_cause.setdefault(diagnosed.group, []).append(diagnosed)
    groups = [_group(id_, members) for id_, members in by_cause.items()]
    return sorted(groups, key=lambda group: (-group.count, group.queue, group.id))


def _group(id_: str, members: Sequence[Diagnosed]) -> Group:
    letter, cause = members[0].letter, members[0].cause
    return Group(
        id_,
        letter.queue,
        cause.reason,
        cause.error_hash,
        cause.error_type,
        cause.error,
        len(members),
        min(member.cause.seen_at for member in members),
        max(member.cause.seen_at for member in members),
        letter.sequence_number,
        sum(member.satisfied for member in members),
    )


async def diagnosed_letters(
    clients: Clients,
    queues: Sequence[str],
    *,
    most: int | None = None,
    takes: Callable[[DeadLetter], bool] = lambda _letter: True,
    judged: bool = False,
) -> list[Diagnosed]:
    """The dead letters of these queues that it takes, with their causes; of each queue the oldest `most`.

    `judged` looks at the documents that each is about, too: is what it asked for done by now?
    """

    async def of(queue: str) -> list[Diagnosed]:
        letters = [letter async for letter in peek_all(clients.bus, queue, most=most) if takes(letter)]
        diagnosed = await diagnose(clients.store, letters)
        if not judged:
            return diagnosed
        done = await satisfied_letters(clients, letters)
        return [
            replace(diagnosis, satisfied=diagnosis.letter.sequence_number in done) for diagnosis in diagnosed
        ]

    # All at once: most of the time goes into opening links, and each queue is quick by itself.
    return [diagnosed for found in await asyncio.gather(*map(of, queues)) for diagnosed in found]
