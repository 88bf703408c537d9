"""Finding the documents that an event announces, on the local cloud."""

from collections import Counter
from typing import Any

import pytest

from shared.azure.calls import Calls
from stages.chunking import CHUNKING
from stages.parsing import PARSING
from tests.stages.mail_in import mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

THREADS = 12


async def test_chunking_reads_the_messages_of_many_threads_in_one_call(
    cloud: AppCloud, bus_service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Counter[str] = Counter()
    measured = Calls.measured

    def counting(self: Calls, operation: str, **more: Any) -> Any:
        made[operation] += 1
        return measured(self, operation, **more)

    monkeypatch.setattr(Calls, "measured", counting)
    mails = b"".join(mail(number, subject=f"Matter {number}") for number in range(THREADS))
    async with mail_in(cloud, bus_service) as place:
        parsed = await place.run(PARSING, await place.ingest(mails))
        made.clear()
        for event in parsed:
            await place.run(CHUNKING, event)
        assert len(await place.stored("chunks")) == THREADS
    assert made["read_many"] == 1
