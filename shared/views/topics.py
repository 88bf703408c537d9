"""Reports and threads about people, drafts and RFCs, and the topics of subscriptions."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import NotFoundError
from shared.core.ids import HASH_ID, MESSAGE_KEY, person_id
from shared.mail.mentions import draft_base
from shared.models.readings import StoredReading
from shared.models.reports import Report, Summary, Topic, TopicKind
from shared.models.sources import NAME_PATTERN, Source, SourceRole
from shared.models.threads import Thread
from shared.models.values import EarlierStance, Fate, PositionStance, SentenceCitation, Tier
from shared.views.listing import REPORTS, THREADS
from shared.views.lists import source_names
from shared.views.threads import resolved_thread

MAX_DRAFTS = 300
MAX_SHOWN = 100
DraftContents = tuple[list[Report], list[Thread]]


async def count_draft_mentions(connected: Clients) -> Counter[str]:
    hits = await connected.index.search("*", top=1, facets=[f"draft_mentions,count:{MAX_DRAFTS}"])
    counts: Counter[str] = Counter()
    for facet in hits.facets.get("draft_mentions", []):
        counts[draft_base(facet.value)] += facet.count
    return counts


async def of_draft(connected: Clients, name: str) -> DraftContents:
    store, current = connected.store, {"draft": name}
    reports, threads = await asyncio.gather(
        REPORTS.page(store, sort="-last_message_date", filters=current, size=MAX_SHOWN),
        THREADS.page(store, filters={"draft": name}, size=MAX_SHOWN),
    )
    if not reports.items and not threads.items:
        raise NotFoundError(f"No thread mentions {name}.")
    return reports.items, threads.items


MOST_THREADS = 60
_STANDS = frozenset({PositionStance.SUPPORT, PositionStance.OPPOSE, PositionStance.MIXED})


@dataclass(frozen=True)
class PersonStand:
    """A position or an objection of the person, with the quote that shows it."""

    report: Report
    stance: PositionStance | None  # None: an objection
    fate: Fate | None
    citation: SentenceCitation
    marks: tuple[str, ...] = ()  # remarks about the mail and its sender
    said_at: datetime | None = None
    earlier: EarlierStance | None = None  # the position before the person changed it

    @property
    def at(self) -> datetime | None:
        """Return the time of the position, or else of the last message of the thread."""
        return self.said_at or self.report.last_message_date


@dataclass(frozen=True)
class PersonView:
    id: str
    name: str
    addresses: list[str]
    roles: list[tuple[str, SourceRole]]  # with the name of the list
    stands: list[PersonStand]
    reports: list[Report]


async def person_view(clients: Clients, id_: str) -> PersonView:
    current = {"person": id_, "type": "thread"}
    page = await REPORTS.page(clients.store, sort="-last_message_date", filters=current, size=MOST_THREADS)
    if not page.items:
        raise NotFoundError("No report has a person with this id.")
    places = [(report.summary_id, report.scope) for report in page.items]
    summaries, sources = await asyncio.gather(
        clients.store.find_many_in(Summary, places, Session()), _sources(clients, page.items)
    )
    everyone = (participant for report in page.items for participant in report.participants)
    known = [participant for participant in everyone if _is(participant.email, id_)]
    return PersonView(
        id=id_,
        name=next((address.name for address in known if address.name), ""),
        addresses=sorted({address.email.lower() for address in known}),
        roles=[(source.name, role) for source in sources for role in source.roles if _is(role.person, id_)],
        stands=[
            stand
            for report in page.items
            if (summary := summaries.get(report.summary_id)) and summary.reading
            for stand in stands_of(id_, report, summary.reading)
        ],
        reports=page.items,
    )


def stands_of(id_: str, report: Report, reading: StoredReading) -> Iterable[PersonStand]:
    """Yield only explicit positions and objections. Guesses are not shown on a person's page."""
    for position in reading.positions:
        if _is(position.person, id_) and position.tier is Tier.SAID and position.stance in _STANDS:
            cited, marks = position.citation, tuple(position.marks)
            yield PersonStand(
                report, position.stance, None, cited, marks, said_at=position.at, earlier=position.earlier
            )
    for objection in reading.objections:
        if _is(objection.person, id_) and objection.tier is Tier.SAID:
            yield PersonStand(report, None, objection.fate, objection.citation)


async def _sources(clients: Clients, reports: Sequence[Report]) -> list[Source]:
    names = sorted({report.source for report in reports if report.source})
    found = await clients.store.find_many(Source, names, Session())
    return [found[name] for name in names if name in found]


def _is(address: str, id_: str) -> bool:
    return person_id(address) == id_


async def find_topic(connected: Clients, kind: TopicKind, name: str) -> Topic | None:
    label = ""
    is_id = re.fullmatch(MESSAGE_KEY if kind is TopicKind.THREADS else HASH_ID, name) is not None
    try:
        match kind:
            case TopicKind.SOURCES:
                known = re.fullmatch(NAME_PATTERN, name) is not None and name in await source_names(connected)
            case TopicKind.DRAFTS:
                known = draft_base(name) == name and any(await of_draft(connected, name))
            case TopicKind.PEOPLE:
                known, label = is_id, (await person_view(connected, name)).name if is_id else ""
            case TopicKind.THREADS:
                known = is_id
                if is_id:
                    thread = await resolved_thread(connected, name)
                    name, label = thread.id, thread.subject
    except NotFoundError:
        return None
    return Topic(kind=kind, name=name, label=label[:200]) if known else None
