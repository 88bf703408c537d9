"""Operators split a thread, and move or reattach a message: recorded, permanent, and reversible."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.cosmos.session import Session
from shared.core.errors import InvalidEditError, NotFoundError
from shared.core.ids import thread_id
from shared.models.containers import document_class
from shared.models.edits import Placement, PlacementAct
from shared.models.queries.operations import LAST_AUDITS
from shared.models.records import Audit
from shared.models.reports import Report
from shared.operations import placing
from shared.operations.audit import Operator
from shared.operations.housekeeping import CHORES
from shared.operations.integrity.check_record import check_archives, check_thread_facts
from shared.operations.placing import (
    PlacementAsked,
    place_message,
    placements_of_thread,
    undo_placement,
)
from shared.thread_store import plan
from shared.thread_store.moving import resolve_thread
from stages.chunking import CHUNKING
from stages.parsing import PARSING
from tests.stages.mail_in import archive_of, ingested, mail, mail_in
from tests.stages.reported import ReportedThreads
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
ANN = Operator("ann", "api")
MAILS = [
    mail(0, subject="Adopt the draft", body="I propose that we adopt the draft as a group document."),
    mail(1, parent=0, subject="Re: Adopt the draft", body="I support adoption of this draft as it is."),
    mail(2, parent=0, subject="Re: Adopt the draft", body="By the way, where do we meet in March?"),
    mail(3, parent=2, subject="Re: Adopt the draft", body="In the big room, as last time."),
    mail(4, subject="The March meeting", body="This is about the meeting in March, and nothing else."),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[ReportedThreads]:
    async with mail_in(cloud, bus_service) as ready:
        threads = ReportedThreads(ready)
        await threads.take_in(*MAILS)
        await threads.request(0, 4)
        assert await threads.work_off(2) == 2
        yield threads  # every test but the last leaves the threads unchanged


def asked(place: ReportedThreads, number: int, **target: str) -> PlacementAsked:
    return PlacementAsked(message_id=place.id_of(number), reason="another matter", **target)


async def homes(place: ReportedThreads) -> dict[int, str]:
    """Return the thread of each message, which is also the thread of its chunks."""
    await place.pass_labels_on()
    found = await place.mail_in.stored("messages")
    threads = {message["message_id"]: message["thread_id"] for message in found}
    assert len(threads) == len(found)
    chunks = {(chunk["message_id"], chunk["thread_id"]) for chunk in await place.mail_in.stored("chunks")}
    assert chunks == set(threads.items())
    return {number: threads[place.id_of(number)] for number in range(len(MAILS))}


def threads_of(place: ReportedThreads, *roots: int) -> dict[int, str]:
    return {number: place.thread_id(root) for number, root in enumerate(roots)}


def untouched(place: ReportedThreads) -> dict[int, str]:
    return threads_of(place, 0, 0, 0, 0, 4)


async def test_a_thread_is_split_and_both_parts_are_reported_anew(place: ReportedThreads) -> None:
    before = await place.report(0)
    made = await place_message(place.clients, place.thread_id(0), asked(place, 2), ANN)
    assert (made.applied, made.last.act, made.last.by) == (True, PlacementAct.SPLIT, "ann")
    assert await homes(place) == threads_of(place, 0, 0, 2, 2, 4)
    assert await place.work_off(2) == 2
    left, taken = await place.report(0), await place.report(2)
    assert left.summary_id != before.summary_id
    assert (span(left), span(taken)) == ((0, 1), (2, 3))
    assert (await place.thread(2)).flags == {"moved_by_operator": 1}
    (audit, *_) = await place.store.query_documents(Audit, LAST_AUDITS, Session(), limit=1)
    assert (audit.action, audit.actor, audit.counts) == ("placement.split", "ann", {"threads": 2})
    assert audit.selection["reason"] == "another matter"
    reading = (await place.summary(0)).reading
    assert reading is not None
    assert [(one.act, one.is_here, one.reason) for one in reading.placements] == [
        ("split", False, "another matter")
    ]
    assert "An operator has put a message elsewhere" in (await place.summary(0)).content_markdown
    await undone_again(place, made)


async def undone_again(place: ReportedThreads, made: Placement) -> None:
    undone = await undo_placement(place.clients, made.id, "it was the same matter", ANN)
    assert (undone.revoked, [entry.act for entry in undone.entries]) == (True, ["split", "undone"])
    assert await homes(place) == untouched(place)
    assert await resolve_thread(place.clients, place.thread_id(2), Session()) == place.thread_id(0)
    assert await place.work_off(1) == 1
    assert span(await place.report(0)) == (0, 3)
    assert (await place.thread(0)).flags == {}
    (shown,) = await placements_of_thread(place.clients, place.thread_id(0))
    assert [entry.reason for entry in shown.entries] == ["another matter", "it was the same matter"]


def span(report: Report) -> tuple[int, int]:
    """Return the numbers of its first and last message, each sent on a different day."""
    dates = [report.first_message_date, report.last_message_date]
    first, last = [(date - FIRST_DAY).days for date in dates if date is not None]
    return first, last


async def test_a_message_moves_with_its_answers_to_another_thread_and_back(place: ReportedThreads) -> None:
    made = await place_message(
        place.clients, place.thread_id(0), asked(place, 2, to_thread=place.thread_id(4)), ANN
    )
    assert await homes(place) == threads_of(place, 0, 0, 4, 4, 4)
    assert await place.work_off(2) == 2
    assert (span(await place.report(0)), span(await place.report(4))) == ((0, 1), (4, 4))
    await undo_placement(place.clients, made.id, "no", ANN)
    assert await homes(place) == untouched(place)
    assert await place.work_off(2) == 2
    assert (span(await place.report(0)), span(await place.report(4))) == ((0, 3), (4, 4))


async def test_a_whole_thread_goes_under_another_message_and_is_itself_again(place: ReportedThreads) -> None:
    """The thread leaves a redirect, which becomes a thread again."""
    made = await place_message(
        place.clients, place.thread_id(4), asked(place, 4, parent_id=place.id_of(3)), ANN
    )
    assert await homes(place) == threads_of(place, 0, 0, 0, 0, 0)
    assert await place.work_off(1) == 1
    assert span(await place.report(0)) == (0, 4)
    assert (await place.thread(4)).merged_into == place.thread_id(0)
    await undo_placement(place.clients, made.id, "no", ANN)
    assert await homes(place) == untouched(place)
    assert await place.work_off(2) == 2
    assert (await place.thread(4)).merged_into is None
    assert (span(await place.report(0)), span(await place.report(4))) == ((0, 3), (4, 4))


async def test_one_that_breaks_off_is_carried_out_by_housekeeping(
    place: ReportedThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash follows each step once: the record, and the threads."""
    for number, step in ((2, "_commit"), (1, "_request_summaries")):
        with monkeypatch.context() as broken:
            broken.setattr(placing, step, _crash)
            with pytest.raises(RuntimeError, match="crash"):
                await place_message(place.clients, place.thread_id(0), asked(place, number), ANN)
        (waiting,) = [
            placement for placement in await place.mail_in.stored("placements") if not placement["applied"]
        ]
        assert waiting["message_id"] == place.id_of(number)
        await CHORES["placements unfinished"](place.clients, place.clients.runtime.now())
        assert all(placement["applied"] for placement in await place.mail_in.stored("placements"))
        await place.pass_labels_on()
        assert await place.work_off(2) == 2
    assert await homes(place) == threads_of(place, 0, 1, 2, 2, 4)
    for number, last in ((0, 0), (1, 1), (2, 3)):
        assert span(await place.report(number)) == (number, last)
    for number in (1, 2):
        await undo_placement(place.clients, place.key_of(number), "no", ANN)
        await place.pass_labels_on()
        assert await place.work_off(1) == 1
    assert await homes(place) == untouched(place)


