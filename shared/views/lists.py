"""The lists, and the contents of a list: newest reports, threads and activity by month."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.times import stored_time
from shared.models.queries.operations import (
    DEFINED_SOURCES,
    LATEST_ARCHIVES,
    LATEST_ARCHIVES_OF_SOURCE,
    SOURCE_NAMES,
)
from shared.models.queries.threads import TIMELINE_OF_SOURCE
from shared.models.reports import Report
from shared.models.sources import Archive, Source
from shared.models.threads import Thread
from shared.models.values import Genre, OutcomeKind, Tier
from shared.views.listing import REPORTS, THREADS, Page
from shared.views.parameters import AboutDraft, After, Participant, QueryParameters, by_person


async def source_names(connected: Clients) -> list[str]:
    """Return the names of the lists that archives came from, including lists without a source definition."""
    found: list[object] = [name async for name in connected.store.query(SOURCE_NAMES, Session())]
    return sorted({str(name) for name in found})


async def defined_sources(connected: Clients) -> list[Source]:
    return await connected.store.query_documents(Source, DEFINED_SOURCES, Session())


async def latest_archives(connected: Clients, source: str | None = None) -> list[Archive]:
    query, values = (LATEST_ARCHIVES_OF_SOURCE, {"source": source}) if source else (LATEST_ARCHIVES, {})
    return await connected.store.query_documents(Archive, query, Session(), **values)


async def latest_reports(connected: Clients, size: int, **filters: object) -> list[Report]:
    page = await REPORTS.page(connected.store, sort="-last_message_date", filters=filters, size=size)
    return page.items


async def latest_digests(connected: Clients, size: int, **filters: object) -> list[Report]:
    """Return digests of weeks and months, ordered by their period, the latest first."""
    found = await latest_reports(connected, size, digests=True, **filters)
    return sorted(found, key=lambda report: report.scope.rpartition(":")[2], reverse=True)


MONTHS = 24
# From bottom to top.
BANDS: Mapping[str, frozenset[OutcomeKind]] = {
    "accepted": frozenset({OutcomeKind.ACCEPTED, OutcomeKind.REVISED}),
    "rejected": frozenset({OutcomeKind.REJECTED}),
    "contested": frozenset({OutcomeKind.CONTESTED}),
    "other": frozenset(),
}


@dataclass
class MonthOfList:
    """The threads whose latest message is in this month."""

    month: str
    messages: int = 0
    bands: Counter[str] = field(default_factory=Counter)

    @property
    def threads(self) -> int:
        return self.bands.total()


async def timeline_of_list(clients: Clients, name: str) -> list[MonthOfList]:
    """Return up to two years of months, the last one with the latest thread. Months may be empty."""
    latest = await THREADS.page(clients.store, filters={"source": name}, size=1)
    if not latest.items or latest.items[0].last_message_date is None:
        return []
    first, _ = month_bounds(months_before(f"{latest.items[0].last_message_date:%Y-%m}", MONTHS)[0])
    since = stored_time(first)
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
    """Return the band of the outcome. An uncertain outcome is in the band `other`."""
    found = (name for name, kinds in BANDS.items() if row.get("kind") in kinds)
    return next(found, "other") if row.get("tier") == Tier.SAID else "other"


def months_before(last: str, count: int) -> list[str]:
    at, names = datetime.fromisoformat(f"{last}-01"), [last]
    while len(names) < count:
        at = (at - timedelta(days=1)).replace(day=1)
        names.append(f"{at:%Y-%m}")
    return names[::-1]


OPEN_CALLS = 12
Month = Annotated[str, Field(pattern=r"^(19|20)[0-9]{2}-(0[1-9]|1[0-2])$", description="such as 2024-03")]
_SORTS = {"activity": "-last_message_date", "date": "-first_message_date", "size": "-message_count"}


class ListAsked(QueryParameters):
    genre: Genre | None = None
    outcome: OutcomeKind | None = None
    month: Month | None = None
    person: Participant = None
    draft: AboutDraft = None
    sort: Literal["activity", "date", "size"] = "activity"
    after: After = None

    @property
    def narrowed(self) -> bool:
        """Return whether the list is filtered, sorted or paged."""
        return bool(self.model_dump(exclude_defaults=True))

    def filters(self) -> dict[str, object]:
        first, end = month_bounds(self.month) if self.month else (None, None)
        return {
            "genre": self.genre and self.genre.value,
            "outcome": self.outcome and self.outcome.value,
            "since": stored_time(first) if first else None,
            "begun_before": stored_time(end) if end else None,
            **by_person(self.person),
            "draft": self.draft,
        }


def month_bounds(month: str) -> tuple[datetime, datetime]:
    first = datetime(int(month[:4]), int(month[5:]), 1, tzinfo=UTC)
    return first, (first + timedelta(days=32)).replace(day=1)


async def threads_of_list(clients: Clients, name: str, wanted: ListAsked, size: int) -> Page[Thread]:
    filters = {"source": name, **wanted.filters()}
    return await THREADS.page(
        clients.store, sort=_SORTS[wanted.sort], filters=filters, after=wanted.after, size=size
    )


async def calls_of_list(clients: Clients, name: str) -> list[Thread]:
    """Return calls and votes without a result: open ones by their end, then the latest of the others."""
    found = await THREADS.page(clients.store, filters={"source": name, "open_call": True}, size=OPEN_CALLS)
    today = clients.runtime.now().date()

    def waits(thread: Thread) -> tuple[int, int]:
        ends = thread.open_call.ends if thread.open_call else None
        if ends is not None and ends >= today:
            return 0, (ends - today).days
        return 1, -int(thread.last_message_date.timestamp()) if thread.last_message_date else 0

    return sorted(found.items, key=waits)
