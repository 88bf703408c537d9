"""The command line against the local cloud: its output, its streams, and its exit codes."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from azure.servicebus import ServiceBusMessage

from shared.azure.cosmos.session import Session
from shared.azure.servicebus.bus import to_message
from shared.core.ids import scope_id
from shared.models.reports import Report
from shared.models.sources import ArchiveStatus
from shared.pipeline.events import parse_event
from tests.ops.commands import Commands, Ended
from tests.ops.environment import OpsPlace, an_archive, read_archive
from tests.stages.mail_in import mail
from tests.support.documents import CREATED
from web.operator.view import view_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOW = datetime.now(UTC)


@pytest_asyncio.fixture(loop_scope="module")
async def ops(place: OpsPlace, tmp_path: Path) -> AsyncIterator[Commands]:
    yield Commands(place, tmp_path)


def data_only(ended: Ended) -> Any:
    """Return the one JSON document that standard output holds."""
    return json.loads(ended.out)


@pytest.mark.requirement("R-806")
async def test_checking_stuck_documents(place: OpsPlace, ops: Commands) -> None:
    """Spec 001, Checking Stuck Documents: pending, and the last attempt is more than 24 hours ago."""
    old, fresh = NOW - timedelta(hours=30), NOW - timedelta(hours=3)
    stuck = await an_archive(
        place, "stuck", attemptCount=1, lastAttemptTime=old, lastError="TimeoutError: no"
    )
    silent = await an_archive(place, "silent", created_at=old)
    await an_archive(place, "fresh", attemptCount=1, lastAttemptTime=fresh)
    await an_archive(place, "done", status=ArchiveStatus.PROCESSED, attemptCount=1, lastAttemptTime=old)
    found = (await ops("documents", "list", "--only", "stuck", "--collection", "archives", "--json")).json()
    ours = {letter["id"]: letter for letter in found}
    assert {stuck.id, silent.id} <= set(ours)
    assert (ours[stuck.id]["attempts"], ours[stuck.id]["error"]) == (1, "TimeoutError: no")
    assert len([letter for letter in found if letter["id"] in {stuck.id, silent.id}]) == len(found)
    status = (await ops("status", "--json")).json()
    (archives,) = [document for document in status["documents"] if document["collection"] == "archives"]
    assert archives["stuck"] == len(found)
    shown = await ops("documents", "list")
    assert stuck.id in shown.out
    assert "no error recorded" in shown.out


@pytest.mark.requirement("R-806")
async def test_triggering_a_retry_by_hand(place: OpsPlace, ops: Commands) -> None:
    """Spec 001, Manual Retry Trigger: run the retry job now, or requeue the failed queue."""
    due = await an_archive(
        place, "due", attemptCount=1, lastAttemptTime=NOW - timedelta(hours=1), lastError="TimeoutError: no"
    )
    planned = (await ops("sweep", "--once", "--dry-run", "--json")).json()
    assert planned["counts"]["archives"]["requeued"] >= 1
    assert (await read_archive(place, due.id)).attemptCount == 1
    assert (await ops("sweep", "--once")).code == 0
    swept = await read_archive(place, due.id)
    assert (swept.attemptCount, swept.requeued_at is not None) == (2, True)
    events = [parse_event(b"".join(event.body)) for event in await place.waiting()]
    assert [event.attempt for event in events if event.data.archive_id == due.id] == [2]

    (event,) = await place.failed_events(1, "ValueError", "no")
    ended = await ops("dlq", "requeue", "parsing.failed", "--yes", "--json")
    assert (ended.code, data_only(ended)["requeued"]) == (0, 1)
    again = [parse_event(b"".join(event.body)).event_id for event in await place.waiting()]
    assert event.event_id in again
    assert await place.dead() == []


@pytest.mark.requirement("R-804")
async def test_exporting_a_failed_queue_for_analysis(place: OpsPlace, ops: Commands, tmp_path: Path) -> None:
    """Spec 001, Purging, step 1: export archives.failed --output archives_failed.json."""
    events = await place.failed_events(2, "ValueError", "no")
    file = tmp_path / "archives_failed.json"
    ended = await ops("dlq", "show", "archives.failed", "--output", str(file))
    assert (ended.code, ended.out) == (0, "")
    exported = json.loads(file.read_text())
    assert [letter["message_id"] for letter in exported] == [event.message_id for event in events]
    assert {letter["error"] for letter in exported} == {"ValueError: no"}
    assert file.stat().st_mode & 0o077 == 0
    assert len(await place.dead()) == 2
    lines = (await ops("dlq", "show", "parsing", "--limit", "1", "-o", "-")).out.splitlines()
    assert [json.loads(line)["sequence_number"] for line in lines] == [exported[0]["sequence_number"]]


@pytest.mark.requirement("R-806")
async def test_resetting_the_attempt_counter(place: OpsPlace, ops: Commands) -> None:
    """Spec 001, Purging, step 3: attemptCount 0, lastAttemptTime null, pending. Then the job requests it."""
    failed = await an_archive(
        place, "failed", status=ArchiveStatus.FAILED_MAX_RETRIES, attemptCount=3, lastAttemptTime=NOW,
        lastError="UnreadableArchiveError: bad", created_at=NOW - timedelta(days=2),
    )  # fmt: skip
    listed = (await ops("documents", "list", "--only", "failed", "--json")).json()
    assert failed.id in [row["id"] for row in listed]
    assert (await ops("documents", "retry", "--reset", "archives", failed.id, "--yes")).code == 0
    fresh = await read_archive(place, failed.id)
    assert (fresh.status, fresh.attemptCount, fresh.lastAttemptTime) == (ArchiveStatus.PENDING, 0, None)
    assert fresh.lastError is None
    await ops("sweep", "--once")
    assert (await read_archive(place, failed.id)).attemptCount == 1
    assert failed.id in {parse_event(b"".join(event.body)).data.archive_id for event in await place.waiting()}


@pytest.mark.requirement("R-807")
async def test_purging_what_failed_for_good_and_bringing_it_back(place: OpsPlace, ops: Commands) -> None:
    """Spec 001, Purging, step 4. Unlike in the specification, a purge can be undone."""
    await place.failed_events(3, "ValueError", "no")
    planned = await ops("dlq", "purge", "parsing.failed", "--dry-run", "--json")
    assert data_only(planned)["planned"] == 3
    assert len(await place.dead()) == 3
    refused = await ops("dlq", "purge", "parsing.failed")
    assert (refused.code, refused.err.splitlines()[-1]) == (
        2,
        "Purge 3 dead letters? Add --yes to skip this question.",
    )
    purged = data_only(await ops("dlq", "purge", "parsing.failed", "--yes", "--json"))
    assert (purged["status"], purged["purged"]) == ("succeeded", 3)
    assert await place.dead() == []
    audit = (await ops("audit", purged["operation"], "--json")).json()
    assert (audit["action"], audit["counts"]["purged"]) == ("dlq.purge", 3)
    assert "@" in audit["actor"]
    back = data_only(await ops("dlq", "restore", purged["operation"], "--yes", "--json"))
    assert (back["status"], back["restored"]) == ("succeeded", 3)
    assert len(await place.waiting()) == 3


async def test_only_satisfied_letters_are_purged_where_asked(place: OpsPlace, ops: Commands) -> None:
    done, pending = await place.failed_events(2, "TimeoutError", "it was down")
    for event, status in ((done, ArchiveStatus.PROCESSED), (pending, ArchiveStatus.PENDING)):
        own = {"id": event.data.archive_id, "archive_id": event.data.archive_id}
        await an_archive(place, "satisfied", **own, status=status)
    ended = data_only(await ops("dlq", "purge", "--all", "--satisfied", "--yes", "--json"))
    assert (ended["action"], ended["resolved"]) == ("dlq.resolve", 1)
    assert [letter.message_id for letter in await place.dead()] == [pending.message_id]
    again = data_only(await ops("dlq", "purge", "--resume", ended["operation"], "--json"))
    assert again["resolved"] == 1
    refused = await ops("dlq", "requeue", "--resume", ended["operation"])
    assert (refused.code, refused.err.count("\n")) == (2, 1)


async def test_trying_a_failed_document_again_at_once(place: OpsPlace, ops: Commands) -> None:
    failed = await an_archive(
        place, "retried", status=ArchiveStatus.FAILED, attemptCount=1, lastAttemptTime=NOW, lastError="X: y"
    )
    ended = await ops("documents", "retry", "archives", failed.id, "--yes", "--json")
    assert data_only(ended) == {"action": "documents.retry", "changed": 1, "left": []}
    (sent,) = [parse_event(b"".join(event.body)) for event in await place.waiting()]
    assert (sent.event_type, sent.data.archive_id, sent.attempt) == ("ArchiveIngested", failed.id, 1)
    waiting = await read_archive(place, failed.id)
    assert (waiting.status, waiting.attemptCount) == (ArchiveStatus.PENDING, 1)
    assert waiting.requeued_at is not None


@pytest.mark.requirement("R-804")
async def test_groups_and_lists_are_shown_to_people_and_to_programs(place: OpsPlace, ops: Commands) -> None:
    await place.failed_events(3, "KeyError", "'subject'")
    await place.dead_letter([ServiceBusMessage(b"\x1b[31mred\x00", message_id="foreign")], reason="Foreign")
    groups = (await ops("dlq", "list", "--groups", "parsing.failed", "--json")).json()
    assert [(group["count"], group["queue"], group["error_type"]) for group in groups] == [
        (3, "parsing", "KeyError"),
        (1, "parsing", ""),
    ]
    assert set(groups[0]) >= {"id", "reason", "error", "error_hash", "first_seen", "last_seen", "example"}
    shown = await ops("dlq", "list", "--groups")
    assert groups[0]["id"] in shown.out
    assert "4 dead letters" in shown.err
    listed = (await ops("dlq", "list", "parsing", "--group", groups[0]["id"], "--json")).json()
    assert {row["group"] for row in listed} == {groups[0]["id"]}
    assert len(listed) == 3
    inspected = await ops("dlq", "show", "parsing", str(groups[1]["example"]))
    assert "\x1b" not in inspected.out
    assert "red" in inspected.out
    whole = (await ops("dlq", "show", "parsing.failed", "--limit", "2", "--json")).json()
    assert len(whole) == 2
    assert whole[0]["message"]["body_kind"] == "data"


async def test_a_document_and_its_history_are_shown(place: OpsPlace, ops: Commands) -> None:
    (event,) = await place.failed_events(1, "ValueError", "no")
    archive = await an_archive(
        place, "story", id=event.data.archive_id, archive_id=event.data.archive_id, attemptCount=1,
        lastAttemptTime=NOW, lastError="ValueError: no",
    )  # fmt: skip
    (shown,) = (await ops("documents", "list", archive.id, "--json")).json()
    assert (shown["container"], shown["lastError"]) == ("archives", "ValueError: no")
    assert (await ops("documents", "retry", "archives", archive.id, "--yes")).code == 0
    story = (await ops("timeline", archive.id, "--json")).json()
    assert [step["at"] for step in story] == sorted(step["at"] for step in story)
    told = " | ".join(step["what"] for step in story)
    for part in ("ingested", "failed (permanent", "dead letter", "documents.retry by", "requested again"):
        assert part in told, told
    by_event = (await ops("timeline", event.event_id, "--json")).json()
    assert any("dead letter" in step["what"] for step in by_event)
    unknown = await ops("timeline", "0123456789abcdef")
    assert (unknown.code, unknown.err) == (1, "No record of '0123456789abcdef'.\n")


async def test_a_trace_leads_to_its_dead_letters_and_a_silent_receiver_is_told(
    place: OpsPlace, tmp_path: Path
) -> None:
    event, trace = place.event("traced"), uuid.uuid4().hex
    message = to_message(event)
    message.application_properties = {
        **(message.application_properties or {}), "traceparent": f"00-{trace}-00f067aa0ba902b7-01"
    }  # fmt: skip
    await place.dead_letter([message])
    connection = "InstrumentationKey=0;IngestionEndpoint=http://127.0.0.1:9/"
    ops = Commands(place, tmp_path, APPLICATIONINSIGHTS_CONNECTION_STRING=connection)
    shown = await ops("timeline", trace)
    assert (shown.code, "dead letter" in shown.out) == (0, True)
    assert shown.err == "No spans: the telemetry receiver at http://127.0.0.1:9 does not answer.\n"
    elsewhere = await Commands(place, tmp_path)("timeline", trace)
    assert elsewhere.err.startswith("No spans: LOG_WORKSPACE_ID is not set")


async def test_the_status_shows_dead_letters_and_fails_a_check(place: OpsPlace, ops: Commands) -> None:
    await place.failed_events(2, "ValueError", "no")
    ended = await ops("status", "--check", "--json")
    assert ended.code == 3
    (parsing,) = [queue for queue in data_only(ended)["queues"] if queue["queue"] == "parsing"]
    assert (parsing["waiting"], parsing["dead"], parsing["at_least"]) == (0, 2, False)
    assert parsing["oldest_dead"]
    shown = await ops("status")
    assert shown.code == 0
    assert "2 dead letters: `dlq list --groups` shows the causes." in shown.err


async def test_a_visitor_who_leaves_does_not_leave_an_old_view_to_the_others(
    place: OpsPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is read once for all visitors, and the first visitor may leave early."""
    monkeypatch.setattr("web.operator.view.FRESH_SECONDS", 0.0)
    leaves = asyncio.create_task(view_of(place.clients))
    await asyncio.sleep(0)
    leaves.cancel()
    assert not (await view_of(place.clients)).status.dead
    await place.failed_events(1, "ValueError", "no")
    for _ in range(300):
        if (await view_of(place.clients)).status.dead:
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("the view is as old as the visitor who left")


