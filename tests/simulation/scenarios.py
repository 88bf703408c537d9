"""What is done to the system in a run: archives come in, one is deleted, and so on, at random times."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from shared.azure.connections import Clients
from shared.core.ids import archive_id, file_hash, thread_id
from shared.embedding.factory import embedder
from shared.ingestion.uploads import Upload, take_upload
from shared.models.values import CorrectionKind, OutcomeKind
from shared.operations.audit import Operator
from shared.operations.correcting import CorrectionAsked, correct
from shared.operations.reembed import reembed
from shared.operations.removal.requests import request_removal
from shared.pipeline.state.archives import find_removal
from tests.simulation.mails import mail, mailbox

SOURCE = "lists"


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
    before: tuple[Act, ...] = ()  # done once, without faults: every run begins after that
    settings: dict[str, str] = field(default_factory=dict)
    away: str = ""  # a service that is away: then no dead letter may stay, and no attempt is used up
    away_hours: float = 0.0
    chores: tuple[str, ...] = ()  # of housekeeping, which runs every five minutes where there are some


def upload(
    name: str,
    content: bytes,
    *,
    earliest: float = 0.0,
    latest: float = 2.0,
    source: str = SOURCE,
    days_ago: float = 0.0,
) -> Act:
    """`days_ago`: the archive arrived then, and is parsed only now."""

    async def work(clients: Clients) -> None:
        runtime = clients.runtime
        then = replace(runtime, now=lambda: runtime.now() - timedelta(days=days_ago))
        await take_upload(Upload(content, f"{name}.mbox", source), replace(clients, runtime=then))

    return Act(f"upload {name}", work, earliest, latest)


def archive_id_of(content: bytes) -> str:
    return archive_id(file_hash(content), SOURCE)


def delete(content: bytes, *, earliest: float, latest: float) -> Act:
    target = archive_id_of(content)

    async def work(clients: Clients) -> None:
        asked = await request_removal(
            clients, "archive", target, requested_by="simulation", now=clients.runtime.now()
        )
        # Who repeats a request whose answer was lost may find the archive gone by its first one.
        if asked is None and await find_removal(clients.store, "archive", target) is None:
            raise LookupError(f"archive {target} is not there yet")

    return Act(f"delete {target}", work, earliest, latest, after_others=True)


# All archives are of one list: threads of different lists cannot be merged.

# A mail that is in both archives, and one of the second that joins two threads of the first.
FIRST = mailbox(mail(4), mail(9, [8]))
SECOND = mailbox(mail(4), mail(8, [4]))
OVERLAP = Scenario("overlap", (upload("alpha", FIRST), upload("beta", SECOND)), 2)

# Two threads, and later the mail that the second one answers, which answers the first; while that one grows.
TWO_THREADS = mailbox(mail(1), mail(11, [20]))
LATE_MERGE = Scenario(
    "late_merge",
    (upload("join", mailbox(mail(20, [1]))), upload("more", mailbox(mail(12, [20, 11])))),
    3,
    before=(upload("two", TWO_THREADS),),
)

# A mail that comes late takes its answers out of the thread that they were in, and a copy of a mail conflicts.
LATE_ANCESTOR = Scenario(
    "late_ancestor",
    (
        upload("late", mailbox(mail(30))),
        upload("elsewhere", mailbox(mail(2, text="I never said so.")), source="other"),
        replace(upload("forged", mailbox(mail(2, text="I take it all back."))), after_others=True),
    ),
    4,
    before=(upload("answers", mailbox(mail(1), mail(2, [1]), mail(31, [1, 30]))),),
)

# A thread gets a mail and loses it again within minutes, so that a summary which was outdated is current once more.
BACK = Scenario(
    "back",
    (
        upload("two", mailbox(mail(1), mail(2, [1])), latest=0.5),
        upload("answer", mailbox(mail(31, [1, 30])), earliest=2.0, latest=8.0),
        upload("late", mailbox(mail(30)), earliest=10.0, latest=30.0),
    ),
    3,
)

# One thread that grows, by archives that repeat what the ones before had.
GROWTH = Scenario(
    "growth",
    (
        upload("two", mailbox(mail(2, [1]))),
        upload("three", mailbox(mail(2, [1]), mail(3, [1, 2])), latest=12.0),
    ),
    3,
    before=(upload("one", mailbox(mail(1))),),
)

# A mail gets another text twice: archives that arrived earlier are parsed later. Its thread gets another label.
LONG, SHORT = "I agree with all of it. " * 60, "I agree."
REPLACED = Scenario(
    "replaced",
    (
        upload("earlier", mailbox(mail(2, [1], text=SHORT)), days_ago=1),
        upload("earliest", mailbox(mail(2, [1], text=LONG + "Still.")), latest=8.0, days_ago=2),
        upload("join", mailbox(mail(1, [20]), mail(20)), latest=8.0),
    ),
    4,
    before=(upload("late", mailbox(mail(2, [1], text=LONG))),),
)

# An archive is deleted; another one has one of its mails, and a third one answers the other.
STAYS, GOES = mailbox(mail(1), mail(3, [1])), mailbox(mail(1), mail(2, [1]))
DELETION = Scenario(
    "deletion",
    (
        upload("answers", mailbox(mail(7, [1, 2]))),
        delete(GOES, earliest=0.0, latest=4.0),
    ),
    2,
    before=(upload("stays", STAYS), upload("goes", GOES)),
    chores=("digests due", "removals silent"),
)

# The same while the archive that goes is still worked on.
DELETION_AT_ONCE = Scenario(
    "deletion_at_once",
    (upload("goes", GOES), delete(GOES, earliest=0.0, latest=6.0)),
    1,
    before=(upload("stays", STAYS),),
    chores=("digests due", "removals silent"),
)


# An operator corrects what is said of a thread, while that thread becomes part of another one.
def correct_outcome(*, root: int, message: int, latest: float) -> Act:
    place = thread_id(f"<m{root}@example.org>", SOURCE)
    asked = CorrectionAsked(
        kind=CorrectionKind.OUTCOME,
        outcome=OutcomeKind.REJECTED,
        message_id=f"<m{message}@example.org>",
        reason="the chair said so",
    )

    async def work(clients: Clients) -> None:
        await correct(clients, place, asked, Operator("ann", "api"))

    return Act(f"correct {message}", work, latest=latest)


CORRECTIONS = Scenario(
    "corrections",
    (upload("join", mailbox(mail(20, [1]))), correct_outcome(root=20, message=11, latest=6.0)),
    2,
    before=(upload("two", TWO_THREADS),),
)


# One that has other settings than before: all is embedded anew while an archive comes in.
async def _reembed(clients: Clients) -> None:
    await reembed(clients, await embedder(clients))


REEMBEDDING = Scenario(
    "reembedding",
    (upload("two", mailbox(mail(2, [1]))), Act("reembed", _reembed, latest=6.0, after_others=True)),
    2,
    before=(upload("one", mailbox(mail(1))),),
    settings={"EMBEDDING_MODEL": "other"},
)

# Reports go to a webhook, which is as unreliable as everything else.
HOOKS = [{"name": "hook", "url": "https://hooks.example.org/", "secret": "a secret of thirty-two characters"}]
WEBHOOKS = Scenario(
    "webhooks",
    (upload("two", mailbox(mail(2, [1]))),),
    2,
    before=(upload("one", mailbox(mail(1))),),
    settings={"WEBHOOKS": json.dumps(HOOKS)},
    chores=("deliveries overdue",),
)

# A digest is made again when a thread of its source, or about its draft, changes.
DIGESTS = Scenario(
    "digests",
    (upload("lists", mailbox(mail(6, [1], text="I object to draft-foo-bar-01.")), latest=300.0),),
    2,
    before=(upload("lists", mailbox(mail(1, text="I support draft-foo-bar-01."))),),
    chores=("digests due",),
)

# Archives come in before, during and after an outage of each service.
OUTAGE_HOURS = {0.5: "", 1: "_1h", 4: "_4h", 24: "_24h"}
OUTAGES = tuple(
    Scenario(
        f"outage_{service}{suffix}",
        (
            upload("at-once", mailbox(mail(2, [1]))),
            upload("meanwhile", mailbox(mail(3, [1, 2]), mail(4)), earliest=60.0, latest=1500.0),
            upload(
                "afterwards", mailbox(mail(9, [4])), earliest=3600 * hours + 100, latest=3600 * hours + 600
            ),
        ),
        4,
        before=(upload("one", mailbox(mail(1))),),
        settings={"RETRY_JOB_STUCK_THRESHOLD_HOURS": "24"},
        away=service,
        away_hours=hours,
    )
    for service in ("cosmos", "bus", "search", "blobs", "model")
    for hours, suffix in OUTAGE_HOURS.items()
)

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        OVERLAP,
        LATE_MERGE,
        LATE_ANCESTOR,
        BACK,
        GROWTH,
        REPLACED,
        DELETION,
        DELETION_AT_ONCE,
        DIGESTS,
        REEMBEDDING,
        CORRECTIONS,
        WEBHOOKS,
        *OUTAGES,
    )
}
