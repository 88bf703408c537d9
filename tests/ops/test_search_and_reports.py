"""Searches and reports on the command line, and the move of the index to another model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.search.versions import version_name
from stages.embedding import EMBEDDING
from tests.operations.removal.finished import finish
from tests.ops.commands import Commands
from tests.ops.environment import OpsPlace
from tests.stages.mail_in import MailIn, mail
from tests.support.cloud import AppCloud
from tests.support.openai_server import OpenAIServer, refusal
from tests.support.services import RunningService
from tests.support.toy_stages import DIMENSIONS, bench

pytestmark = pytest.mark.asyncio(loop_scope="module")
MODEL, BETTER = "toy-1", "toy-2"
CONTENT = b"".join(
    [
        mail(0, subject="Receipts", body="I propose that a receipt is valid for seven days."),
        mail(1, parent=0, subject="Re: Receipts", body="+1. I support seven days."),
        mail(2, parent=0, subject="Re: Receipts", body="I support this proposal."),
        mail(9, subject="Lunch", body="Where do we eat \x1b[31m on Tuesday?"),
    ]
)


@asynccontextmanager
async def endpoint(dimension: int = DIMENSIONS) -> AsyncIterator[OpenAIServer]:
    server = OpenAIServer(dimension)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def model_settings(server: OpenAIServer, model: str) -> dict[str, str]:
    return {
        "EMBEDDING_BACKEND": "openai",
        "EMBEDDING_MODEL": model,
        "EMBEDDING_ENDPOINT": server.address,
        "EMBEDDING_API_KEY": "k",
        "EMBEDDING_DIMENSION": str(server.dimension),
    }


@asynccontextmanager
async def read_mail(cloud: AppCloud, bus: RunningService, server: OpenAIServer) -> AsyncIterator[OpsPlace]:
    """Two threads that are processed up to their reports."""
    async with bench(cloud.settings(bus, **model_settings(server, MODEL))) as ready:
        place = MailIn(ready)
        await ready.clients.blobs.ensure_container(ARCHIVES_CONTAINER)
        for prepared in await place.take_in(CONTENT, "tally"):
            await place.run(EMBEDDING, prepared)
        await finish(place)
        yield OpsPlace(ready, bus)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[OpenAIServer]:
    async with endpoint() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(
    cloud: AppCloud, bus_service: RunningService, server: OpenAIServer
) -> AsyncIterator[OpsPlace]:
    async with read_mail(cloud, bus_service, server) as ready:
        yield ready


@pytest.fixture
def ops(place: OpsPlace, tmp_path: Path) -> Commands:
    return Commands(place, tmp_path)


async def test_mail_is_found_by_words_and_by_meaning(ops: Commands, server: OpenAIServer) -> None:
    asked = len(server.requests)
    found = (await ops("search", "receipt valid", "--limit", "3", "--json")).json()
    assert (found["query"], found["mode"]) == ("receipt valid", "hybrid")
    assert 1 <= found["total"] <= len(found["items"])
    (first,) = [item for item in found["items"] if item["subject"] == "Receipts"]
    assert first["from"] == {"name": "Ada Example", "email": "ada@example.org"}
    assert "seven days" in first["text"]
    assert first["links"]["page"].startswith(f"/threads/{first['thread_id']}")
    assert len(server.requests) == asked + 1
    by_words = (await ops("search", "Tuesday", "--words", "--json")).json()
    assert (by_words["mode"], [item["subject"] for item in by_words["items"]]) == ("words", ["Lunch"])
    assert len(server.requests) == asked + 1


async def test_a_question_is_answered_in_the_mails_own_words(ops: Commands) -> None:
    answer = (await ops("ask", "How long is a receipt valid?", "--json")).json()
    (thread, *_) = answer["threads"]
    assert "I propose that a receipt is valid for seven days." in [one["text"] for one in thread["sentences"]]
    shown = await ops("ask", "How long is a receipt valid?")
    assert '"I propose that a receipt is valid for seven days." - Ada Example' in shown.out
    assert (await ops("ask", "form:leo why")).code == 2


async def test_found_mail_is_a_table_for_people_and_steers_no_terminal(ops: Commands) -> None:
    shown = await ops("search", "Tuesday", "--words", "--source", "tally")
    assert (shown.code, shown.err) == (0, "")
    assert "Lunch: Where do we eat" in shown.out
    assert "\x1b" not in shown.out
    nothing = await ops("search", "zebracorn", "--words")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "No results.\n")
    assert (await ops("search", "Tuesday", "--words", "--source", "other")).out == ""


async def test_without_the_model_a_search_goes_on_by_words_and_says_so(
    ops: Commands, server: OpenAIServer
) -> None:
    server.answers.append(refusal(503, "no"))
    shown = await ops("search", "Tuesday")
    assert (shown.code, "Lunch" in shown.out) == (0, True)
    assert shown.err.startswith("Semantic search is not available right now")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search", ""], "QUERY: String should have at least 1 character\n"),
        (["search", "x" * 401], "QUERY: String should have at most 400 characters\n"),
        (["search", "x", "--source", "../x"], "--source: String should match pattern"),
        (["search", "x", "--limit", "51"], "Invalid value for '--limit'"),
    ],
)
async def test_a_search_that_cannot_be_is_one_line_and_exit_code_2(
    ops: Commands, arguments: list[str], said: str
) -> None:
    ended = await ops(*arguments)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(said)


async def test_reports_are_listed_and_one_is_printed_with_its_citations(ops: Commands) -> None:
    listed = (await ops("report", "--json")).json()
    assert [row["published_at"] for row in listed] == sorted(
        (row["published_at"] for row in listed), reverse=True
    )
    by_title = {row["title"]: row for row in listed}
    (agreed,) = [report for title, report in by_title.items() if "Receipts" in title]
    assert (len(listed), agreed["source"], agreed["summary_type"]) == (2, "tally", "thread")
    assert (await ops("report", "--source", "other", "--json")).json() == []
    assert len((await ops("report", "--limit", "1", "--json")).json()) == 1
    shown = await ops("report")
    assert {row["id"] for row in listed} <= set(shown.out.split())

    printed = await ops("report", agreed["id"])
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.startswith("# ")
    detail = (await ops("report", agreed["id"], "--json")).json()
    citations = detail["summary"]["citations"]
    assert citations
    for number, citation in enumerate(citations, 1):
        assert citation["quote"] in CONTENT.decode().replace("\n", " ")
        assert f"[{number}]" in printed.out
        assert citation["page"].endswith(f"#c{number}")
    assert detail["report_id"] == agreed["id"]


async def test_the_index_moves_to_another_model_and_goes_live(
    cloud: AppCloud, bus_service: RunningService, server: OpenAIServer, tmp_path: Path
) -> None:
    async with (
        read_mail(cloud, bus_service, server) as place,
        endpoint(dimension=8) as longer,
    ):
        alias, versions = place.clients.settings.SEARCH_INDEX, place.clients.index.versions
        old, new = version_name(alias, MODEL), version_name(alias, BETTER)
        ops = Commands(place, tmp_path, **model_settings(longer, BETTER))
        planned = await ops("reembed", "--dry-run")
        assert planned.err == (
            f"4 of 4 chunks would be embedded with {BETTER} into index {new}, live is {old}."
            " Nothing was done.\n"
        )
        refused = await ops("reembed")
        assert (refused.code, refused.err.count("\n"), longer.requests) == (2, 1, [])
        assert await versions.look_up() == old
        done = await ops("reembed", "--yes", "--delete-old", "--json")
        assert {name: done.json()[name] for name in ("embedded", "failed", "switched", "deleted")} == {
            "embedded": 4,
            "failed": 0,
            "switched": True,
            "deleted": True,
        }
        assert await versions.look_up() == new
        audit = (await ops("audit", "--limit", "1", "--json")).json()[0]
        assert (audit["action"], audit["counts"]["embedded"]) == ("reembed", 4)
        assert (audit["status"], audit["selection"]) == ("succeeded", {"model": BETTER})
        found = (await ops("search", "receipt valid", "--json")).json()
        assert (found["mode"], len(found["items"])) == ("hybrid", 4)
        again = await ops("reembed", "--yes")
        assert again.err.splitlines()[-1].endswith(f"4 in all; index {new}, it is live.")


async def test_a_chunk_that_the_new_model_refuses_is_told_by_the_exit_code(
    cloud: AppCloud, bus_service: RunningService, server: OpenAIServer, tmp_path: Path
) -> None:
    async with read_mail(cloud, bus_service, server) as place, endpoint() as picky:
        ops = Commands(place, tmp_path, **model_settings(picky, BETTER))
        picky.answers.extend([refusal(400, "the input was filtered")] * 3)  # of four texts, two, and one
        ended = await ops("reembed", "--yes")
        assert (ended.code, ended.out) == (3, "")
        assert "1 failed" in ended.err.splitlines()[-1]