async def test_an_archive_is_taken_in_and_followed(place: OpsPlace, ops: Commands, tmp_path: Path) -> None:
    file = tmp_path / "list.mbox"
    file.write_bytes(mail(1, body=place.bench.name("hello")))
    first = (await ops("archive", "ingest", str(file), "--source", "quic", "--json")).json()
    assert (first["duplicate"], first["announced"]) == (False, True)
    again = await ops("archive", "ingest", str(file), "--source", "quic")
    assert (again.code, again.out.strip()) == (0, first["archive_id"])
    assert "No source is named quic" in first["note"]
    assert "python -m ops source add quic" in again.err
    progress = (await ops("archive", "progress", first["archive_id"], "--json")).json()
    assert (progress["status"], progress["stages"][0]["name"]) == ("pending", "parsing")
    why = (await ops("archive", "progress", first["archive_id"], "--why", "--json")).json()
    assert [(left["stage"], left["count"]) for left in why["obstacles"]] == [("parsing", 1)]
    bad = tmp_path / "not-mail.bin"
    bad.write_bytes(b"\x00" * 100)
    refused = await ops("archive", "ingest", str(bad))
    assert refused.code == 1
    assert refused.err.startswith(f"{bad}: ")
    assert (await ops("archive", "ingest", str(tmp_path / "missing"))).code == 2
    missing = await ops("archive", "progress", "0123456789abcdef")
    assert (missing.code, missing.err) == (1, "archives/0123456789abcdef does not exist\n")


