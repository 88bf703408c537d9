"""Archives all the way to their reports, with vectors of our own instead of the model's."""

from datetime import UTC, datetime
from typing import Any

from shared.documents import Chunk, Status, Thread
from shared.events import Event
from shared.session import Session
from shared.store import NamedQuery, Patch
from shared.threads.readiness import ready_thread, summary_request
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.pipeline.mail_in import MailIn

PENDING = NamedQuery("pending", "chunks", "SELECT * FROM c WHERE c.embedding_generated = false")
WAITING = NamedQuery("waiting", "threads", "SELECT * FROM c WHERE c.status = 'pending'")
CONTAINERS = ("archives", "messages", "threads", "chunks", "thread_index", "summaries", "reports")


async def embed_all(place: MailIn) -> None:
    async for each in place.clients.store.query(PENDING, Session()):
        thread = await place.clients.store.read(Thread, each["thread_id"], each["thread_id"], Session())
        named = ("message_key", "message_id", "thread_id", "archive_id", "chunk_index", "text", "token_count")
        vector = {
            "chunk_id": each["id"],
            "embedding": [1.0, 0.0, 0.0, 0.5],
            "source": thread.source,
            "embedding_date": datetime.now(UTC).isoformat(),
        }
        await place.clients.index.upsert([{**vector, **{name: each[name] for name in named}}])
        done = {"embedding_generated": True, "embedding_model": "toy", "status": Status.PROCESSED.value}
        await place.clients.store.patch(Chunk, Patch(each["id"], each["thread_id"], set=done), Session())


async def finish(place: MailIn) -> None:
    """Embed, summarise and report whatever waits for it."""
    await embed_all(place)
    waiting = [each["id"] async for each in place.clients.store.query(WAITING, Session())]
    for thread in waiting:
        ready = await ready_thread(place.clients, thread, Session())
        assert ready is not None, f"thread {thread} is not ready"
        request = Event.of(summary_request(thread, ready.version, place.clients.settings))
        for complete in await place.run(SUMMARIZATION, request):
            await place.run(REPORTING, complete)


async def take_all_in(place: MailIn, content: bytes, name: str = "list") -> str:
    """The archive's id."""
    await place.take_in(content, name)
    await finish(place)
    (archive,) = [each["id"] for each in await place.stored("archives") if each["source"] == name]
    return str(archive)


async def everything(place: MailIn) -> dict[str, Any]:
    """All that is stored, and where each vector says that it belongs."""
    found: dict[str, Any] = {
        name: await place.stored(name, "attemptCount", "content_hash", "generated_at", "published_at")
        for name in CONTAINERS
    }
    hits = await place.clients.index.search("*", top=1000)
    found["vectors"] = sorted(
        (hit.chunk_id, hit.payload["thread_id"], hit.payload["archive_id"], hit.payload["source"])
        for hit in hits
    )
    return found