async def _crash(*_: object) -> None:
    raise RuntimeError("crash")


async def test_what_cannot_be_is_refused_and_nothing_is_stored(place: ReportedThreads) -> None:
    other, before = thread_id("<elsewhere>", "other"), await place.mail_in.stored(Placement.container)
    refused = [
        (asked(place, 9), "no such message"),
        (asked(place, 4), "no such message"),
        (asked(place, 2, parent_id=place.id_of(3)), "its own replies"),
        (asked(place, 0, to_thread=place.thread_id(0)), "its own replies"),
        (asked(place, 2, parent_id="<nobody>"), "no such message"),
        (asked(place, 2, to_thread=other), "no thread"),
    ]
    for one, why in refused:
        with pytest.raises(InvalidEditError, match=why):
            await place_message(place.clients, place.thread_id(0), one, ANN)
    await place.take_in(mail(7, subject="Elsewhere"), name="other")
    with pytest.raises(InvalidEditError, match="different lists"):
        await place_message(
            place.clients, place.thread_id(0), asked(place, 2, to_thread=place.thread_id(7)), ANN
        )
    with pytest.raises(NotFoundError):
        await undo_placement(place.clients, "0" * 16, "why", ANN)
    assert await place.mail_in.stored(Placement.container) == before
    assert await homes(place) == untouched(place)


async def test_it_is_kept_when_the_archive_is_parsed_again_and_when_more_comes(
    place: ReportedThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place_message(place.clients, place.thread_id(0), asked(place, 2), ANN)
    split = threads_of(place, 0, 0, 2, 2, 4)
    content = b"".join(MAILS).replace(b"@example.org", f"@{place.mail_in.place.tag}.org".encode())
    for parsed in await place.mail_in.run(PARSING, event_of(ingested(archive_of(content)))):
        await place.mail_in.run(CHUNKING, parsed)
    assert await homes(place) == split
    for check in (check_archives, check_thread_facts):  # the checks apply the overrides, too
        assert [finding async for finding in check(place.clients, 2**40)] == []
    with monkeypatch.context() as without:
        without.setattr(plan, "placed", lambda links, _parents: list(links))
        assert [finding async for finding in check_archives(place.clients, 2**40)]
    await place.take_in(*MAILS, mail(5, parent=3, body="Thanks for the room."))  # another archive
    found = {
        message["message_id"]: message["thread_id"] for message in await place.mail_in.stored("messages")
    }
    assert found.pop(place.id_of(5)) == place.thread_id(2)
    assert {number: found[place.id_of(number)] for number in split} == split
    await undo_placement(place.clients, place.key_of(2), "no", ANN)
    assert await homes(place) == untouched(place)


async def test_it_is_kept_when_the_messages_are_deleted_and_come_again(place: ReportedThreads) -> None:
    await place_message(place.clients, place.thread_id(0), asked(place, 2), ANN)
    for name in ("messages", "threads", "chunks"):
        for document in await place.mail_in.stored(name):
            await delete(place, name, document)
    assert await place.mail_in.stored("messages") == []
    content = b"".join(MAILS).replace(b"@example.org", f"@{place.mail_in.place.tag}.org".encode())
    for parsed in await place.mail_in.run(PARSING, event_of(ingested(archive_of(content)))):
        await place.mail_in.run(CHUNKING, parsed)
    assert await homes(place) == threads_of(place, 0, 0, 2, 2, 4)


async def delete(place: ReportedThreads, container: str, stored: dict[str, Any]) -> None:
    model = document_class(container)
    named = None if model.follows_from_id() else stored[model.partition_field]
    await place.store.delete(model, stored["id"], Session(), partition=named)
