"""What a reader can subscribe to: whether there is such a thing, and what the site calls it."""

import re

from shared.clients.connections import Clients
from shared.core.errors import NotFoundError
from shared.core.ids import HASH_ID
from shared.documents.reports import Topic, TopicKind
from shared.documents.sources import NAME_PATTERN
from shared.domain.mail.mentions import draft_base
from shared.retrieval.drafts import of_draft
from shared.retrieval.latest import source_names
from shared.retrieval.people import person_shown
from shared.retrieval.reports import resolved_thread


async def find_topic(connected: Clients, kind: TopicKind, name: str) -> Topic | None:
    """None where there is nothing of this name."""
    try:
        return await FINDERS[kind](connected, name)
    except NotFoundError:
        return None


async def _list(connected: Clients, name: str) -> Topic | None:
    known = re.fullmatch(NAME_PATTERN, name) is not None and name in await source_names(connected)
    return Topic(kind=TopicKind.SOURCES, name=name) if known else None


async def _draft(connected: Clients, name: str) -> Topic | None:
    if draft_base(name) != name:
        return None
    reports, threads = await of_draft(connected, name)
    return Topic(kind=TopicKind.DRAFTS, name=name) if reports or threads else None


async def _person(connected: Clients, id_: str) -> Topic | None:
    if not re.fullmatch(HASH_ID, id_):
        return None
    name = (await person_shown(connected, id_)).name
    return Topic(kind=TopicKind.PEOPLE, name=id_, label=(name or "")[:200])


async def _thread(connected: Clients, id_: str) -> Topic | None:
    if not re.fullmatch(HASH_ID, id_):
        return None
    thread = await resolved_thread(connected, id_)
    return Topic(kind=TopicKind.THREADS, name=thread.id, label=thread.subject[:200])


FINDERS = {
    TopicKind.SOURCES: _list,
    TopicKind.DRAFTS: _draft,
    TopicKind.PEOPLE: _person,
    TopicKind.THREADS: _thread,
}