async def test_sources_are_defined_changed_and_triggered(place: OpsPlace, ops: Commands) -> None:
    name = place.bench.name("src")
    url = "https://example.org/list.mbox"
    added = (await ops("source", "add", name, "--type", "http", "--url", url, "--json")).json()
    assert (added["name"], added["url"], added["enabled"]) == (name, url, True)
    assert (await ops("source", "add", name, "--url", url)).code == 1
    changed = (
        await ops("source", "update", name, "--disabled", "--schedule", "0 30 4 * * *", "--json")
    ).json()
    assert (changed["enabled"], changed["schedule"], changed["url"]) == (False, "0 30 4 * * *", url)
    assert name in [row["name"] for row in (await ops("source", "list", "--json")).json()]
    assert name in (await ops("source", "list")).out
    assert (await ops("source", "list", name, "--json")).json()["source_type"] == "http"
    ruled = ("--preset", "git", "--role", "bo@example.org=maintainer,2024-01-01")
    shown = (await ops("source", "update", name, *ruled, "--json")).json()
    holder = {
        "person": "bo@example.org", "name": "", "role": "maintainer", "from": "2024-01-01", "until": None
    }  # fmt: skip
    assert (shown["preset"], shown["roles"]) == ("git", [holder])
    assert (await ops("source", "update", name, "--role", "bo@example.org")).err.startswith(
        "--role: must have"
    )
    assert (await ops("source", "update", name, "--role", "", "--json")).json()["roles"] == []
    asked = (await ops("source", "trigger", name, "--json")).json()
    assert asked["already_running"] is False
    assert (await ops("source", "trigger", name, "--json")).json() == {**asked, "already_running": True}
    bad = await ops("source", "add", "x", "--type", "ftp")
    assert bad.code == 2
    assert bad.err.startswith("source_type: ")
    assert bad.err.count("\n") == 1
    forbidden = await ops("source", "add", "y", "--url", "http://127.0.0.1/x")
    assert (forbidden.code, forbidden.err[:5]) == (2, "url: ")


