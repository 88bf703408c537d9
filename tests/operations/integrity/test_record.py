"""`verify` parses the archives again, and finds and names exactly the documents that differ from them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Patch, RawDocument, Session
from shared.core.ids import message_key, thread_id
from shared.models.reports import Report, Summary
from shared.models.sources import Archive
from shared.models.threads import Message, Thread
from shared.operations.audit import Operator
from shared.operations.integrity.checks import Finding
from shared.operations.integrity.run import RECORD_KINDS, VerifyOptions, verify
from shared.operations.placing import PlacementAsked, place_message, undo_placement
from tests.operations.removal.finished import drain, finish, take_all_in
from tests.stages.mail_in import MailIn, archive_of, mail, mail_in
from tests.support.clock import with_clock
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
TEXT = "I think that this is right, and here is why it is so."
# A late ancestor, a reply without headers, a message of both archives, and a conflicting copy.
FIRST = (
    mail(0, subject="Require TLS 1.3", body=f"I propose it. {TEXT}")
    + mail(1, parent=0, body=f"I support this. {TEXT}")
    + mail(2, subject="Lunch", body=f"Where do we eat? {TEXT}")
    + mail(4, parent=3, subject="Re: Lunch", body=f"I agree with that. {TEXT}")
)
SECOND = (
    mail(1, parent=0, body=f"I support this. {TEXT}")
    + mail(3, parent=2, subject="Re: Lunch", body=f"At the usual place. {TEXT}")
    + mail(5, subject="Re: Require TLS 1.3", body=f"I object to it. {TEXT}")
)
OTHER_WORDS = mail(2, subject="Lunch", body=f"Where do we go? {TEXT}")
KEYS = [message_key(f"<m{number}@example.org>", "list") for number in range(6)]
ROOT, LUNCH = thread_id("<m0@example.org>", "list"), thread_id("<m2@example.org>", "list")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(cloud: AppCloud, bus_service: RunningService) -> AsyncIterator[MailIn]:
    async with mail_in(cloud, bus_service) as ready:
        for content, arrived in ((FIRST, 0), (SECOND, 1), (OTHER_WORDS, 2)):
            ready.now += timedelta(minutes=arrived)
            await take_all_in(ready, content)
        await take_all_in(ready, FIRST, "other")
        yield ready


def later() -> datetime:
    return datetime.now(UTC) + timedelta(hours=2)


async def found(place: MailIn) -> list[Finding]:
    findings: list[Finding] = []
    options = VerifyOptions(archives=True, found=findings.append)
    done = await verify(with_clock(place.clients, later), options)
    assert done.errors == []
    return findings


async def stored(place: MailIn, key: str) -> Message:
    return await place.clients.store.read(Message, key, Session())


async def test_a_record_that_nobody_touched_is_as_its_archives_have_it(place: MailIn) -> None:
    assert len(await place.stored("messages")) == 10
    assert {message["conflicts"] for message in await place.stored("messages")} == {0, 1}
    assert any(summary["citations"] for summary in await place.stored("summaries"))
    assert await found(place) == []


Undo = Callable[[], Awaitable[Any]]
Tamper = Callable[[MailIn], Awaitable[Undo]]


async def _patch(place: MailIn, model: type[Any], id_: str, partition: str, **fields: Any) -> Undo:
    named = None if model.follows_from_id() else partition
    before = (await place.clients.store.read(model, id_, Session(), partition=named)).to_cosmos()

    async def patch(changes: dict[str, Any]) -> None:
        await place.clients.store.patch(model, Patch(id_, named, set=changes), Session())

    await patch(fields)
    return lambda: patch({name: before[name] for name in fields})


async def _other_text(place: MailIn) -> Undo:
    text = (await stored(place, KEYS[1])).body_raw.replace("support", "oppose")
    return await _patch(place, Message, KEYS[1], ROOT, body_raw=text)


async def _other_sender(place: MailIn) -> Undo:
    return await _patch(
        place, Message, KEYS[1], ROOT, **{"from": {"name": "Eve", "email": "eve@example.org"}}
    )


async def _forgotten_conflict(place: MailIn) -> Undo:
    return await _patch(place, Message, KEYS[2], LUNCH, conflicts=0)


async def _deleted(place: MailIn) -> Undo:
    message = (await stored(place, KEYS[4])).to_cosmos()
    await place.clients.store.delete(Message, KEYS[4], Session())
    return lambda: _put(place, message)


async def _put(place: MailIn, message: dict[str, Any]) -> None:
    document = RawDocument(Message.container, Message.partition_of(message["id"]), message, None)
    await place.clients.store.upsert_all([document], Session())


async def _added(place: MailIn) -> Undo:
    message = (await stored(place, KEYS[3])).to_cosmos()
    node = "<m9@example.org>"
    key = message_key(node, "list")
    copy = {**message["copies"][0], "place": [0, 999, 10]}
    await _put(
        place,
        {
            **message,
            "id": key,
            "message_key": key,
            "pk": Message.partition_of(key),
            "message_id": node,
            "copies": [copy],
        },
    )
    return lambda: place.clients.store.delete(Message, key, Session())


async def _moved(place: MailIn) -> Undo:
    message = (await stored(place, KEYS[4])).to_cosmos()
    await place.clients.store.delete(Message, KEYS[4], Session())
    await _put(place, {**message, "thread_id": ROOT})

    async def undo() -> None:
        await place.clients.store.delete(Message, KEYS[4], Session())
        await _put(place, message)

    return undo


async def _moved_with_its_thread(place: MailIn) -> Undo:
    """Move a message together with its thread, as a person who knows the storage format could."""
    undo_message = await _moved(place)
    threads = {id_: await place.clients.store.read(Thread, id_, Session()) for id_ in (ROOT, LUNCH)}
    members = {id_: list(thread.threading["members"]) for id_, thread in threads.items()}
    (node,) = [member for member in members[LUNCH] if member["id"] == "<m4@example.org>"]
    members[LUNCH].remove(node)
    members[ROOT].append({"id": node["id"], "parent": "<m0@example.org>"})
    undone = [undo_message]
    for id_, thread in threads.items():
        state = {**thread.threading, "members": sorted(members[id_], key=lambda one: str(one["id"]))}
        count = len(members[id_])
        undone.append(await _patch(place, Thread, id_, id_, threading=state, message_count=count))

    async def undo() -> None:
        for put_back in undone:
            await put_back()

    return undo


async def _other_subject(place: MailIn) -> Undo:
    return await _patch(place, Thread, LUNCH, LUNCH, subject="A decision")


async def _current_summary(place: MailIn) -> dict[str, Any]:
    (current,) = [thread["summary_id"] for thread in await place.stored("threads") if thread["id"] == ROOT]
    (summary,) = [stored for stored in await place.stored("summaries") if stored["id"] == current]
    return summary


async def _other_quote(place: MailIn) -> Undo:
    summary = await _current_summary(place)
    citations = [{**summary["citations"][0], "quote": "I oppose this."}, *summary["citations"][1:]]
    return await _patch(place, Summary, summary["id"], ROOT, citations=citations)


async def _quote_of_another_message(place: MailIn) -> Undo:
    summary = await _current_summary(place)
    forged = {**summary["citations"][0], "message_id": "<m5@example.org>", "message_key": KEYS[5]}
    assert summary["citations"][0]["message_key"] != KEYS[5]
    return await _patch(place, Summary, summary["id"], ROOT, citations=[forged])


async def _other_evidence(place: MailIn) -> Undo:
    (report,) = [
        stored_report for stored_report in await place.stored("reports") if stored_report["scope"] == ROOT
    ]
    hashes = {archive["file_hash"] for archive in report["evidence"]}
    assert hashes == {archive_of(content).file_hash for content in (FIRST, SECOND)}
    evidence = [{**report["evidence"][0], "file_hash": "0" * 64}, *report["evidence"][1:]]
    return await _patch(place, Report, report["id"], ROOT, evidence=evidence)


async def _other_file(place: MailIn) -> Undo:
    archive, blobs = archive_of(SECOND), place.clients.blobs
    await blobs.upload(ARCHIVES_CONTAINER, archive.file_path, SECOND.replace(b"I object", b"I accept"))
    return lambda: blobs.upload(ARCHIVES_CONTAINER, archive.file_path, SECOND)


async def _archive_without_record(place: MailIn) -> Undo:
    """Store messages that name an archive that does not exist."""
    archive = archive_of(OTHER_WORDS)
    known = await place.clients.store.read(Archive, archive.id, Session())
    await place.clients.store.delete(Archive, archive.id, Session())
    return lambda: place.clients.store.upsert(known, Session())


TAMPERED: dict[Tamper, tuple[str, str, str]] = {
    _other_text: ("message_changed", KEYS[1], "body_raw"),
    _other_sender: ("message_changed", KEYS[1], "from"),
    _forgotten_conflict: ("message_changed", KEYS[2], "conflicts"),
    _deleted: ("message_missing", KEYS[4], "<m4@example.org>"),
    _added: ("message_added", message_key("<m9@example.org>", "list"), "does not have it"),
    _moved: ("message_moved", KEYS[4], f"belongs to {LUNCH}"),
    _moved_with_its_thread: ("message_moved", KEYS[4], f"belongs to {LUNCH}"),
    _other_subject: ("thread_changed", LUNCH, "subject"),
    _other_quote: ("citation_broken", "", "do not hold"),
    _quote_of_another_message: ("citation_broken", "", "cites as <m5@example.org>"),
    _other_evidence: ("evidence_changed", "", "another hash"),
    _other_file: ("archive_changed", archive_of(SECOND).id, "has the hash"),
    _archive_without_record: ("message_added", KEYS[2], "does not exist"),
}


# Findings that do not hide each other share a run, because a run parses everything.
GROUPS: list[tuple[Tamper, ...]] = [
    (_other_text, _forgotten_conflict, _deleted, _added, _other_subject, _other_quote, _other_evidence),
    (_other_sender, _moved, _quote_of_another_message),
    (_moved_with_its_thread,),
    (_other_file,),
    (_archive_without_record,),
]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0].__name__.strip("_"))
async def test_what_was_tampered_with_is_found_and_named(place: MailIn, group: tuple[Tamper, ...]) -> None:
    undone = [await tamper(place) for tamper in group]
    try:
        findings = await found(place)
    finally:
        for undo in reversed(undone):
            await undo()
    for tamper in group:
        kind, id_, detail = TAMPERED[tamper]
        matching = [
            finding
            for finding in findings
            if (finding.kind.value, finding.id) == (kind, id_ or finding.id) and detail in finding.detail
        ]
        assert matching, (tamper, findings)


async def test_what_an_operator_decided_is_no_damage(place: MailIn) -> None:
    asked = PlacementAsked(message_id="<m3@example.org>", reason="another matter")
    made = await place_message(place.clients, LUNCH, asked, Operator("ann", "api"))
    assert (await stored(place, KEYS[4])).thread_id == thread_id("<m3@example.org>", "list")
    assert [finding for finding in await found(place) if finding.kind in RECORD_KINDS] == []
    await undo_placement(place.clients, made.id, "it was the same matter", Operator("ann", "api"))
    await finish(place)
    await drain(place)


async def test_afterwards_it_is_as_it_was(place: MailIn) -> None:
    assert {tamper for group in GROUPS for tamper in group} == set(TAMPERED)
    assert await found(place) == []
