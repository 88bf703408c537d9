"""Erased is erased: read in every container, index, blob and queue, and again after all that could bring it back."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from shared.clients.connections import Clients
from shared.core.ids import thread_id
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.upkeep.audit import Actor
from shared.upkeep.background import ThreadSelection, request_resummarizing
from shared.upkeep.erasure.run import ErasedKind, ErasureTarget, erase, plan_erasure
from tests.support.cloud import AppCloud
from tests.upkeep.erasure.traces import places_of
from tests.web.site import Site, empty_site

WORDS = {"message": "Quetzalcoatl", "person": "Xanthippe", "thread": "Brobdingnag", "archive": "Ouagadougou"}
KEPT = "Constantinople"


def mail(number: int, who: str, subject: str, body: str, parent: int | None = None) -> str:
    answers = [f"In-Reply-To: <{parent}.x@lists.example>"] if parent is not None else []
    head = [
        f"From {who}@people.example Mon Jan  1 00:00:00 2024",
        f"From: {who.capitalize()} Person <{who}@people.example>",
        f"Date: {number + 1} Jan 2024 10:00:00 +0000",
        f"Subject: {subject}",
        f"Message-ID: <{number}.x@lists.example>",
        *answers,
    ]
    return "\n".join([*head, "", body, "", ""]) + "\n"


LIST = (
    mail(0, "ada", "A plan, RFC 8446", f"I propose {KEPT} as our plan for all of the coming year.")
    + mail(1, "bo", "Re: A plan, RFC 8446", f"I object: {WORDS['message']} is the better name for that.", 0)
    + mail(2, "xanthippe", "Re: A plan, RFC 8446", "I support the plan as it stands in this mail.", 0)
    + mail(3, "cy", "Re: A plan, RFC 8446", f"I support {KEPT} as well, for what it is worth.", 0)
    + mail(10, "ada", f"About {WORDS['thread']}", f"Where is {WORDS['thread']}, does anybody here know?")
    + mail(11, "cy", f"Re: About {WORDS['thread']}", f"{WORDS['thread']} is far away, I am afraid.", 10)
)
OTHER = mail(20, "bo", f"On {WORDS['archive']}", f"We should meet in {WORDS['archive']} next spring.")
TARGETS = {
    "message": "1.x@lists.example",
    "person": "xanthippe@people.example",
    "thread": thread_id("<10.x@lists.example>", "list"),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(cloud: AppCloud) -> Iterator[Site]:
    if not DEFAULT_FOLDER.exists():
        pytest.skip("the model is not built: make model")
    with empty_site(cloud) as running:
        running.upload("list", LIST.encode())
        running.archives["other"] = running.host.ask(
            "POST", "/api/archives?source=list&filename=other.mbox", OTHER.encode()
        ).json()["archive_id"]
        for archive in list(running.archives.values()):
            running.wait_until_reported(archive)
        running.make_digests()
        yield running


@asynccontextmanager
async def connected(site: Site) -> AsyncIterator[Clients]:
    clients = await Clients.connect(site.settings)
    try:
        yield clients
    finally:
        await clients.close()


def settled(site: Site) -> None:
    """All archives that there are, are reported."""
    for item in site.json("/api/archives?source=list")["items"]:
        site.wait_until_reported(item["archive_id"])


async def erased(site: Site, kind: str, value: str) -> dict[str, int]:
    async with connected(site) as clients:
        plan = await plan_erasure(clients, ErasureTarget(ErasedKind(kind), value))
        return await erase(clients, plan, "test")


def test_what_is_erased_is_nowhere_and_does_not_come_back(site: Site) -> None:
    words = list(WORDS.values())

    async def where() -> dict[str, set[str]]:
        async with connected(site) as clients:
            return await places_of(clients, [*words, KEPT])

    before = asyncio.run(where())
    assert set(before) == {*words, KEPT}
    assert min(len(places) for places in before.values()) > 3
    targets = {**TARGETS, "archive": site.archives["other"]}
    for kind, value in targets.items():
        counts = asyncio.run(erased(site, kind, value))
        assert counts["mails_erased"] > 0, (kind, counts)
        settled(site)
        left = asyncio.run(where())
        assert WORDS[kind] not in left, (kind, left.get(WORDS[kind]))
        assert len(left[KEPT]) > 3
    # The same command again erases nothing more, and takes no summary away.
    again = asyncio.run(erased(site, "message", TARGETS["message"]))
    assert (again["mails_erased"], again["summaries"]) == (0, 0)
    thread = site.json(f"/api/threads/{thread_id('<0.x@lists.example>', 'list')}/messages")["items"]
    assert [(one["text"] == "", one["from"]["email"] == "") for one in thread] == [
        (False, False),
        (True, True),
        (True, True),
        (False, False),
    ]
    page = site.host.get(f"/threads/{thread_id('<0.x@lists.example>', 'list')}").text
    assert page.count("This message was erased.") == 2
    # again: the same files, one that grew, a summary of everything
    for content in (LIST, OTHER, LIST + OTHER + mail(30, "ada", "News", f"{KEPT} has grown by one mail.")):
        answer = site.host.ask("POST", "/api/archives?source=list&filename=again.mbox", content.encode())
        assert answer.status in {200, 202, 415}, answer.text
    settled(site)

    async def resummarize() -> None:
        async with connected(site) as clients:
            await request_resummarizing(
                clients, ThreadSelection(all=True), Actor("test"), in_background=False
            )

    asyncio.run(resummarize())
    settled(site)
    left = asyncio.run(where())
    assert set(left) == {KEPT}, left
    assert site.json("/api/search?q=grown&mode=words")["items"]
