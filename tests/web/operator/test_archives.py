"""The operator's page of reasons why an archive is not done."""

import asyncio
import uuid
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.settings.app import load_settings
from tests.support.documents import CREATED, new_archive, new_chunk, new_message
from tests.support.host import Host
from tests.web.markup import check
from tests.web.operator.test_pages import entered


async def store(environ: dict[str, str], archive: str) -> None:
    """Store an archive with failed messages that have no event."""
    failed: dict[str, Any] = {
        "lastError": "ServiceUnavailableError: <b>down</b>",
        "attemptCount": 2,
        "lastAttemptTime": CREATED,
    }
    of: dict[str, Any] = {"archive_id": archive, "archive_ids": [archive]}
    documents = [
        new_archive(archive, status="processed"),
        new_message(f"m1{archive}", **failed, **of),
        new_message(f"m2{archive}", **failed, **of),
        new_chunk(f"c1{archive}", status="failed_max_retries", lastError="RejectedItemsError: no", **of),
    ]
    clients = await Clients.connect(load_settings(environ))
    await clients.store.upsert_all(documents, Session())
    await clients.close()


def test_each_obstacle_is_shown_with_its_error_and_what_happens_next(
    host: Host, environ: dict[str, str]
) -> None:
    archive = uuid.uuid4().hex[:16]
    asyncio.run(store(environ, archive))
    assert host.get(f"/operator/archives/{archive}").status == 401
    page = host.get(f"/operator/archives/{archive}", cookie=entered(host))
    shown = check(page.text)

    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    rows = [row.text for row in shown.all("tr")][1:]
    (messages,) = [row for row in rows if "chunking" in row]
    assert "2 messages" in messages
    assert "failed, attempt 2 of 3" in messages
    assert "ServiceUnavailableError: <b>down</b>" in messages  # as text
    assert "the sweep tries it again" in messages
    assert any("failed" in row and "RejectedItemsError" in row for row in rows)
    public = check(host.get(f"/archives/{archive}").text)
    links = [link.attributes.get("href") for link in public.all("a")]
    assert f"/operator/archives/{archive}" in links


def test_an_archive_that_is_not_there_is_said_so(host: Host) -> None:
    cookie = entered(host)
    assert host.get("/operator/archives/0123456789abcdef", cookie=cookie).status == 404
    assert host.get("/operator/archives/..%2F..", cookie=cookie).status == 404
