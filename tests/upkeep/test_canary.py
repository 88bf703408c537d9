"""The canary: hidden from readers, out in time or a trouble, and gone afterwards."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.ids import removal_id
from shared.documents.archives import Archive
from shared.documents.removals import Removal
from shared.documents.runs import Run, RunStatus
from shared.documents.sources import CANARY_SOURCE
from shared.pipeline.progress import ArchiveProgress, StageProgress
from shared.pipeline.topology import STAGES
from shared.retrieval.latest import latest_archives, source_names
from shared.retrieval.listing import ARCHIVES, THREADS
from shared.upkeep.oversight.canary import _is_out as is_out
from shared.upkeep.oversight.canary import _looked_after as looked_after
from shared.upkeep.oversight.canary import canary_archive, canary_mail, last_canary, tend_canary
from shared.upkeep.oversight.status import read_status
from shared.upkeep.oversight.system_status import AgeBounds, SystemStatus
from shared.upkeep.removal.run import run_removal
from stages.chunking import CHUNKING
from stages.parsing import PARSING
from tests.stages.mail_in import MailIn, mail_in
from tests.support.clock import with_clock
from tests.support.cloud import LocalCloud
from tests.support.measured import Measured
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
STAGE_NAMES = [stage.name for stage in STAGES]
ON = {"CANARY_INTERVAL_MINUTES": "60", "CANARY_BOUND_MINUTES": "30"}


class Canary:
    """A place where the housekeeping looks after it at times of the test's choice."""

    def __init__(self, place: MailIn) -> None:
        self.place = place
        self.measured = Measured()

    async def at(self, minutes: float) -> Run | None:
        now = NOON + timedelta(minutes=minutes)
        clients = with_clock(self.place.clients, lambda: now)
        await tend_canary(clients, now, self.measured.metrics)
        return await last_canary(clients)

    async def archive(self, note: Run | None) -> Archive | None:
        assert note is not None
        id_ = canary_archive(note)
        return await self.place.clients.store.find(Archive, id_, id_, Session())

    async def troubles(self, minutes: float) -> list[str]:
        clients = self.place.clients
        found = SystemStatus(
            NOON + timedelta(minutes=minutes),
            canary=await last_canary(clients),
            bounds=AgeBounds.from_settings(clients.settings),
        )
        return [trouble.says for trouble in found.troubles if trouble.kind == "canary"]

    async def through_chunking(self) -> None:
        """What the stages do before embedding, which stands still."""
        for ingested in await self.place.place.take_all("parsing", 1):
            for parsed in await self.place.run(PARSING, ingested):
                await self.place.run(CHUNKING, parsed)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(cloud: LocalCloud, bus_service: RunningService) -> AsyncIterator[MailIn]:
    async with mail_in(cloud, bus_service, **ON) as ready:
        yield ready


@pytest_asyncio.fixture(loop_scope="module")
async def bird(place: MailIn) -> AsyncIterator[Canary]:
    yield Canary(place)
    await place.clients.store.delete(Run, "latest", "canary", Session())
    for queue in ("parsing", "removal"):
        receiver = await place.place.receiver(queue)
        while await receiver.peek_messages(max_message_count=1):
            for message in await receiver.receive_messages(max_message_count=20, max_wait_time=10):
                await receiver.complete_message(message)


def turned_off(place: MailIn) -> Clients:
    settings = place.clients.settings.model_copy(update={"CANARY_INTERVAL_MINUTES": 0})
    return replace(place.clients, settings=settings)


async def test_none_is_sent_unless_it_is_asked_for(place: MailIn) -> None:
    clients = turned_off(place)
    await tend_canary(clients, NOON)

    assert await last_canary(clients) is None
    assert await place.stored("archives") == []
    assert (await read_status(clients)).canary is None


