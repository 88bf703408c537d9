"""An archive's progress during processing, on the local cloud."""

from typing import Any

import pytest

from shared.azure.cosmos.session import Patch, Session
from shared.models.sources import Archive
from shared.models.threads import Chunk, Thread
from shared.pipeline.events import Event
from shared.pipeline.progress import ArchiveProgress, archive_progress
from shared.pipeline.readiness import ready_thread
from shared.pipeline.topology import STAGES
from stages.chunking import CHUNKING
from stages.parsing import PARSING
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import MailIn, mail, mail_in
from tests.stages.test_parsing import at
from tests.stages.test_reporting import ROOT, THREAD, request
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.services import RunningService


async def progress(place: MailIn, archive: Event[Any]) -> ArchiveProgress:
    return await archive_progress(place.clients, archive.data.archive_id)


def figures(found: ArchiveProgress) -> dict[str, tuple[int, int, int]]:
    return {stage.name: (stage.done, stage.total, stage.failed) for stage in found.stages}


async def embed(place: MailIn) -> None:
    done = {"embedding_generated": True, "status": "processed"}
    chunks = [
        Patch(chunk["id"], set=done)
        for chunk in await place.stored("chunks")
        if not chunk["embedding_generated"]
    ]
    await place.clients.store.patch_all(Chunk, chunks, Session())


async def asked_for(place: MailIn) -> str:
    """Request the current version as orchestration does."""
    ready = await ready_thread(place.clients, ROOT, Session())
    assert ready is not None
    asked = Patch(ROOT, set={"content_hash": ready.version})
    await place.clients.store.patch(Thread, asked, Session())
    return ready.version


async def report(place: MailIn) -> None:
    """Report as the later stages do, without an encoder."""
    await embed(place)
    version = await asked_for(place)
    for complete in await place.run(SUMMARIZATION, event_of(request(version))):
        await place.run(REPORTING, complete)


async def test_progress_follows_an_archive_through_all_stages(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await place.ingest(THREAD)
        found = await progress(place, archive)
        assert tuple(stage.name for stage in found.stages) == tuple(row.name for row in STAGES)
        assert (found.percent, found.complete, figures(found)["parsing"]) == (0, False, (0, 1, 0))

        (parsed,) = await place.run(PARSING, archive)
        found = await progress(place, archive)
        assert figures(found)["parsing"] == (1, 1, 0)
        assert figures(found)["chunking"] == (0, 4, 0)
        seen = [found.percent]

        await place.run(CHUNKING, parsed)
        found = await progress(place, archive)
        assert figures(found)["chunking"] == (4, 4, 0)
        assert figures(found)["embedding"] == (0, 4, 0)
        assert figures(found)["orchestration"] == (0, 1, 0)
        seen.append(found.percent)

        await embed(place)
        seen.append((await progress(place, archive)).percent)
        version = await asked_for(place)
        found = await progress(place, archive)
        assert figures(found)["orchestration"] == (1, 1, 0)
        seen.append(found.percent)

        (complete,) = await place.run(SUMMARIZATION, event_of(request(version)))
        found = await progress(place, archive)
        assert (figures(found)["summarization"], found.complete) == ((1, 1, 0), False)
        seen.append(found.percent)
        await place.run(REPORTING, complete)
        found = await progress(place, archive)
        assert (figures(found)["reporting"], found.complete, found.gaps) == ((1, 1, 0), True, [])
        assert [*seen, found.percent] == [16, 33, 50, 66, 83, 100]


async def test_a_thread_that_grows_is_not_reported_until_its_new_summary_is(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(THREAD)
        await report(place)
        more = await place.ingest(mail(4, parent=2, body="I still object to this."))
        (parsed,) = await place.run(PARSING, more)
        found = await progress(place, more)
        assert (figures(found)["reporting"], found.complete) == ((0, 1, 0), False)
        await place.run(CHUNKING, parsed)
        await report(place)
        assert (await progress(place, more)).complete


async def test_an_archive_that_brings_other_content_of_a_message_is_not_complete_before_that_is_embedded(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    bodies = [mail(0, body=f"I propose number {number}.") for number in range(2)]
    first, last = bodies
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(last, arrived=at(1))
        await report(place)
        archive = await place.ingest(first)
        (parsed,) = await place.run(PARSING, archive)
        found = await progress(place, archive)
        assert (figures(found)["reporting"], found.complete) == ((0, 1, 0), False)
        await place.run(CHUNKING, parsed)
        assert not (await progress(place, archive)).complete
        await report(place)
        assert (await progress(place, archive)).complete


@pytest.mark.requirement("R-411")
async def test_what_was_given_up_is_counted_and_named_and_holds_nothing_up(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await place.ingest(THREAD)
        (parsed,) = await place.run(PARSING, archive)
        await place.run(CHUNKING, parsed)
        await embed(place)
        given_up = {"status": "failed_max_retries", "lastError": "X: no"}
        await place.clients.store.patch(Thread, Patch(ROOT, set=given_up), Session())
        chunk = (await place.stored("chunks"))[0]["id"]
        lost = {**given_up, "embedding_generated": False}
        await place.clients.store.patch(Chunk, Patch(chunk, set=lost), Session())
        found = await progress(place, archive)
        assert found.complete
        assert figures(found)["embedding"] == (3, 4, 1)
        assert found.gaps == [
            "1 chunk could not be embedded (missing in semantic search)",
            "1 thread could not be reported (no current report)",
        ]


async def test_an_archive_that_could_not_be_read_says_so(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place:
        archive = await place.ingest(b"no mail at all")
        id_ = archive.data.archive_id
        await place.clients.store.patch(Archive, Patch(id_, set={"status": "failed"}), Session())
        found = await progress(place, archive)
        assert (found.failed, found.complete, found.percent) == (True, False, 0)
        assert found.gaps == ["1 archive could not be parsed"]