async def test_reports_and_search_answer_where_there_is_nothing_yet(place: OpsPlace, ops: Commands) -> None:
    assert (await ops("report", "--json")).json() == []
    assert (await ops("report")).err == "No reports yet.\n"
    assert (await ops("report", "rpt-none")).err == "There is no report with this id.\n"


async def test_a_stored_login_is_not_sent_to_another_server(place: OpsPlace, ops: Commands) -> None:
    name, url = place.bench.name("imap"), "imaps://mail.example.org/lists"
    login = ("--setting", "username_setting=SOURCE_SECRET_U", "--setting", "password_setting=SOURCE_SECRET_P")
    assert (await ops("source", "add", name, "--type", "imap", "--url", url, *login)).code == 0
    refused = await ops("source", "update", name, "--url", "imaps://mail.example.net/lists")
    assert refused.code == 2
    assert refused.err.startswith("settings: name username_setting and password_setting again")
    assert (await ops("source", "list", name, "--json")).json()["url"] == url
    assert (await ops("source", "update", name, "--url", f"{url}/2024")).code == 0
    assert (await ops("source", "update", name, "--url", "imaps://mail.example.net/lists", *login)).code == 0


async def test_an_archive_and_a_source_are_deleted_with_a_receipt(
    place: OpsPlace, ops: Commands, tmp_path: Path
) -> None:
    file, source = tmp_path / "list.mbox", place.bench.name("gone")
    file.write_bytes(mail(1, body=place.bench.name("to be deleted")))
    taken = (await ops("archive", "ingest", str(file), "--source", source, "--json")).json()
    id_ = taken["archive_id"]
    refused = await ops("archive", "delete", id_)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    receipt = (await ops("archive", "delete", id_, "--here", "--yes", "--json")).json()
    assert (receipt["status"], receipt["counts"]["archives"], receipt["counts"]["blobs"]) == (
        "succeeded",
        1,
        1,
    )
    assert not any(receipt["left"].values())
    assert (await ops("archive", "progress", id_)).code == 1
    assert (await ops("archive", "delete", "0123456789abcdef", "--here", "--yes")).code == 1

    await ops("source", "add", source, "--type", "upload")
    await ops("archive", "ingest", str(file), "--source", source)
    whole = (await ops("source", "delete", source, "--here", "--yes", "--json")).json()
    assert (whole["status"], whole["counts"]["sources"], whole["counts"]["archives"]) == ("succeeded", 1, 1)
    assert (await ops("source", "list", source)).code == 1
    await ops("source", "add", source, "--type", "upload")
    kept = (await ops("source", "delete", source, "--keep-archives", "--yes", "--json")).json()
    assert kept == {"source": source, "deleted": True, "cascade": False}
    actions = [row["action"] for row in (await ops("audit", "--json")).json()]
    assert {"archive.delete", "source.delete", "archive.ingest", "source.add"} <= set(actions)


