"""What is done to the system in a run: archives come in, one is deleted, and so on, at random times."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from shared.clients.connections import Clients
from shared.ingestion.uploads import Upload, take_upload
from shared.upkeep.removal.requests import request_removal
from tests.simulation.mails import mail, mailbox


@dataclass(frozen=True)
class Act:
    """Something that a client asks a host for, again and again until it is answered."""

    name: str
    work: Callable[[Clients], Awaitable[Any]]
    earliest: float = 0.0
    latest: float = 2.0
    after_others: bool = (
        False  # only when all others were answered: a client that repeats an upload restores it
    )


@dataclass(frozen=True)
class Scenario:
    name: str
    acts: tuple[Act, ...]
    archives: int  # how many there are in the end
    settings: dict[str, str] = field(default_factory=dict)
    timers: dict[str, float] = field(default_factory=dict)  # Functions and their seconds, besides the sweep


def upload(
    name: str, content: bytes, *, earliest: float = 0.0, latest: float = 2.0, source: str = "lists"
) -> Act:
    async def work(clients: Clients) -> None:
        await take_upload(Upload(content, f"{name}.mbox", source), clients)

    return Act(f"upload {name}", work, earliest, latest)


def archive_id_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def delete(content: bytes, *, earliest: float, latest: float) -> Act:
    target = archive_id_of(content)

    async def work(clients: Clients) -> None:
        asked = await request_removal(
            clients, "archive", target, requested_by="simulation", now=clients.runtime.now()
        )
        if asked is None:
            raise LookupError(f"archive {target} is not there yet")

    return Act(f"delete {target}", work, earliest, latest, after_others=True)


# Three threads over two archives: one mail is in both, and a mail of the second joins two threads of the first.
# All archives are of one list: threads of different lists are never joined.
FIRST = mailbox(mail(1), mail(2, [1]), mail(4), mail(5, [4]), mail(9, [8]))
SECOND = mailbox(mail(5, [4]), mail(8, [4]), mail(6))
OVERLAP = Scenario("overlap", (upload("alpha", FIRST), upload("beta", SECOND)), 2)

# Two threads, and later the mail that the second one answers, which answers the first.
LEFT = mailbox(mail(1), mail(2, [1]))
RIGHT = mailbox(mail(11, [20]), mail(12, [20, 11]))
JOIN = mailbox(mail(20, [1]))
LATE_MERGE = Scenario(
    "late_merge",
    (upload("left", LEFT), upload("right", RIGHT), upload("join", JOIN, earliest=0.0, latest=20.0)),
    3,
)

# A mail that comes late takes its answers out of the thread that they were in, and a copy of a mail conflicts.
ANSWERS = mailbox(mail(1), mail(2, [1]), mail(31, [1, 30]), mail(32, [1, 30, 31]))
LATE_ANCESTOR = Scenario(
    "late_ancestor",
    (
        upload("answers", ANSWERS),
        upload("late", mailbox(mail(30)), earliest=0.0, latest=20.0),
        upload("elsewhere", mailbox(mail(2, text="I never said so.")), latest=20.0, source="other"),
        replace(upload("forged", mailbox(mail(2, text="I take it all back."))), after_others=True),
    ),
    4,
)

# One thread that grows, by archives that repeat what the ones before had.
GROWTH = Scenario(
    "growth",
    (
        upload("one", mailbox(mail(1), mail(2, [1]))),
        upload("two", mailbox(mail(2, [1]), mail(3, [1, 2])), latest=12.0),
        upload("three", mailbox(mail(3, [1, 2]), mail(4, [1, 2, 3])), latest=24.0),
    ),
    3,
)

# An archive is deleted while it is worked on; another one has some of its mails.
STAYS = mailbox(mail(1), mail(3, [1]), mail(5))
GOES = mailbox(mail(1), mail(2, [1]), mail(7))
DELETION = Scenario(
    "deletion",
    (
        upload("stays", STAYS),
        upload("goes", GOES),
        delete(GOES, earliest=0.0, latest=20.0),
    ),
    1,
    timers={"housekeeping": 300.0},
)

# Digests are made again and again while their threads come in.
DIGESTS = Scenario(
    "digests",
    (
        upload("lists", mailbox(mail(1, text="I support draft-foo-bar-01."), mail(2, [1]))),
        upload(
            "lists", mailbox(mail(3, [1, 2]), mail(6, text="I object to draft-foo-bar-01.")), latest=400.0
        ),
    ),
    2,
    timers={"housekeeping": 300.0},
)

SCENARIOS = {
    scenario.name: scenario for scenario in (OVERLAP, LATE_MERGE, LATE_ANCESTOR, GROWTH, DELETION, DIGESTS)
}
