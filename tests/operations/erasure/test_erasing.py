"""Erased mail is in no container, index, blob or queue, also after everything that could bring it back."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.ids import thread_id
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.operations.audit import Operator
from shared.operations.background import ThreadSelection, request_resummarizing
from shared.operations.erasure.run import ErasedKind, ErasureTarget, erase, expire, plan_erasure
from shared.pipeline.event_builders import archive_ingested
from shared.pipeline.events import Event
from tests.operations.erasure.traces import places_of
from tests.stages.mail_in import archive_of
from tests.support.cloud import AppCloud, wait_for
from tests.web.site import Site, empty_site

WORDS = {"message": "Quetzalcoatl", "person": "Xanthippe", "thread": "Brobdingnag", "archive": "Ouagadougou"}
NOT_FOUND = 404
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
    with empty_site(cloud, SOURCE_ALLOWED_HOSTS="127.0.0.1") as running:
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
    """Wait until all archives are reported."""
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
    # The same command erases nothing more and deletes no summary.
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
    # Upload and fetch the same files again, a longer version, and a local file.
    grown = (LIST + OTHER + mail(30, "ada", "News", f"{KEPT} has grown by one mail.")).encode()
    for content in (LIST.encode(), OTHER.encode(), grown):
        answer = site.host.ask("POST", "/api/archives?source=list&filename=again.mbox", content)
        assert answer.status in {200, 202, 415}, answer.text
    fetch(site, grown + mail(31, "ada", "News", "Fetched, and no more.").encode())
    retained = asyncio.run(put_past_the_door(site, LIST.encode()))
    wait_for(
        lambda: site.host.get(f"/api/archives/{retained}").status == NOT_FOUND,
        seconds=60,
        what="its deletion",
    )
    settled(site)

    async def resummarize() -> None:
        async with connected(site) as clients:
            await request_resummarizing(
                clients, ThreadSelection(all=True), Operator("test"), in_background=False
            )

    asyncio.run(resummarize())
    settled(site)
    left = asyncio.run(where())
    assert set(left) == {KEPT}, left
    for word in ("grown", "Fetched"):
        assert site.json(f"/api/search?q={word}&mode=words")["items"], word


def fetch(site: Site, content: bytes) -> None:
    """Define a source and fetch it, as an operator does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Discard the server's log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever)
        url = f"http://127.0.0.1:{server.server_port}/list.mbox"
        source = json.dumps({"name": "list", "source_type": "http", "url": url})
        assert site.host.ask("POST", "/api/sources", source).status == 201
        operation = site.host.ask("POST", "/api/sources/list/trigger").json()["operation_id"]

        def fetched() -> bool:
            found = site.json(f"/api/operations/{operation}")
            assert found["status"] != "failed", found
            return bool(found["status"] == "succeeded")

        wait_for(fetched, seconds=60, what="the fetch")
        server.shutdown()


async def put_past_the_door(site: Site, content: bytes) -> str:
    """Store a file from a backup, which was never compared with the suppression list."""
    archive = archive_of(content, "list", datetime.now(UTC))
    async with connected(site) as clients:
        await clients.blobs.upload("archives", archive.file_path, content)
        assert await clients.store.create(archive, Session())
        told = archive_ingested(
            archive.id,
            archive.to_cosmos(),
            started_at=archive.ingestion_date,
            completed_at=archive.ingestion_date,
        )
        await clients.bus.publish([Event.of(told, life="restored", now=archive.ingestion_date)])
    return archive.id


def test_what_is_older_than_its_source_keeps_goes_by_itself(site: Site) -> None:
    late = datetime.now(UTC) - timedelta(days=3)
    young = mail(40, "ada", "Lately", "Ljubljana is where we meet.").replace(
        "41 Jan 2024", f"{late:%d %b %Y}"
    )
    site.upload("list", (LIST + young).encode())
    settled(site)

    async def expired() -> list[str]:
        async with connected(site) as clients:
            return await expire(clients)

    async def where() -> set[str]:
        async with connected(site) as clients:
            return set(await places_of(clients, ["Ljubljana", KEPT]))

    assert asyncio.run(expired()) == []
    assert asyncio.run(where()) == {"Ljubljana", KEPT}
    assert site.host.ask("PATCH", "/api/sources/list", '{"keep_days": 200}').status == 200
    assert asyncio.run(expired()) == ["list"]
    settled(site)
    assert asyncio.run(where()) == {"Ljubljana"}
    assert asyncio.run(expired()) == []
    # The next archive has the same date.
    site.host.ask("POST", "/api/archives?source=list&filename=again.mbox", LIST.encode())
    settled(site)
    assert asyncio.run(where()) == {"Ljubljana"}


def test_a_message_whose_other_copy_is_young_is_kept_by_that_copy(site: Site) -> None:
    """Both copies have one id. The old one goes, and nothing waits for the young one to go."""
    late = f"{datetime.now(UTC) - timedelta(days=3):%d %b %Y}"
    old = mail(50, "ada", "Twice", "Kinshasa is where we meet.")
    young = mail(50, "ada", "Twice", "Montevideo is where we meet.").replace("51 Jan 2024", late)
    old = old.replace("51 Jan 2024", "11 Jan 2024")
    definition = json.dumps({"name": "twice", "source_type": "upload", "url": "upload", "keep_days": 200})
    site.upload("twice", (old + young).encode())
    site.wait_until_reported(site.archives["twice"])
    assert site.host.ask("POST", "/api/sources", definition).status == 201

    async def expired() -> tuple[list[str], set[str]]:
        async with connected(site) as clients:
            found = await asyncio.wait_for(expire(clients), timeout=60)
            return found, set(await places_of(clients, ["Kinshasa"]))

    found, places = asyncio.run(expired())
    assert "twice" in found
    assert places == set()