async def test_damage_is_found_and_repaired(place: OpsPlace, tmp_path: Path) -> None:
    """Readers cannot open a report without its summary, so the checks delete it."""
    report = Report(created_at=CREATED,
        id=scope_id("t1"), report_id=f"rpt-{place.bench.tag}", thread_id="t1", scope="t1",
        summary_id=place.bench.tag, title="gone", published_at=NOW - timedelta(days=1),
    )  # fmt: skip
    await place.clients.store.upsert(report, Session())
    ops = Commands(place, tmp_path)
    for _ in range(20):  # until the report is more than a second old
        found = await ops("verify", "--recent", "--no-archives", "--json")
        if found.code:
            break
        await asyncio.sleep(0.2)
    assert found.code == 3
    assert data_only(found)["counts"]["report_without_summary"]["found"] >= 1
    assert "message_changed" not in data_only(found)["counts"]
    assert "message_changed" in data_only(await ops("verify", "--recent", "--json"))["counts"]
    shown = await ops("verify", "--recent", "--no-archives")
    assert (shown.code, report.id in shown.out) == (3, True)
    assert (await ops("verify", "--repair")).code == 2
    repaired = data_only(await ops("verify", "--recent", "--no-archives", "--repair", "--yes", "--json"))
    assert repaired["counts"]["report_without_summary"]["repaired"] >= 1
    assert await place.clients.store.find(Report, report.id, Session(), partition="t1") is None


