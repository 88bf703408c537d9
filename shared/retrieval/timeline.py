"""A list's activity by month: threads by what came of them, and messages."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.times import stored_time
from shared.documents.queries.threads import TIMELINE_OF_SOURCE
from shared.documents.values import OutcomeKind, Tier
from shared.retrieval.listing import THREADS

MONTHS = 24
# From bottom to top: settled one way, the other way, not settled, and nothing to settle.
BANDS: Mapping[str, frozenset[OutcomeKind]] = {
    "accepted": frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED}),
    "rejected": frozenset({OutcomeKind.REJECTED}),
    "contested": frozenset({OutcomeKind.CONTESTED}),
    "other": frozenset(),
}


@dataclass
class MonthOfList:
    """Threads whose latest message is of this month."""

    month: str
    messages: int = 0
    bands: Counter[str] = field(default_factory=Counter)

    @property
    def threads(self) -> int:
        return self.bands.total()


async def timeline_of_list(clients: Clients, name: str) -> list[MonthOfList]:
    """Two years, up to the month of the latest thread: a month without a thread is there, and empty.

    A call for each thousand threads of these years, and one for the latest.
    """
    latest = await THREADS.page(clients.store, filters={"source": name}, size=1)
    if not latest.items or latest.items[0].last_message_date is None:
        return []
    first = months_before(f"{latest.items[0].last_message_date:%Y-%m}", MONTHS)[0]
    since = stored_time(datetime.fromisoformat(f"{first}-01T00:00:00+00:00"))
    rows = clients.store.query(TIMELINE_OF_SOURCE, Session(), source=name, since=since)
    return months_of([row async for row in rows])


def months_of(rows: Iterable[Mapping[str, Any]]) -> list[MonthOfList]:
    by_month: dict[str, MonthOfList] = {}
    for row in rows:
        month = by_month.setdefault(row["at"][:7], MonthOfList(row["at"][:7]))
        month.messages += row.get("messages") or 0
        month.bands[band_of(row)] += 1
    if not by_month:
        return []
    names = [name for name in months_before(max(by_month), MONTHS) if name >= min(by_month)]
    return [by_month.get(name, MonthOfList(name)) for name in names]


def band_of(row: Mapping[str, Any]) -> str:
    """An outcome that is only a guess is none."""
    if row.get("tier") == Tier.SAID:
        for name, kinds in BANDS.items():
            if row.get("kind") in kinds:
                return name
    return "other"


def months_before(last: str, count: int) -> list[str]:
    """So many months up to the last one, oldest first."""
    at, names = datetime.fromisoformat(f"{last}-01"), [last]
    while len(names) < count:
        at = (at - timedelta(days=1)).replace(day=1)
        names.append(f"{at:%Y-%m}")
    return names[::-1]
