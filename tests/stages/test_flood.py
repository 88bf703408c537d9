"""Thousands of short replies to one message, which anyone can send, are parsed."""

import pytest

from stages.parsing import PARSING
from tests.stages.mail_in import mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

REPLIES = 15_000


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_fifteen_thousand_replies_to_one_mail_are_stored(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    """Without a limit the thread's document exceeds the maximum of Cosmos DB, and the archive fails."""
    content = mail(0) + b"".join(mail(number, parent=0, body="+1") for number in range(1, REPLIES + 1))
    async with mail_in(cloud, bus_service) as place:
        await place.run(PARSING, await place.ingest(content))
        threads = await place.stored("threads")
        assert len(await place.stored("messages")) == REPLIES + 1
        assert sum(thread["message_count"] for thread in threads) == REPLIES + 1
        assert 1000 < max(thread["message_count"] for thread in threads) < REPLIES
