"""A thread of 300 messages and a list of 2,000 threads, stored as the pipeline stores them."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.ids import source_key, thread_id
from shared.mail.segments import NormalizedBody, segment
from shared.models.readings import ShownOutcome
from shared.models.threads import Address, Message, Thread
from shared.models.values import ConsensusBasis, OutcomeKind, Tier
from shared.settings.app import Settings

MAILS, THREADS = 300, 2000
START = datetime(2024, 3, 1, 9, tzinfo=UTC)
LONG = thread_id("<long-0@example.org>", "long")
PEOPLE = ["Ada Example", "Bo Example", "Cy Example", "Di Example", "Ed Example"]
QUOTED = "".join(f"> Line {number} of what was said before.\n" for number in range(8))
WORDS = "These are words of a long discussion, which goes on & on in lines of <about> this length.\n" * 12
DIFF = """diff --git a/parser.c b/parser.c
--- a/parser.c
+++ b/parser.c
@@ -1,3 +1,3 @@
 int line;
-int lost;
+int kept;
 done();
"""


def _mail(number: int) -> Message:
    """Give each message three answers, for subthreads. Every tenth message has a patch."""
    patch = f"\n{DIFF}" if number % 10 == 0 else ""
    text = f"{PEOPLE[number % 5]} wrote:\n{QUOTED}\nThis is mail {number}.\n\n{WORDS}{patch}"
    body = NormalizedBody(text, segment(text))
    id_ = f"{source_key('long')}{number + 1:016x}"
    return Message.model_validate(
        {
            "created_at": START, "id": id_, "message_key": id_, "message_id": f"<long-{number}@example.org>",
            "archive_id": "a" * 16, "thread_id": LONG, "source": "long",
            "in_reply_to": f"<long-{(number - 1) // 3}@example.org>" if number else None,
            "from_": Address(name=PEOPLE[number % 5], email=f"p{number % 5}@example.org"),
            "subject": "[PATCH v2] parser: keep the last line of a file",
            "date": START + timedelta(hours=number), "body_raw": text, "body_normalized": body.text,
            "segments": [{"kind": kind.value, "start": at, "end": end} for kind, at, end in segment(text)],
            "status": "processed",
        }
    )  # fmt: skip


def _thread(number: int, **more: Any) -> Thread:
    root = f"<many-{number}@example.org>"
    id_ = thread_id(root, more.get("source", "many"))
    at = START + timedelta(hours=number)
    kind = list(OutcomeKind)[number % len(OutcomeKind)]
    values: dict[str, Any] = {
        "created_at": START, "id": id_, "thread_id": id_, "root_message_id": root,
        "archive_id": "a" * 16, "source": "many", "sources": ["many"], "subject": f"Subject number {number}",
        "message_count": 3, "first_message_date": at, "last_message_date": at, "status": "processed",
        "summary_id": f"s{number}",
        "outcome": ShownOutcome(
            kind=kind, tier=Tier.SAID, sentence=f"It came out as {kind.value}, number {number}.",
            basis=ConsensusBasis.COUNTED, quote="These words show it." if number % 2 else "",
        ),
    }  # fmt: skip
    return Thread.model_validate({**values, **more})


def long_thread() -> tuple[Thread, list[Message]]:
    thread = _thread(
        0, id=LONG, thread_id=LONG, root_message_id="<long-0@example.org>", source="long", sources=["long"],
        subject="[PATCH v2] parser: keep the last line of a file", message_count=MAILS,
    )  # fmt: skip
    return thread, [_mail(number) for number in range(MAILS)]


def store_long_mail(settings: Settings) -> None:
    async def store() -> None:
        connected = await Clients.connect(settings)
        try:
            thread, mails = long_thread()
            before = _thread(
                THREADS,
                source="long",
                sources=["long"],
                subject="[PATCH] parser: keep the last line of a file",
            )
            await connected.store.upsert_all([thread, before], Session())
            await connected.store.upsert_all(mails, Session())
            await connected.store.upsert_all([_thread(number) for number in range(THREADS)], Session())
        finally:
            await connected.close()

    asyncio.run(store())
