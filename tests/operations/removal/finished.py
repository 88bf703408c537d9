"""Archives processed up to their reports, with the tests' vectors instead of the model's."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.azure.cosmos.session import Patch, Session
from shared.azure.search.fields import archives_of_chunk
from shared.models.base import ProcessingStatus
from shared.models.containers import read_document
from shared.models.queries.named_query import NamedQuery
from shared.models.records import FailureRecord
from shared.models.threads import Chunk, Thread
from shared.pipeline.event_builders import summary_request
from shared.pipeline.readiness import ready_thread
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.stages.mail_in import MailIn, archive_of, chunk_pending, mail
from tests.support.documents import CREATED
from tests.support.events import event_of

PENDING = NamedQuery("pending", "chunks", "SELECT * FROM c WHERE c.status = 'pending'")
WAITING = NamedQuery("waiting", "threads", "SELECT * FROM c WHERE c.status = 'pending'")
CONTAINERS = ("archives", "messages", "threads", "chunks", "summaries", "reports")

NOW = datetime(2026, 3, 11, 12, 0, tzinfo=UTC)
LONG = "I think that this is right, and here is why it is so."
SHARED = mail(1, parent=0, body=f"I support this. {LONG}")
FIRST = (
    mail(0, subject="Require TLS 1.3", body=f"I propose TLS 1.3. {LONG}")
    + SHARED
    + mail(5, subject="Lunch", body=f"Where do we eat? {LONG}")
)
SECOND = SHARED + mail(2, parent=1, body=f"I object. {LONG}") + mail(7, subject="Other", body=LONG)
# Without m6, which answers one and is answered by the other, m3 and m4 are unrelated.
APART = mail(3, subject="One", body=LONG) + mail(4, parent=6, subject="Two", body=LONG)
BRIDGE = mail(6, parent=3, subject="Both", body=LONG)
STEPS = [
    "marked", "letters_counted", "letters", "counted", "committed", "chunks", "derived", "messages",
    "shared", "entries", "thread", "failures_counted", "failures", "blob", "recorded", "archive",
]  # fmt: skip


# The receipt after FIRST is deleted and SECOND stays, with a planted failure: m0 and m5 go, m1 stays.
RECEIPT = {
    "messages": 2, "messages_kept": 1, "chunks": 2, "vectors": 2, "threads": 1, "threads_rebuilt": 1,
    "summaries": 3, "reports": 2, "failures": 1, "archives": 1, "blobs": 1,
    "dead_letters": 0, "archived_letters": 0,
}  # fmt: skip


UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class Clock:
    def __init__(self, start: datetime = NOW) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


async def embed_all(place: MailIn) -> None:
    async for document in place.clients.store.query(PENDING, Session()):
        thread = await place.clients.store.read(Thread, document["thread_id"], Session())
        named = ("message_key", "message_id", "thread_id", "chunk_index", "text", "token_count")
        vector = {
            **archives_of_chunk(read_document(Chunk, document)),
            "chunk_id": document["id"],
            "embedding": [1.0, 0.0, 0.0, 0.5],
            "source": thread.source,
            "embedding_date": datetime.now(UTC).isoformat(),
        }
        await place.clients.index.upsert([{**vector, **{name: document[name] for name in named}}])
        done = {
            "embedding_generated": True,
            "embedding_model": "toy",
            "status": ProcessingStatus.PROCESSED.value,
        }
        await place.clients.store.patch(Chunk, Patch(document["id"], set=done), Session())


async def finish(place: MailIn) -> None:
    """Embed, summarize and report all waiting documents."""
    await chunk_pending(place)
    await embed_all(place)
    waiting = [document["id"] async for document in place.clients.store.query(WAITING, Session())]
    for thread in waiting:
        ready = await ready_thread(place.clients, thread, Session())
        assert ready is not None, f"thread {thread} is not ready"
        request = event_of(summary_request(thread, ready.version, place.clients.settings))
        for complete in await place.run(SUMMARIZATION, request):
            await place.run(REPORTING, complete)


async def take_all_in(place: MailIn, content: bytes, name: str = "list", **options: datetime) -> str:
    """Ingest an archive up to its reports, and return its id."""
    await place.take_in(content, name, **options)
    await finish(place)
    return archive_of(content, name).id


async def everything(place: MailIn) -> dict[str, Any]:
    """Return everything that is stored, with the thread, archive and source of each vector."""
    found: dict[str, Any] = {
        name: await place.stored(
            name,
            "attemptCount",
            "content_hash",
            "generated_at",
            "published_at",
            "summary_number",
            "text_version",
            "chunk_set",
            "replaced",
        )
        for name in CONTAINERS
    }
    hits = await place.clients.index.search("*", top=1000)
    found["vectors"] = sorted(
        (hit.chunk_id, hit.payload["thread_id"], hit.payload["archive_id"], hit.payload["source"])
        for hit in hits
    )
    return {name: _untimed(rows) for name, rows in found.items()}


def _untimed(rows: list[Any]) -> list[Any]:
    """Remove the text versions in the ids of chunks, and the ids of summaries."""
    texts = [json.dumps(row, sort_keys=True) for row in rows]
    short = [re.sub(r"([0-9a-f]{20})-[0-9]{13}-", r"\1-", text) for text in texts]
    return [json.loads(text) for text in sorted(re.sub(UUID, "a summary", text) for text in short)]


async def drain(place: MailIn) -> None:
    """Empty the queues of requests that removals send, because no worker handles them in these tests."""
    for queue in ("removal", "summarization"):
        receiver = await place.place.receiver(queue)
        while await receiver.peek_messages(max_message_count=1):
            for message in await receiver.receive_messages(max_message_count=20, max_wait_time=5):
                await receiver.complete_message(message)


async def put_failure(place: MailIn, archive: str) -> None:
    failure = FailureRecord(created_at=CREATED,
        id=f"parsing-{archive}-1", stage="parsing", original_event={"data": {"archive_id": archive}},
        idempotency_key=f"parsing-{archive}", attempt_count=1, last_error="X: y", error_type="X",
        error_kind="permanent", error_hash="h", abandoned_reason="r", service_name="parsing", timestamp=NOW,
    )  # fmt: skip
    await place.clients.store.upsert(failure, Session())
