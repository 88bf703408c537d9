"""Every citation in every stored summary of all real archives resolves and verifies, through the stages."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from shared.pipeline.event_types import SummarizationRequested
from shared.pipeline.events import Event
from shared.summarization.digests import refresh_due
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import MailIn, mail_in
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.mail_data import WHY_SKIPPED, archives
from tests.support.services import RunningService

SMALL_BYTES = 100_000
SMALL = [path for path in archives() if path.stat().st_size < SMALL_BYTES]
LARGE = [path for path in archives() if path.stat().st_size >= SMALL_BYTES]
AT_ONCE = 8

pytestmark = pytest.mark.skipif(not SMALL, reason=WHY_SKIPPED)


def request(thread: str) -> Event[SummarizationRequested]:
    return event_of(
        SummarizationRequested(
            thread_ids=[thread],
            top_k=12,
            llm_backend="extractive",
            llm_model="extractive-v1",
            context_window_tokens=3000,
            prompt_template="consensus-summary-v1",
            content_hashes=["v1"],
        )
    )


async def report_all(place: MailIn) -> int:
    """Summarize and report every thread, and return their number."""
    threads = [thread["id"] for thread in await place.stored("threads") if thread["merged_into"] is None]
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(thread: str) -> None:
        async with gate:
            (complete,) = await place.run(SUMMARIZATION, request(thread))
            await place.run(REPORTING, complete)

    await asyncio.gather(*(one(thread) for thread in threads))
    return len(threads)


def faults(summary: dict[str, Any], chunks: dict[str, Any], messages: dict[str, Any]) -> list[str]:
    """Return the faults of each citation, of each claim's citations, and of each stance's sentence."""
    found = []
    for citation in summary["citations"]:
        chunk, message = chunks.get(citation["chunk_id"]), messages.get(citation["message_key"])
        start, quote = citation["offset"], citation["quote"]
        if chunk is None or message is None:
            found.append(f"{citation}: its chunk or message is not there")
        elif chunk["text"][start : start + len(quote)] != quote or not quote.strip():
            found.append(f"{citation}: the quote does not stand at its offset")
        elif (
            chunk["message_key"] != citation["message_key"] or message["message_id"] != citation["message_id"]
        ):
            found.append(f"{citation}: it names another message than its chunk's")
    found += [
        f"{claim}: it is not cited"
        for claim in summary["claims"]
        if not claim["citations"] or max(claim["citations"]) >= len(summary["citations"])
    ]
    for stance in summary["stances"]:
        body = messages[stance["message_key"]]["body_normalized"]
        if stance["quote"] is not None and body[stance["start"] : stance["end"]] != stance["quote"]:
            found.append(f"{stance}: the sentence does not stand at its place")
    return found


async def check(place: MailIn, path: Path) -> None:
    content = await asyncio.to_thread(path.read_bytes)
    await place.take_in(content, path.name.partition(".")[0])
    threads = await report_all(place)
    digests = await refresh_due(place.clients, place.now, limit=5000)
    chunks = {chunk["id"]: chunk for chunk in await place.stored("chunks")}
    messages = {message["id"]: message for message in await place.stored("messages")}
    summaries = await place.stored("summaries")
    assert len(await place.stored("reports")) == threads
    assert len([summary for summary in summaries if summary["summary_type"] == "thread"]) == threads
    if any(message["date"] for message in messages.values()):
        assert digests
        assert len(summaries) > threads
    wrong = [fault for summary in summaries for fault in faults(summary, chunks, messages)]
    assert wrong == []
    cited = sum(len(summary["citations"]) for summary in summaries)
    assert cited or not chunks
    print(f"\n{path.name}: {threads} threads, {len(summaries)} summaries, {cited} citations, all hold")


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
@pytest.mark.requirement("R-503")
async def test_every_citation_of_an_archive_holds(
    cloud: AppCloud, bus_service: RunningService, path: Path
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await check(place, path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.name)
@pytest.mark.requirement("R-503")
async def test_every_citation_of_a_large_archive_holds(
    cloud: AppCloud, bus_service: RunningService, path: Path
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await check(place, path)
