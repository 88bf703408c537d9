"""Benchmark of pages: calls to Cosmos DB and AI Search, with few and with many threads.

    python -m benchmarks.pages [--threads 10000]

Threads of a list over more than two years, each with a report and a passage, are stored in the pipeline's
format. The benchmark calls each page as the worker does, first with a hundred threads and then with all. It
prints the calls, which must not increase, the page's bytes, its time as a multiple of a point read, and the
time of a search as a multiple of a lookup of a passage.
"""

import argparse
import asyncio
import functools
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import azure.functions as func

from shared.azure import connections
from shared.azure.calls import Calls
from shared.azure.connections import Clients, clients
from shared.azure.cosmos.session import Session
from shared.azure.search.fields import indexed_chunk
from shared.core.ids import chunk_id, chunk_set, person_id, report_id, scope_id, source_key, thread_id
from shared.core.times import stored_time
from shared.models.readings import ShownOpenCall, ShownOutcome
from shared.models.reports import Report, Summary
from shared.models.threads import Chunk, Message, Thread
from shared.models.values import ConsensusBasis, Genre, OutcomeKind, Tier
from shared.operations.provisioning import provision
from shared.settings.app import settings
from shared.views.search import SearchAsked, find
from tests.support.cloud import local_cloud, servicebus
from tests.support.index_rows import indexed
from tests.web.site import environment
from web.pages.drafts import draft_page
from web.pages.home import home_page
from web.pages.people import person_page
from web.pages.report import report_page
from web.pages.search import search_page
from web.pages.sources import source_page, timeline_page
from web.pages.thread import thread_page

START = datetime(2023, 1, 1, tzinfo=UTC)
SET = chunk_set(1, "whole")
FEW, AT_ONCE, ROUNDS, PEOPLE, DIMENSIONS = 100, 2000, 5, 400, 384
KINDS, GENRES = list(OutcomeKind), list(Genre)
Ask = tuple[Any, dict[str, str], dict[str, str]]
PAGES: dict[str, Ask] = {
    "home": (home_page, {}, {}),
    "list": (source_page, {"name": "big"}, {}),
    "list, one outcome": (source_page, {"name": "big"}, {"outcome": "accepted"}),
    "list, genre and month": (source_page, {"name": "big"}, {"genre": "call", "month": "2023-01"}),
    "list, one person": (source_page, {"name": "big"}, {"person": "p7@x.example"}),
    "list, by size": (source_page, {"name": "big"}, {"sort": "size"}),
    "months": (timeline_page, {"name": "big"}, {}),
    "draft": (draft_page, {"name": "draft-x-7"}, {}),
    "person": (person_page, {"id": person_id("p7@x.example")}, {}),
    "thread": (thread_page, {"id": thread_id("<1@x.example>", "big")}, {}),
    "versions of a series": (thread_page, {"id": thread_id("<1@x.example>", "big")}, {"view": "versions"}),
    "report": (report_page, {"id": report_id(str(UUID(int=1)))}, {}),
    "search": (search_page, {}, {"q": "subject words", "mode": "words"}),
}
MAILS = 40  # of the measured thread page


def key(number: int) -> str:
    return f"{source_key('big')}{number:016x}"


def summary_name(number: int) -> str:
    return str(UUID(int=number))


def stored(number: int) -> tuple[Thread, Report]:
    """Return a thread and its report. Every hundredth thread is a call without a result."""
    id_ = thread_id(f"<{number}@x.example>", "big")
    first = START + timedelta(hours=2 * number)
    people = [
        {"name": f"P {(number + n) % PEOPLE}", "email": f"p{(number + n) % PEOPLE}@x.example"}
        for n in range(5)
    ]
    kind = KINDS[number % len(KINDS)]
    common: dict[str, Any] = {
        "created_at": first, "thread_id": id_, "source": "big", "participants": people,
        "outcome": ShownOutcome(
            kind=kind, genre=GENRES[number % len(GENRES)], tier=Tier.SAID, sentence=f"It is {kind}",
            basis=ConsensusBasis.COUNTED
        ),
        "open_call": ShownOpenCall(question="Shall we?") if number % 100 == 0 else None,
        "genre": GENRES[number % len(GENRES)], "draft_mentions": [f"draft-x-{number % 500}"],
        "first_message_date": first, "last_message_date": first + timedelta(days=number % 9),
    }  # fmt: skip
    named = {
        "id": id_,
        "root_message_id": f"<{number}@x.example>",
        "archive_id": "a" * 16,
        "sources": ["big"],
    }
    thread = Thread.model_validate(
        {
            **common, **named, "subject": f"Subject {number}", "message_count": 1 + number % 60,
            "summary_id": summary_name(number),
        }
    )  # fmt: skip
    report = Report.model_validate(
        {
            **common, "id": scope_id(id_), "report_id": report_id(summary_name(number)),
            "scope": id_, "summary_id": summary_name(number),
            "title": f"Subject {number}", "published_at": first,
            "person_ids": [person_id(person["email"]) for person in people],
        }
    )  # fmt: skip
    return thread, report


async def fill(connected: Clients, first: int, last: int) -> None:
    for start in range(first, last, AT_ONCE):
        pairs = [stored(number) for number in range(start, min(start + AT_ONCE, last))]
        await connected.store.upsert_all([thread for thread, _ in pairs], Session())
        await connected.store.upsert_all([report for _, report in pairs], Session())
        await connected.index.upsert([passage(number) for number in range(start, min(start + AT_ONCE, last))])