async def test_what_a_chat_model_costs_is_told_before_all_threads_are_read(
    place: OpsPlace, tmp_path: Path
) -> None:
    url = "http://127.0.0.1:9/v1"
    model = {"SUMMARY_BACKEND": "openai", "SUMMARY_ENDPOINT": url, "SUMMARY_MODEL": "m"}
    ops = Commands(place, tmp_path, **model)
    planned = (await ops("resummarize", "--all", "--dry-run", "--json")).json()
    assert planned["estimate"]["threads"] == planned["planned"]
    told = await ops("resummarize", "--all", "--dry-run")
    assert "The chat model: about" in told.err + told.out
    unasked = await ops("resummarize", "--all")
    assert (unasked.code, "tokens in" in unasked.err, "--yes" in unasked.err) == (2, True, True)


async def test_threads_are_read_anew_on_record(place: OpsPlace, ops: Commands) -> None:
    planned = (await ops("resummarize", "--all", "--dry-run", "--json")).json()
    assert planned == {"action": "resummarize", "dry_run": True, "planned": 0}
    ended = (await ops("resummarize", "--source", "nowhere", "--yes", "--json")).json()
    assert (ended["status"], ended["requested"], ended["left"]) == ("succeeded", 0, 0)
    assert (await ops("resummarize", "--resume", ended["operation"], "--json")).json() == ended
    recorded = (await ops("audit", "--json")).json()
    assert "resummarize" in {audit["action"] for audit in recorded}
    for wrong in (["resummarize"], ["resummarize", "--all", "--source", "x"], ["resummarize", "no-id"]):
        refused = await ops(*wrong)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1), refused.err
