"""A message read from its archive: its own content, other content under its id, and a changed file."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.cosmos.session import Session
from shared.core.concurrency import QueueFullError
from shared.core.errors import NotFoundError
from shared.core.ids import message_key, thread_id
from shared.ingestion.archive_reader import opened_archive
from shared.ingestion.archive_source import ArchivePath
from shared.models.sources import Archive
from shared.models.threads import Message
from shared.views import mails
from shared.views.mails import original_bytes, original_mail
from tests.stages.mail_in import NOW, MailIn, archive_of, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

HONEST = mail(1, subject="Before it") + mail(0, subject="A plan", body="I object.\n\n>From here on, too.")
FORGED = mail(0, subject="A plan", body="I support this.")
KEY, THREAD = message_key("<m0@example.org>", "list"), thread_id("<m0@example.org>", "list")


async def stored(place: MailIn) -> Message:
    return await place.clients.store.read(Message, KEY, Session())


async def test_each_copy_is_read_from_its_own_place(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(HONEST)
        await place.take_in(FORGED, arrived=NOW.replace(year=NOW.year + 1))
        message = await stored(place)
        assert message.conflicts == 1
        first, second = [await original_mail(place.clients, message, number) for number in (0, 1)]
        assert first.message.body_raw == message.body_raw
        assert "From here on, too." in first.message.body_raw.splitlines()
        assert (first.message.from_, first.message.subject) == (message.from_, message.subject)
        assert first.file_hash == archive_of(HONEST).file_hash
        assert second.message.body_raw.strip() == "I support this."
        assert (second.file_hash, second.message.id) == (archive_of(FORGED).file_hash, KEY)
        assert first.is_unchanged
        assert second.is_unchanged
        with pytest.raises(NotFoundError):
            await original_mail(place.clients, message, 2)


async def test_bytes_that_are_others_now_are_said_to_be(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(HONEST)
        message, path = await stored(place), archive_of(HONEST).file_path
        changed = HONEST.replace(b"I object", b"I accept")
        await place.clients.blobs.upload(ARCHIVES_CONTAINER, path, changed)
        assert not (await original_mail(place.clients, message, 0)).is_unchanged
        await place.clients.blobs.upload(ARCHIVES_CONTAINER, path, HONEST[:10])
        assert await original_bytes(place.clients, message) == b""
        with pytest.raises(NotFoundError, match="no longer has a mail"):
            await original_mail(place.clients, message, 0)
        await place.clients.blobs.delete(ARCHIVES_CONTAINER, path)
        with pytest.raises(NotFoundError, match="no longer exists"):
            await original_mail(place.clients, message, 0)


async def test_a_packed_archive_is_unpacked_for_operators_alone_and_for_a_few_at_a_time(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await place.take_in(HONEST)
        message, archive = await stored(place), archive_of(HONEST)
        packed = await place.clients.store.read(Archive, archive.id, Session())
        await place.clients.store.upsert(packed.model_copy(update={"format": "mbox.gz"}), Session())
        await place.clients.blobs.upload(ARCHIVES_CONTAINER, archive.file_path, gzip.compress(HONEST))
        with pytest.raises(NotFoundError, match="only operators can open"):
            await original_mail(place.clients, message, 0)
        shown = await original_mail(place.clients, message, 0, unpacks=True)
        assert shown.message.body_raw == message.body_raw
        opening, most, here = opened_archive, 0, 0

        @asynccontextmanager
        async def counted(*given: Any) -> AsyncIterator[ArchivePath]:
            nonlocal most, here
            here += 1
            most = max(most, here)
            try:
                async with opening(*given) as path:
                    yield path
            finally:
                here -= 1

        monkeypatch.setattr(mails, "opened_archive", counted)
        asked = (original_bytes(place.clients, message) for _ in range(16))
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert most == mails.UNPACKED_AT_ONCE
        assert [type(answer) for answer in answers] == [bytes] * 10 + [QueueFullError] * 6
