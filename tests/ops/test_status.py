"""`status` in a terminal of 100 columns: no line is cut off, and the end says what to do."""

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ops import status as command
from shared.models.records import Audit, AuditStatus, Run, RunStatus
from shared.operations.due_documents import COLLECTIONS
from shared.operations.oversight.dependencies import Check
from shared.operations.oversight.health import AgeBounds
from shared.operations.oversight.status import (
    DocumentsStatus,
    QueueStatus,
    StageStatus,
    SystemStatus,
)
from shared.pipeline.topology import QUEUES
from tests.support.documents import CREATED

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
UNITS = {"parsing": "archives", "chunking": "messages", "embedding": "chunks"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Screen:
    """A terminal of 100 columns, with the command's data and prose."""

    def show(self, found: SystemStatus) -> tuple[list[str], list[str]]:
        out, err = Terminal(), Terminal()
        with redirect_stdout(out), redirect_stderr(err):
            command._show(found)
        lines = _lines(out)
        assert max(len(line) for line in lines) <= 100, lines
        return lines, _lines(err)


def _lines(terminal: Terminal) -> list[str]:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    return [line.rstrip() for line in plain.splitlines()]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    return Screen()


LATE = "2 documents are not finished 1 h after arrival. The objective SLO_REPORT_MINUTES is missed."
SWEPT = Run(
    created_at=CREATED, id="r", kind="sweep", requested_by="timer", status=RunStatus.SUCCEEDED,
    started_at=NOW - timedelta(minutes=3),
)  # fmt: skip


def system(waiting: int = 0, dead: int = 0, done: int = 0, stuck: int = 0, failed: int = 0) -> SystemStatus:
    old = NOW - timedelta(minutes=42)
    return SystemStatus(
        NOW,
        queues=[
            QueueStatus(
                queue, waiting, dead, at_least=False, oldest_waiting=old if waiting else None,
                oldest_dead=old if dead else None,
            )
            for queue in QUEUES
        ],
        documents=[
            DocumentsStatus(collection.name, collection.stage, waiting, waiting, stuck=stuck, failed=failed)
            for collection in COLLECTIONS
        ],
        stages=[StageStatus(stage, unit, done, done / 15) for stage, unit in UNITS.items()],
        sweep=SWEPT,
        consumers=dict.fromkeys(QUEUES, NOW),
        bounds=AgeBounds(waiting=timedelta(hours=1)),
    )  # fmt: skip


def row(lines: list[str], name: str) -> list[str]:
    return next(line.split() for line in lines if line.startswith(f"{name} "))


def test_an_empty_system_is_all_zeros_and_said_to_be_well(screen: Screen) -> None:
    lines, said = screen.show(system())
    assert row(lines, "parsing") == ["parsing", "0", "0", "0", "archives"]
    assert row(lines, "archives") == ["archives", "parsing", "0", "0", "0", "0"]
    assert [line.split()[0] for line in lines if line.endswith(" failed")] == ["documents"]
    assert said == [
        "The last sweep was 3 min ago: succeeded.",
        "Everything is running: no dead letters, nothing stuck or failed.",
    ]


def test_a_busy_system_fits_with_millions(screen: Screen) -> None:
    lines, said = screen.show(system(waiting=12_345_678, done=12_345_678))
    assert row(lines, "chunking") == [
        "chunking", "12,345,678", "42", "min", "0", "12,345,678", "messages",
    ]  # fmt: skip
    assert "…" not in "".join(lines)
    assert row(lines, "threads") == ["threads", "summarization", "12,345,678", "12,345,678", "0", "0"]
    assert said[-1].startswith("Everything is running")


def test_a_service_that_does_not_work_is_said_in_whole_sentences() -> None:
    asked = "AI Search refuses connections at localhost:1: is it running?"
    checks = {"search": Check(False, 0.1, asked), "app": Check(False, 0.1, "the app hangs")}
    assert [trouble.says for trouble in replace(system(), dependencies=checks).troubles] == [
        f"{asked} Work waits for it and resumes by itself.",
        "The app hangs.",
    ]


def test_failures_are_counted_and_each_has_its_next_step(screen: Screen) -> None:
    found = system(dead=1_234_567, stuck=1_234_567, failed=1_234_567)
    lines, said = screen.show(found)
    assert row(lines, "reporting") == ["reporting", "0", "1,234,567", "42", "min"]
    assert row(lines, "chunks") == ["chunks", "embedding", "0", "0", "1,234,567", "1,234,567"]
    assert said[1:] == [
        "13,580,237 dead letters: `dlq list --groups` shows the causes.",
        "4,938,268 documents are stuck: `documents list --only stuck` lists them.",
        "4,938,268 documents were not processed: `documents list --only failed` lists them.",
    ]


def test_one_is_said_as_one(screen: Screen) -> None:
    one = system()
    one.queues[0] = QueueStatus("ingestion", 0, 1, at_least=True, oldest_dead=NOW)
    one.documents[0] = DocumentsStatus("archives", "parsing", 1, 0, stuck=1, failed=1)
    lines, said = screen.show(one)
    assert row(lines, "ingestion") == ["ingestion", "0+", "1+", "0", "s"]
    assert said[1:] == [
        "1 dead letter: `dlq list --groups` shows the causes.",
        "1 document is stuck: `documents list --only stuck` lists them.",
        "1 document was not processed: `documents list --only failed` lists them.",
    ]


def test_operations_by_somebody_with_a_long_name_leave_room_for_what_came_of_them(screen: Screen) -> None:
    audit = Audit(created_at=CREATED,
        id="20260304-0123abcd", day="2026-03-04", action="documents.retry",
        actor="somebody-with-an-operator's-account@a-host.example.org", started_at=NOW, updated_at=NOW,
        status=AuditStatus.INTERRUPTED, counts={"planned": 12_345, "requeued": 1_000, "failed": 0},
        outcome="CancelledError: it was broken off",
    )  # fmt: skip
    lines, said = screen.show(replace(system(), operations=[audit]))
    start = next(number for number, line in enumerate(lines) if line.startswith("20260304-0123abcd "))
    assert lines[start].split()[1:6] == [
        "documents.retry", "somebody-with-an-op…", "0", "s", "interrupted",
    ]  # fmt: skip
    left = lines[start - 2].index("counts")
    assert " ".join(line[left:] for line in lines[start:]) == (
        "12,345 planned, 1,000 requeued; CancelledError: it was broken off"
    )
    assert said[-1].startswith("Everything is running")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sweep": None}, "The sweep has not run yet."),
        (
            {"sweep": SWEPT.model_copy(update={"started_at": NOW - timedelta(minutes=31)})},
            "The last sweep was 31 min ago, more than 2 intervals. Is it running?",
        ),
        (
            {"sweep": SWEPT.model_copy(update={"circuits": {"chunks": "EncoderCrashError"}})},
            "The stage of chunks keeps failing and is only probed: EncoderCrashError.",
        ),
        ({"consumers": {}}, "No app has ever been seen: messages in the queues are not processed."),
        (
            {"consumers": dict.fromkeys(QUEUES, NOW - timedelta(minutes=12))},
            "No app has been seen for 12 min: messages in the queues are not processed.",
        ),
        (
            {"consumers": {queue: NOW for queue in QUEUES if queue != "embedding"}},
            "Messages in embedding are not processed. Is its function disabled?",
        ),
        (
            {"documents": [DocumentsStatus("archives", "parsing", 2, 0, stuck=0, failed=0, late=2)]},
            "2 documents are not finished 1 h after arrival. The objective SLO_REPORT_MINUTES is missed.",
        ),
        (
            {
                "queues": [
                    QueueStatus("parsing", 1, 0, at_least=False, oldest_waiting=NOW - timedelta(hours=2))
                ]
            },
            "A message has waited in parsing for 2 h. The limit is 1 h.",
        ),
    ],
)
def test_each_trouble_is_said_and_makes_it_troubled(
    screen: Screen, changes: dict[str, Any], says: str
) -> None:
    found = replace(system(), **changes)
    _, said = screen.show(found)
    assert found.troubled
    assert says in said
    assert not any(line.startswith("Everything is running") for line in said)