def passage(number: int) -> dict[str, Any]:
    """Return an indexed passage for a thread. Its vector is arbitrary, because the search is by words."""
    id_ = chunk_id(thread_id(f"<{number}@x.example>", "big"), SET, 0)
    chunk = Chunk.model_validate(
        {
            "created_at": START, "id": id_, "chunk_id": id_, "message_key": key(number),
            "message_id": f"<{number}@x.example>", "thread_id": thread_id(f"<{number}@x.example>", "big"),
            "archive_id": "a" * 16, "chunk_index": 0, "text": f"Words of subject {number}, and more words.",
            "token_count": 9, "start_offset": 0, "end_offset": 40,
            "metadata": {
                "sender": f"p{number % PEOPLE}@x.example", "sender_name": f"P {number % PEOPLE}",
                "date": stored_time(START + timedelta(hours=2 * number)), "subject": f"Subject {number}",
            },
        }
    )  # fmt: skip
    vector = [0.0] * DIMENSIONS
    vector[number % DIMENSIONS] = 1.0
    return indexed_chunk(chunk, vector, stored(number)[0], "all-MiniLM-L6-v2", stored_time(START))


async def fill_thread(connected: Clients) -> None:
    """Store the messages and the summary of a thread with a patch.

    Another thread has the patch's first version.
    """
    thread, _ = stored(1)
    other, _ = stored(2)
    title = "parser: keep the last line of a file"
    await connected.store.upsert(thread.model_copy(update={"subject": f"[PATCH v2] {title}"}), Session())
    await connected.store.upsert(other.model_copy(update={"subject": f"[PATCH] {title}"}), Session())
    mails = [
        Message.model_validate(
            {
                "created_at": START, "id": key(number), "message_key": key(number),
                "message_id": f"<1-{number}@x.example>", "thread_id": thread.id, "archive_id": "a" * 16,
                "subject": thread.subject, "date": START + timedelta(hours=number),
                "in_reply_to": "<1-0@x.example>" if number else None, "body_raw": "Words of a mail. " * 60,
                "body_normalized": "Words of a mail. " * 60, "status": "processed",
            }
        )
        for number in range(MAILS)
    ]  # fmt: skip
    await connected.store.upsert_all(mails, Session())
    summary = Summary.model_validate(
        {
            "created_at": START, "id": summary_name(1), "summary_id": summary_name(1), "scope": thread.id,
            "thread_id": thread.id, "summary_type": "thread", "title": title, "content_markdown": "",
            "content_html": "", "generated_by": "benchmark", "generated_at": START,
        }
    )  # fmt: skip
    await connected.store.upsert(summary, Session())


async def search_in_lookups(connected: Clients) -> float:
    known = chunk_id(thread_id("<1@x.example>", "big"), SET, 0)
    assert await indexed(connected.index, known) is not None
    lookup = await timed(lambda: indexed(connected.index, known))
    asked = SearchAsked.model_validate({"q": "subject words", "mode": "words"})
    return await timed(lambda: find(connected, asked)) / lookup


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


async def measure(counted: Counter[str]) -> dict[str, tuple[int, int, float]]:
    """Return each page's calls, bytes, and time as a multiple of a point read."""
    connected, known = await clients(), thread_id("<1@x.example>", "big")
    read = await timed(lambda: connected.store.find(Thread, known, Session()))
    found = {}
    for name, (declared, route, params) in PAGES.items():
        page = declared.build(None).get_user_function()
        request = func.HttpRequest("GET", "http://localhost/", params=params, route_params=route, body=b"")
        counted.clear()
        answer = await page(request)
        assert answer.status_code == 200, (name, answer.get_body()[:300])
        calls, size = counted.total(), len(answer.get_body())
        found[name] = (calls, size, await timed(functools.partial(page, request)) / read)
    return found


async def run(threads: int, counted: Counter[str]) -> None:
    connected = await clients()
    await fill(connected, 0, FEW)
    await fill_thread(connected)
    few = await measure(counted)
    await fill(connected, FEW, threads)
    await fill_thread(connected)
    many = await measure(counted)
    print(f"| page | calls with {FEW} | calls with {threads:,} | bytes | time, in point reads |")
    print("|---|---|---|---|---|")
    for name in PAGES:
        calls, size, ratio = many[name]
        print(f"| {name} | {few[name][0]} | {calls} | {size:,} | {ratio:.1f} |")
    print(f"\nA search takes {await search_in_lookups(connected):.1f} look-ups of a passage (limit 12).")
    await connections._connected.close()  # noqa: SLF001 - the process's own connections


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=10_000)
    options = parser.parse_args()
    counted: Counter[str] = Counter()
    measured = Calls.measured

    @asynccontextmanager
    async def counting(self: Calls, operation: str, **more: Any) -> AsyncIterator[None]:
        counted[operation] += 1
        async with measured(self, operation, **more):
            yield

    with tempfile.TemporaryDirectory() as folder, local_cloud() as cloud, servicebus(Path(folder)) as bus:
        chosen = cloud.settings(bus, SERVICEBUS_ADMIN_ENDPOINT=bus.addresses["admin"])
        asyncio.run(provision(chosen))
        environ = {**environment(cloud, bus, chosen), "PEOPLE_PAGES": "true"}
        with patch.dict(os.environ, environ), patch.object(Calls, "measured", counting):
            settings.cache_clear()
            asyncio.run(run(options.threads, counted))


if __name__ == "__main__":
    main()
