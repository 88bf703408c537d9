"""kill -9 at every step of a requeue, a purge and a restore loses nothing and repeats only duplicates."""

import asyncio
import json
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.models.records import AuditStatus
from shared.operations.audit import Operator
from shared.operations.deadletters.diagnosis import diagnosed_dead_letters
from shared.operations.deadletters.journal import PURGE, REQUEUE, RESTORE, restorable
from shared.operations.deadletters.operations import request_operation, run_operation
from shared.pipeline.events import parse_event
from tests.ops.commands import settings_file, settings_values
from tests.ops.environment import LOCK_SECONDS, OpsPlace
from tests.support.kills import Killer, killer
from tests.support.services import ROOT

pytestmark = pytest.mark.asyncio(loop_scope="module")
ME = Operator("ada@example.org")
STEPS = ["recorded", "planned", "received", "taken", "acted", "noted", "completed"]
CHOSEN, OTHERS = 6, 3


@pytest.fixture(scope="module")
def kills() -> Iterator[Killer]:
    with killer("tests.ops.killed") as running:
        yield running


async def end_by(kills: Killer, place: OpsPlace, operation: str, step: str, nth: int = 1) -> int:
    asked = {"settings": settings_values(place), "operation": operation}
    return await asyncio.to_thread(kills.run, step, nth, **asked)


async def some_dead_letters(place: OpsPlace, chosen: int = CHOSEN, others: int = OTHERS) -> tuple[Any, str]:
    """Put dead letters of two causes, mixed. Return the events of one cause, and its group."""
    events = await place.failed_events(chosen - 1, "KeyError", "'subject'")
    await place.failed_events(others, "OSError", "disk full")
    events += await place.failed_events(1, "KeyError", "'subject'")
    (group,) = {letter.group for letter in await _diagnosed(place) if letter.cause.error_type == "KeyError"}
    return events, group


async def _diagnosed(place: OpsPlace) -> list[Any]:
    return await diagnosed_dead_letters(place.clients, ["parsing"])


async def end_of(place: OpsPlace, events: list[Any], *, at_most_twice: int) -> None:
    """Check that all chosen events were sent, the rest are still dead letters, and repeats have the same id."""
    sent = await place.waiting()
    by_event: dict[str, set[str]] = {}
    for message in sent:
        event = parse_event(b"".join(message.body))
        by_event.setdefault(event.event_id, set()).add(str(message.message_id))
    assert set(by_event) == {event.event_id for event in events}
    assert all(len(ids) == 1 for ids in by_event.values())
    assert len(sent) - len(events) <= at_most_twice
    left = await place.dead()
    assert len(left) == OTHERS
    assert {letter.cause.error_type for letter in await _diagnosed(place)} == {"OSError"}


async def killed_and_resumed(place: OpsPlace, kills: Killer, action: str, step: str, nth: int = 1) -> None:
    events, group = await some_dead_letters(place)
    audit = await request_operation(place.clients, action, {"queues": ["parsing"], "groups": [group]}, ME)
    assert await end_by(kills, place, audit.id, step, nth) == -signal.SIGKILL
    before = await place.dead()
    resumed = await run_operation(place.clients, audit.id, patience=4 * LOCK_SECONDS)
    assert resumed.status is AuditStatus.SUCCEEDED
    word = "requeued" if action == REQUEUE else "purged"
    assert (resumed.counts["planned"], resumed.counts[word], resumed.counts["left"]) == (CHOSEN, CHOSEN, 0)
    assert len(before) >= OTHERS
    if action == PURGE:
        assert await place.waiting() == []
        archived = await restorable(place.clients, audit.id)
        assert Counter(letter["message_id"] for letter in archived) == Counter(
            event.message_id for event in events
        )
        back = await request_operation(place.clients, RESTORE, {"purge": audit.id}, ME)
        assert (await run_operation(place.clients, back.id)).counts["restored"] == CHOSEN
    await end_of(place, events, at_most_twice=CHOSEN if step == "acted" else 0)


@pytest.mark.parametrize("step", ["acted", "completed"])
@pytest.mark.requirement("R-805")
async def test_a_requeue_that_is_killed_is_resumed_to_the_same_end(
    place: OpsPlace, kills: Killer, step: str
) -> None:
    await killed_and_resumed(place, kills, REQUEUE, step)


