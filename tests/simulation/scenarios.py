"""Scenarios: what clients do to the system in a run, such as uploads and deletions, at random times."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from shared.azure.connections import Clients
from shared.core.ids import archive_id, file_hash, thread_id
from shared.embedding.factory import embedder
from shared.ingestion.uploads import Upload, store_upload
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
    """A client's request to a host, repeated until it is answered."""

    name: str
    work: Callable[[Clients], Awaitable[Any]]
    earliest: float = 0.0
    latest: float = 2.0
    after_others: bool = (
        False  # only after all others were answered, because a repeated upload restores an archive
    )


@dataclass(frozen=True)
class Scenario:
    name: str
    acts: tuple[Act, ...]
    archives: int  # the number at the end
    before: tuple[Act, ...] = ()  # runs once, without faults, before every run
    settings: dict[str, str] = field(default_factory=dict)
    away: str = ""  # a service that is away. No dead letter may stay, and no attempt is used up
    away_hours: float = 0.0
    chores: tuple[str, ...] = ()  # of housekeeping, which runs every five minutes if there are any


def upload(
    name: str,
    content: bytes,
    *,
    earliest: float = 0.0,
    latest: float = 2.0,
    source: str = SOURCE,
    days_ago: float = 0.0,
) -> Act:
    """Return the upload of an archive that arrived `days_ago` and is parsed now."""

    async def work(clients: Clients) -> None:
        runtime = clients.runtime
        then = replace(runtime, now=lambda: runtime.now() - timedelta(days=days_ago))
        await store_upload(Upload(content, f"{name}.mbox", source), replace(clients, runtime=then))

    return Act(f"upload {name}", work, earliest, latest)


def archive_id_of(content: bytes) -> str:
    return archive_id(file_hash(content), SOURCE)


def delete(content: bytes, *, earliest: float, latest: float) -> Act:
    target = archive_id_of(content)

    async def work(clients: Clients) -> None:
        asked = await request_removal(
            clients, "archive", target, requested_by="simulation", now=clients.runtime.now()
        )
        # A client that repeats a request with a lost answer may find the archive already deleted.
        if asked is None and await find_removal(clients.store, "archive", target) is None:
            raise LookupError(f"archive {target} is not there yet")

    return Act(f"delete {target}", work, earliest, latest, after_others=True)


# All archives are of one list, because threads of different lists cannot be merged.

# A message of both archives, and a message of the second that joins two threads of the first.
FIRST = mailbox(mail(4), mail(9, [8]))
SECOND = mailbox(mail(4), mail(8, [4]))
OVERLAP = Scenario("overlap", (upload("alpha", FIRST), upload("beta", SECOND)), 2)

# Two threads, and later the parent of the second, which answers the first. The first thread also grows.
TWO_THREADS = mailbox(mail(1), mail(11, [20]))
LATE_MERGE = Scenario(
    "late_merge",
    (upload("join", mailbox(mail(20, [1]))), upload("more", mailbox(mail(12, [20, 11])))),
    3,
    before=(upload("two", TWO_THREADS),),
)

# A late message moves its answers to another thread, and a copy of a message conflicts.
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

# A thread gets a message and loses it within minutes, so that an outdated summary is current again.
BACK = Scenario(
    "back",
    (
        upload("two", mailbox(mail(1), mail(2, [1])), latest=0.5),
        upload("answer", mailbox(mail(31, [1, 30])), earliest=2.0, latest=8.0),
        upload("late", mailbox(mail(30)), earliest=10.0, latest=30.0),
    ),
    3,
)

# One thread that grows, by archives that repeat the content of earlier ones.
GROWTH = Scenario(
    "growth",
    (
        upload("two", mailbox(mail(2, [1]))),
        upload("three", mailbox(mail(2, [1]), mail(3, [1, 2])), latest=12.0),
    ),
    3,
    before=(upload("one", mailbox(mail(1))),),
)

# A message gets another text twice, because older archives are parsed later. Its thread gets another label.
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

# An archive is deleted. A second archive has one of its messages, and a third answers the other one.
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

# The same, while the deleted archive is still being processed.
DELETION_AT_ONCE = Scenario(
    "deletion_at_once",
    (upload("goes", GOES), delete(GOES, earliest=0.0, latest=6.0)),
    1,
    before=(upload("stays", STAYS),),
    chores=("digests due", "removals silent"),
)


# An operator corrects a thread while it is merged into another one.
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


# The app has new settings: everything is embedded again while an archive arrives.
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

# A digest is refreshed when a thread of its source or draft changes.
DIGESTS = Scenario(
    "digests",
    (upload("lists", mailbox(mail(6, [1], text="I object to draft-foo-bar-01.")), latest=300.0),),
    2,
    before=(upload("lists", mailbox(mail(1, text="I support draft-foo-bar-01."))),),
    chores=("digests due",),
)

# Archives arrive before, during and after an outage of each service.
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