async def test_one_that_a_stage_holds_up_rings_until_another_comes_out(
    bird: Canary, caplog: pytest.LogCaptureFixture
) -> None:
    assert await bird.troubles(0) == [
        "No canary archive was sent yet, though CANARY_INTERVAL_MINUTES asks for it."
    ]
    first = await bird.at(0)
    await bird.through_chunking()
    assert (await bird.troubles(20), await bird.at(20)) == ([], first)
    assert await bird.troubles(31) == ["The canary archive is under way for 31 min; the bound is 30 min."]
    assert bird.measured.take("canary_runs_total") == {}

    late = await bird.at(31)
    assert late is not None
    assert late.status is RunStatus.FAILED
    assert late.errors == ["it is held up in embedding: not attempted yet"]
    assert bird.measured.take("canary_runs_total") == {("late",): 1}
    assert "did not come out: it is held up in embedding" in caplog.text
    said = "The last canary archive was not out after 30 min: it is held up in embedding: not attempted yet."
    assert await bird.troubles(35) == [said]
    assert (await bird.at(55), await bird.archive(late) is not None) == (late, True)  # to look into

    second = await bird.at(60)
    assert second is not None
    assert canary_archive(second) != canary_archive(late)
    assert await bird.troubles(65) == [said]  # the new one has yet to come out
    old = await bird.archive(late)
    assert old is not None
    assert old.removing  # its successor has come


async def test_one_of_which_something_was_given_up_is_not_out() -> None:
    """All of it is settled, but not all of it is there."""

    def progress(given_up: int) -> ArchiveProgress:
        stages = [StageProgress(name, "chunk", 2, 2) for name in STAGE_NAMES]
        stages[2] = StageProgress("embedding", "chunk", 2 - given_up, 2, given_up)
        return ArchiveProgress("a1", "processed", 0, tuple(stages))

    assert (progress(0).complete, is_out(progress(0))) == (True, True)
    assert (progress(1).complete, is_out(progress(1))) == (True, False)


async def test_readers_do_not_see_it(bird: Canary) -> None:
    store = bird.place.clients.store
    await bird.place.take_in(b"".join([_users_mail()]), "list")
    note = await bird.at(0)
    await bird.through_chunking()
    archive = await bird.archive(note)
    assert archive is not None
    assert {stored["source"] for stored in await bird.place.stored("threads")} == {"list", archive.source}
    assert archive.source == CANARY_SOURCE

    assert await source_names(bird.place.clients) == ["list"]
    assert [found.source for found in await latest_archives(bird.place.clients)] == ["list"]
    for listing in (ARCHIVES, THREADS):
        assert [found.source for found in (await listing.page(store, size=10)).items] == ["list"]
        narrowed = await listing.page(store, size=10, filters={"source": CANARY_SOURCE})
        assert narrowed.items == []


def _users_mail() -> bytes:
    return (
        b"From ada@example.org Mon Jan  1 00:00:00 2024\nFrom: ada@example.org\nSubject: Hello\n"
        b"Message-ID: <hello@example.org>\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n\nHello, all.\n\n"
    )


async def test_one_that_was_broken_off_goes_on_with_the_same_archive(bird: Canary) -> None:
    note = Run(
        id="latest", kind="canary", requested_by="timer", started_at=NOON, created_at=NOON,
        cursor={"token": bird.place.place.tag},
    )  # fmt: skip
    await bird.place.clients.store.upsert(note, Session())
    assert await bird.archive(note) is None

    assert await bird.at(5) == await last_canary(bird.place.clients)
    stored = await bird.archive(note)
    assert stored is not None
    assert stored.file_size_bytes == len(canary_mail(note))


async def test_who_looks_at_the_same_time_as_another_does_not_count_its_end_again(bird: Canary) -> None:
    note = await bird.at(0)
    assert note is not None
    await bird.at(31)
    assert bird.measured.take("canary_runs_total") == {("late",): 1}
    seen = await looked_after(bird.place.clients, note, NOON + timedelta(minutes=31), bird.measured.metrics)
    assert seen == note
    assert bird.measured.take("canary_runs_total") == {("late",): 1}


async def test_its_receipts_do_not_pile_up(bird: Canary) -> None:
    store, first = bird.place.clients.store, await bird.at(0)
    assert first is not None
    await bird.at(31)  # late
    second = await bird.at(60)
    id_ = removal_id("archive", canary_archive(first))
    done = await run_removal(id_, bird.place.clients)
    assert done.left
    assert not any(done.left.values())
    assert await store.find(Removal, id_, id_, Session()) is not None
    await bird.at(91)
    third = await bird.at(121)
    assert await store.find(Removal, id_, id_, Session()) is None
    assert second is not None
    assert third is not None
    assert third.examples == [{"archive_id": canary_archive(second)}]  # still under way


async def test_turned_off_it_goes(bird: Canary) -> None:
    note = await bird.at(0)
    clients = turned_off(bird.place)
    await tend_canary(clients, NOON + timedelta(minutes=5))

    assert await last_canary(clients) is None
    archive = await bird.archive(note)
    assert archive is not None
    assert archive.removing
