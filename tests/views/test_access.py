"""A source without read permission does not exist in any view."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from shared.azure.access import EVERYONE, Caller, clients_of, forget_readers, readable_sources
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.errors import NotFoundError
from shared.core.ids import report_id, thread_id
from shared.models.queries.operations import ALL_ARCHIVE_IDS
from shared.models.reports import Summary
from shared.models.sources import Archive, Source
from shared.models.threads import Chunk, Message, Thread
from shared.pipeline.progress import progress_of
from shared.views.listing import ARCHIVES, CHUNKS, REPORTS, SOURCES, THREADS
from shared.views.lists import defined_sources, latest_archives, source_names, timeline_of_list
from shared.views.mails import mail_with_id
from shared.views.threads import conversation_of, find_by_id, find_report, resolved_thread
from shared.views.topics import of_draft
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import NOW, MailIn, mail, mail_in
from tests.stages.test_reporting import request
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.services import RunningService

READER, MEMBER = Caller(roles=frozenset({"reader"})), Caller(groups=frozenset({"board"}))
MARK = "Zanzibar"
SECRET = mail(0, subject=f"{MARK} about draft-ietf-x-y", body=f"{MARK} is agreed.") + mail(1, parent=0)
ANSWER = mail(4, parent=3, body=f"An answer from {MARK} to the open list.")
OPEN = mail(3, subject="In the open about draft-ietf-x-y")


@asynccontextmanager
async def closed_and_open(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[MailIn]:
    async with mail_in(cloud, bus_service, AUTH_MODE="entra") as made:
        for name, readers in (("board", ["board"]), ("open", [EVERYONE]), ("unsaid", [])):
            source = Source(id=name, name=name, source_type="upload", url="", readers=readers, created_at=NOW)
            await made.clients.store.create(source, Session())
        await made.take_in(SECRET, "board")
        wanted = request("v1").model_copy(update={"thread_ids": [thread_id("<m0@example.org>", "board")]})
        (summarized,) = await made.run(SUMMARIZATION, event_of(wanted))
        await made.run(REPORTING, summarized)
        await made.take_in(ANSWER, "board")
        await made.take_in(OPEN, "open")
        await made.take_in(mail(6, subject=f"{MARK} too"), "unsaid")
        yield made


async def everything(clients: Clients) -> str:
    """Return the results of all read functions as text."""
    found: list[Any] = []
    for listing in (ARCHIVES, REPORTS, SOURCES, THREADS):
        found += (await listing.page(clients.store, size=50)).items
    for name in ("board", "open", "unsaid"):
        for id_ in (thread_id(f"<m{number}@example.org>", name) for number in (0, 3, 4, 6)):
            try:
                thread = await resolved_thread(clients, id_)
            except NotFoundError:
                continue
            conversation = await conversation_of(clients, thread)
            found += [thread, *conversation.messages, *conversation.elsewhere]
            found += (await CHUNKS.page(clients.store, filters={"thread": id_}, size=50)).items
        found += [await latest_archives(clients, name), await timeline_of_list(clients, name)]
    found += [await source_names(clients), await defined_sources(clients), await latest_archives(clients)]
    for number in (0, 1, 3, 4, 6):
        try:
            found += await mail_with_id(clients, f"m{number}@example.org")
        except NotFoundError:
            continue
    found += [*await of_draft(clients, "draft-ietf-x-y")]
    return json.dumps(found, default=str)


async def test_a_closed_source_is_not_there_for_a_reader_outside_its_groups(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with closed_and_open(cloud, bus_service) as place:
        await lists_have_only_what_is_open(place)
        await an_id_of_a_closed_source_finds_nothing(place)
        await a_query_that_is_not_known_fails_for_readers(place)
        await a_public_site_keeps_closed_what_was_closed(place)


async def lists_have_only_what_is_open(place: MailIn) -> None:
    seen = await everything(await clients_of(place.clients, READER))
    assert "In the open" in seen
    for word in (MARK, "board", "unsaid"):
        assert word not in seen, word
    member = await everything(await clients_of(place.clients, MEMBER))
    assert "In the open" in member
    assert MARK in member
    assert "An answer from" in member
    assert "unsaid" not in member
    operator = await clients_of(place.clients, Caller(reads_all=True))
    assert operator is place.clients
    assert "unsaid" in await everything(operator)


async def an_id_of_a_closed_source_finds_nothing(place: MailIn) -> None:
    whole = place.clients.store
    (thread, *_) = (await THREADS.page(whole, filters={"source": "board"}, size=1)).items
    (chunk, *_) = (await CHUNKS.page(whole, filters={"thread": thread.id}, size=1)).items
    (archive, *_) = (await ARCHIVES.page(whole, filters={"source": "board"}, size=1)).items
    (report, *_) = (await REPORTS.page(whole, filters={"source": "board"}, size=1)).items
    reader, member = [await clients_of(place.clients, who) for who in (READER, MEMBER)]
    for clients, there in ((reader, False), (member, True)):
        found = [
            await clients.store.find(Thread, thread.id, Session()),
            await clients.store.find(Archive, archive.id, Session()),
            await clients.store.find(Message, chunk.message_key, Session()),
            await clients.store.find(Source, "board", Session()),
            (await clients.store.find_many(Chunk, [chunk.id], Session())).get(chunk.id),
            *(
                await clients.store.find_many_in(Summary, [(report.summary_id, report.scope)], Session())
            ).values(),
        ]
        assert all(found) is there
        assert any(found) is there
        counts = await progress_of(archive, clients)
        assert bool(counts.to_json()["messages"]) is there
    with pytest.raises(NotFoundError):
        await find_by_id(reader, Chunk, chunk.id)
    with pytest.raises(NotFoundError):
        await find_report(reader, report_id(report.summary_id))
    assert (await find_report(member, report_id(report.summary_id)))[0].id == report.id


async def a_query_that_is_not_known_fails_for_readers(place: MailIn) -> None:
    limited = await clients_of(place.clients, READER)
    with pytest.raises(PermissionError, match="all_archives"):
        [_ async for _ in limited.store.query(ALL_ARCHIVE_IDS, Session())]


async def a_public_site_keeps_closed_what_was_closed(place: MailIn) -> None:
    public = place.clients
    public.settings = public.settings.model_copy(update={"AUTH_MODE": "public"})
    forget_readers(public)
    assert await readable_sources(public, Caller()) == frozenset({"open", "unsaid", ""})
    for name in ("board",):
        await public.store.delete(Source, name, Session())
    forget_readers(public)
    assert await readable_sources(public, Caller()) is None
