"""Threads that are processed up to their reports, on the local cloud, with the real bus."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from shared.azure.cosmos.session import Patch, Session
from shared.core.ids import message_key, scope_id, thread_id
from shared.models.reports import Report, Summary
from shared.models.threads import Chunk, Thread
from shared.operations.requeue import request_summary
from shared.pipeline.events import Event
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import MailIn, chunk_pending


class ReportedThreads:
    """Summarizes the requests on the queue of summarization, and reports the summaries."""

    def __init__(self, mail_in: MailIn) -> None:
        self.mail_in = mail_in
        self.clients = mail_in.clients
        self.store = mail_in.clients.store
        self._sources: dict[int, str] = {}

    def id_of(self, number: int) -> str:
        """Return the Message-ID of message `number`, under this test's own domain, because the broker drops repeats."""
        return f"<m{number}@{self.mail_in.place.tag}.org>"

    def thread_id(self, number: int) -> str:
        return thread_id(self.id_of(number), self._sources.get(number, "list"))

    def key_of(self, number: int) -> str:
        return message_key(self.id_of(number), self._sources.get(number, "list"))

    def address(self, person: str) -> str:
        return f"{person}@{self.mail_in.place.tag}.org"

    async def take_in(self, *mails: bytes, name: str = "list") -> None:
        """Process messages up to settled chunks. No summary is requested yet."""
        self._sources |= {
            int(found): name for found in re.findall(rb"\nMessage-ID: <m(\d+)@", b"".join(mails))
        }
        content = b"".join(mails).replace(b"@example.org", f"@{self.mail_in.place.tag}.org".encode())
        await self._settle(await self.mail_in.take_in(content, name))

    async def _settle(self, prepared: Sequence[Event[Any]]) -> None:
        done = {"embedding_generated": True, "embedding_model": "toy", "status": "processed"}
        for event in prepared:
            patches = [Patch(id_, set=done) for id_ in event.data.chunk_ids]
            await self.store.patch_all(Chunk, patches, Session(event.session))

    async def pass_labels_on(self) -> None:
        """Pass the labels of moved messages on to their chunks, and request the summaries of their threads."""
        prepared = await chunk_pending(self.mail_in)
        await self._settle(prepared)
        for thread in sorted({thread for event in prepared for thread in event.data.thread_ids}):
            await request_summary(self.clients, thread, Session())

    async def request(self, *numbers: int) -> None:
        for number in numbers:
            assert await request_summary(self.clients, self.thread_id(number), Session())

    async def work_off(self, expected: int) -> int:
        """Summarize and report all requests, and return their number."""
        requested = await self.mail_in.place.take_all("summarization", expected)
        for event in requested:
            self.mail_in.now += timedelta(seconds=1)  # the latest summary is the current one
            for complete in await self.mail_in.run(SUMMARIZATION, event):
                await self.mail_in.run(REPORTING, complete)
        return len(requested)

    async def thread(self, number: int) -> Thread:
        return await self.store.read(Thread, self.thread_id(number), Session())

    async def summary(self, number: int) -> Summary:
        thread = await self.thread(number)
        assert thread.summary_id is not None
        return await self.store.read(Summary, thread.summary_id, Session(), partition=thread.id)

    async def report(self, number: int) -> Report:
        thread = await self.thread(number)
        return await self.store.read(Report, scope_id(thread.id), Session(), partition=thread.id)