async def test_a_purge_that_is_killed_is_resumed_to_the_same_end(place: OpsPlace, kills: Killer) -> None:
    await killed_and_resumed(place, kills, PURGE, "acted")


@pytest.mark.slow
@pytest.mark.parametrize("action", [REQUEUE, PURGE])
@pytest.mark.parametrize(("step", "nth"), [*((step, 1) for step in STEPS), ("completed", 4)])
@pytest.mark.requirement("R-805")
async def test_an_operation_that_is_killed_at_any_step_is_resumed_to_the_same_end(
    place: OpsPlace, kills: Killer, action: str, step: str, nth: int
) -> None:
    await killed_and_resumed(place, kills, action, step, nth)


@pytest.mark.parametrize("step", ["acted", pytest.param("noted", marks=pytest.mark.slow)])
async def test_a_restore_that_is_killed_is_done_by_the_next(
    place: OpsPlace, kills: Killer, step: str
) -> None:
    events, group = await some_dead_letters(place)
    purge = await request_operation(place.clients, PURGE, {"queues": ["parsing"], "groups": [group]}, ME)
    assert (await run_operation(place.clients, purge.id)).status is AuditStatus.SUCCEEDED
    first = await request_operation(place.clients, RESTORE, {"purge": purge.id}, ME)
    assert await end_by(kills, place, first.id, step) == -signal.SIGKILL
    second = await request_operation(place.clients, RESTORE, {"purge": purge.id}, ME)
    assert (await run_operation(place.clients, second.id)).status is AuditStatus.SUCCEEDED
    await end_of(place, events, at_most_twice=CHOSEN if step == "acted" else 0)


@pytest.mark.slow
async def test_the_command_killed_at_random_over_and_over_ends_as_if_it_never_was(
    place: OpsPlace, tmp_path: Path
) -> None:
    """Start and kill the real command until it succeeds."""
    count = 200
    events, group = await some_dead_letters(place, chosen=count)
    audit = await request_operation(
        place.clients, REQUEUE, {"queues": ["parsing"], "groups": [group]}, ME, rate=50
    )
    command = [
        sys.executable, "-m", "ops", "--settings", str(settings_file(place, tmp_path)),
        "dlq", "requeue", "--resume", audit.id,
    ]  # fmt: skip
    randomness, kills = random.Random(7), 0
    for _ in range(30):
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
        try:
            code = await asyncio.wait_for(process.wait(), 2.0 + 4 * randomness.random() + kills)
        except TimeoutError:
            process.kill()
            await process.wait()
            kills += 1
            continue
        assert code == 0
        break
    assert kills >= 2
    resumed = await run_operation(place.clients, audit.id)
    assert (resumed.status, resumed.counts["requeued"]) == (AuditStatus.SUCCEEDED, count)
    await end_of(place, events, at_most_twice=kills * 12)  # a burst at this rate has 12


async def test_ctrl_c_stops_after_the_batch_and_says_how_to_go_on(place: OpsPlace, tmp_path: Path) -> None:
    """The real command in its own process exits with 130, leaves nothing half done, and can be resumed."""
    count = 60
    events, group = await some_dead_letters(place, chosen=count)
    base = [sys.executable, "-m", "ops", "--settings", str(settings_file(place, tmp_path)), "dlq", "requeue"]
    process = await asyncio.create_subprocess_exec(
        *base, "--group", group, "--rate", "8", "--yes", "--json",
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    while not await place.waiting():
        assert process.returncode is None
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 130
    stopped = json.loads(out)
    assert stopped["status"] == "interrupted"
    assert 0 < stopped["requeued"] < count
    assert stopped["requeued"] + stopped["left"] == count
    assert f"Resume with: dlq requeue --resume {stopped['operation']}" in err.decode()
    assert len(await place.waiting()) == stopped["requeued"]
    assert len(await place.dead()) == stopped["left"] + OTHERS
    resumed = await run_operation(place.clients, stopped["operation"])
    assert (resumed.status, resumed.counts["requeued"]) == (AuditStatus.SUCCEEDED, count)
    await end_of(place, events, at_most_twice=0)