def test_a_young_app_has_time_for_its_first_sweep_and_for_its_first_sign_of_life() -> None:
    young = replace(system(), sweep=None, consumers={}, started_at=NOW - timedelta(minutes=10))
    assert young.troubles == []
    older = replace(young, started_at=NOW - timedelta(minutes=12))
    assert [trouble.kind for trouble in older.troubles] == ["no_consumer"]
    old = replace(young, started_at=NOW - timedelta(minutes=31))
    assert [trouble.kind for trouble in old.troubles] == ["no_consumer", "sweep"]


def test_what_was_seen_before_is_missed_at_once_after_a_restart() -> None:
    """A timer that misses its time while the app is down runs at the start, so only a broken timer is late."""
    silent = dict.fromkeys(QUEUES, NOW - timedelta(hours=9))
    late = SWEPT.model_copy(update={"started_at": NOW - timedelta(hours=9)})
    found = replace(system(), sweep=late, consumers=silent, started_at=NOW - timedelta(minutes=1))
    assert [trouble.kind for trouble in found.troubles] == ["no_consumer", "sweep"]


def test_where_nothing_ever_ran_there_is_no_grace() -> None:
    """Nothing runs in a deployment whose app never started."""
    found = replace(system(), sweep=None, consumers={}, started_at=None)
    assert [trouble.kind for trouble in found.troubles] == ["no_consumer", "sweep"]


def test_a_queue_whose_work_takes_long_has_more_time(screen: Screen) -> None:
    waits = QueueStatus("removal", 1, 0, at_least=False, oldest_waiting=NOW - timedelta(minutes=110))
    assert not replace(system(), queues=[waits]).troubled
    assert replace(system(), queues=[replace(waits, queue="parsing")]).troubled
    older = replace(waits, oldest_waiting=NOW - timedelta(minutes=121))
    assert replace(system(), queues=[older]).troubled


def test_what_could_not_be_asked_is_named_and_nobody_says_that_all_is_well(screen: Screen) -> None:
    why = "Cosmos DB does not answer."
    found = replace(
        system(), sweep=None, consumers={}, unanswered={"sweep": why, "consumers": why, "documents": why}
    )
    _, said = screen.show(found)
    assert (found.partial, found.troubled) == (True, False)
    assert f"Not known: sweep, documents. {why}" in said
    assert not any(line.startswith("Everything is running") for line in said)
