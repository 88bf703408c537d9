"""`corrections` and `resummarize` on the command line, on reported threads."""

import json
from pathlib import Path

import pytest

from shared.azure.cosmos.session import Session
from shared.models.queries.operations import LAST_AUDITS
from shared.models.records import Audit
from shared.models.sources import Source
from tests.ops.commands import Commands
from tests.ops.environment import OpsPlace
from tests.stages.mail_in import MailIn, mail
from tests.stages.reported import ReportedThreads
from tests.support.documents import CREATED

pytestmark = pytest.mark.asyncio(loop_scope="module")
WORDS = "I support adoption of this draft."


async def test_a_thread_is_corrected_exported_read_anew_and_revoked(place: OpsPlace, tmp_path: Path) -> None:
    ops, threads = Commands(place, tmp_path), ReportedThreads(MailIn(place.bench))
    await threads.take_in(
        mail(0, subject="Adopt it", body="I propose that we adopt this draft."), mail(1, parent=0, body=WORDS)
    )
    await threads.request(0)
    assert await threads.work_off(1) == 1
    thread, message = threads.thread_id(0), threads.id_of(1)
    why = ("--reason", "it was irony")
    wrong = await ops("corrections", "make", thread, "position", "oppose", "--quote", WORDS, *why)
    assert (wrong.code, "message_id" in wrong.err) == (2, True)
    made = await ops(
        "corrections",
        "make",
        thread,
        "position",
        "oppose",
        "--message",
        message,
        "--quote",
        WORDS,
        *why,
        "--json",
    )
    correction = made.json()
    assert await threads.work_off(1) == 1
    assert (await threads.report(0)).counts == {"objection": 1}
    again = (await ops("resummarize", thread, "--json")).json()
    assert again["requested"] == 1
    assert await threads.work_off(1) == 1
    assert (await threads.report(0)).counts == {"objection": 1}  # the objection stays
    (label,) = json.loads((await ops("corrections", "list", "--labels")).out)
    assert [(one["person"], one["stance"]) for one in label["positions"]] == [
        (threads.address("bo"), "oppose")
    ]
    shown = await ops("corrections", "list", thread)
    assert "it was irony" in shown.out
    revoked = (
        await ops("corrections", "revoke", correction["id"], "--reason", "it was not", "--json")
    ).json()
    assert revoked["revoked"]
    assert await threads.work_off(1) == 1
    assert (await threads.report(0)).counts == {"support": 1}
    unknown = await ops("corrections", "revoke", "0" * 32, *why)
    assert (unknown.code, len(unknown.err.splitlines())) == (1, 1)


async def test_a_thread_is_split_and_names_are_decided_on(place: OpsPlace, tmp_path: Path) -> None:
    ops, threads = Commands(place, tmp_path), ReportedThreads(MailIn(place.bench.fresh()))
    await threads.take_in(mail(0, subject="Adopt it"), mail(1, parent=0, body=WORDS), name="desk")
    await threads.request(0)
    assert await threads.work_off(1) == 1
    thread, message = threads.thread_id(0), threads.id_of(1)
    why = ("--reason", "it was irony")
    split = (await ops("thread", "move", thread, message, "--split", *why, "--json")).json()
    await threads.pass_labels_on()
    assert await threads.work_off(2) == 2
    assert (await threads.thread(1)).message_count == 1
    shown = await ops("thread", "history", thread)
    assert ("split" in shown.out, "it was irony" in shown.out) == (True, True)
    under = ("--under", threads.id_of(1))
    refused = await ops("thread", "move", threads.thread_id(1), message, *under, *why)
    assert (refused.code, len(refused.err.splitlines())) == (1, 1)
    moved = await ops("thread", "move", threads.thread_id(1), message, "--to", thread, *why)
    assert moved.out.split() == [split["id"]]
    undone = (await ops("thread", "move", thread, message, "--undo", *why, "--json")).json()
    assert [entry["act"] for entry in undone["entries"]] == ["split", "moved", "undone"]
    assert (await threads.thread(0)).message_count == 2
    await place.bench.clients.store.create(
        Source(id="desk", name="desk", source_type="upload", url="", created_at=CREATED), Session()
    )
    elsewhere = mail(8, subject="More", body="I am at another desk now.")
    await threads.take_in(
        elsewhere.replace(b"Cy Example <cy@example.org>", b"Bo Example <bo@desk.example>"), name="desk"
    )
    (proposed,) = (await ops("people", "desk", "--json")).json()
    assert (proposed["name"], len(proposed["addresses"])) == ("Bo Example", 2)
    wrong = await ops("people", "desk", "bo@desk.example", "--same", *why)
    assert (wrong.code, len(wrong.err.splitlines())) == (2, 1)
    refused = (await ops("people", "desk", *proposed["addresses"], "--different", *why, "--json")).json()
    assert refused == {"aliases": [], "namesakes": [sorted(proposed["addresses"])]}
    assert "No undecided names" in (await ops("people", "desk")).err
    accepted = (await ops("people", "desk", *proposed["addresses"], "--same", *why, "--json")).json()
    assert accepted == {"aliases": [sorted(proposed["addresses"])], "namesakes": []}
    audits = await place.bench.clients.store.query_documents(Audit, LAST_AUDITS, Session(), limit=2)
    assert [(one.action, one.selection["reason"]) for one in audits] == [
        ("people.accept", "it was irony"),
        ("people.refuse", "it was irony"),
    ]
