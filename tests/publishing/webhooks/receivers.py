"""Webhook receivers that fail in several ways, and reports to deliver to them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from shared.core.ids import thread_id
from shared.pipeline.event_types import SummarizationRequested
from shared.pipeline.events import Event
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import MailIn, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.events import event_of
from tests.support.services import RunningService

SECRET = "a secret of some length"


@dataclass
class Receiver:
    """A webhook's receiver: its answers, and the requests that it got."""

    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.got.append((dict(request.headers), await request.read()))
        status, headers = self.statuses.pop(0) if self.statuses else (204, {})
        return web.Response(status=status, headers=headers)


@asynccontextmanager
async def receiving(*statuses: tuple[int, dict[str, str]]) -> AsyncIterator[Receiver]:
    receiver = Receiver(list(statuses))
    app = web.Application()
    app.router.add_post("/hook", receiver.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.port = runner.addresses[0][1]
    try:
        yield receiver
    finally:
        await runner.cleanup()


def hook(name: str, port: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "url": f"http://127.0.0.1:{port}/hook", "secret": SECRET, **more}


@asynccontextmanager
async def reporting(
    cloud: AppCloud, bus: RunningService, *hooks: dict[str, Any], **settings: str
) -> AsyncIterator[MailIn]:
    chosen = {"WEBHOOKS": json.dumps(hooks), "WEBHOOK_ALLOWED_HOSTS": "127.0.0.1", **settings}
    async with mail_in(cloud, bus, **chosen) as place:
        yield place


async def published(place: MailIn, version: str = "v1") -> Event[Any]:
    """Publish a report whose ids are unique to this test, so that the broker drops no event."""
    content = mail(0, subject="TLS", body="I propose TLS 1.3.")
    content = content.replace(b"@example.org", f"@{place.place.tag}.org".encode())
    if version == "v1":
        await place.take_in(content)
    root = thread_id(f"<m0@{place.place.tag}.org>", "list")
    request = SummarizationRequested(
        thread_ids=[root],
        top_k=12,
        llm_backend="extractive",
        llm_model="extractive-v1",
        context_window_tokens=3000,
        prompt_template="consensus-summary-v1",
        content_hashes=[version],
    )
    (complete,) = await place.run(SUMMARIZATION, event_of(request))
    (event,) = await place.run(REPORTING, complete)
    return event
