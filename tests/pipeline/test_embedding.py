"""From chunks to vectors and threads that are ready, on the local cloud with the real encoder."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from shared.documents import Chunk, Thread
from shared.embedding.instance import close_embedder, embedder
from shared.embedding.model_folder import DEFAULT_FOLDER
from shared.events import EmbeddingsGenerated, Event
from shared.ids import thread_id
from shared.index import Filters
from shared.provision import DEFAULT_DIMENSION
from shared.session import Session
from shared.store import Patch
from stages.chunking import CHUNKING
from stages.embedding import EMBEDDING
from stages.orchestration import ORCHESTRATION
from stages.parsing import PARSING
from tests.pipeline.mail_in import MailIn, mail, mail_in
from tests.support.cloud import LocalCloud
from tests.support.services import RunningService

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model"),
]
ROOT = thread_id("<m0@example.org>")
FIRST = mail(0, body="We should require TLS 1.3 for all new deployments.") + mail(
    1, parent=0, body="I object: many embedded devices cannot run it."
)
SECOND = mail(4, subject="Lunch", body="Where do we eat on Tuesday?")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def encoder() -> AsyncIterator[None]:
    """One encoder for the module: starting it takes seconds."""
    yield
    await close_embedder()


async def through(place: MailIn, content: bytes) -> list[Event[EmbeddingsGenerated]]:
    return [
        event for prepared in await place.take_in(content) for event in await place.run(EMBEDDING, prepared)
    ]


async def ready_index(place: MailIn) -> None:
    await place.clients.index._admin.delete_index(place.clients.index.name)
    await place.clients.index.ensure(DEFAULT_DIMENSION)


async def test_chunks_become_vectors_that_are_found_by_meaning(
    cloud: LocalCloud, bus_service: RunningService, encoder: None
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place)
        (event,) = await through(place, FIRST + SECOND)
        assert (event.data.embedding_count, event.data.embedding_dimension) == (3, 384)
        chunks = await place.stored("chunks")
        assert {(each["embedding_generated"], each["status"]) for each in chunks} == {(True, "processed")}
        model = await embedder(place.clients.settings)
        (question,) = await model.encode(["a place to have a meal"])
        hits = await place.clients.index.search(None, question.tolist(), filters=Filters(source="list"))
        assert hits[0].payload["text"] == "Where do we eat on Tuesday?"
        assert hits[0].payload["sender"] == "bo@example.org"


async def test_an_event_again_embeds_nothing_again_and_announces_the_same(
    cloud: LocalCloud, bus_service: RunningService, encoder: None
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place)
        (prepared,) = await place.take_in(FIRST)
        (first,) = await place.run(EMBEDDING, prepared)
        before = await place.stored("chunks")
        (second,) = await place.run(EMBEDDING, prepared)
        assert second.message_id == first.message_id
        assert await place.stored("chunks") == before


async def test_a_thread_is_asked_for_once_a_version_and_again_when_it_grows(
    cloud: LocalCloud, bus_service: RunningService, encoder: None
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place)
        (event,) = await through(place, FIRST)
        (request,) = await place.run(ORCHESTRATION, event)
        assert request.data.thread_ids == [ROOT]
        assert await place.run(ORCHESTRATION, event) == []
        (grown,) = await through(place, mail(2, parent=1, body="Then let us say SHOULD."))
        (again,) = await place.run(ORCHESTRATION, grown)
        assert again.data.content_hashes != request.data.content_hashes
        assert again.message_id != request.message_id
        thread = await place.clients.store.read(Thread, ROOT, ROOT, Session())
        assert thread.content_hash == again.data.content_hashes[0]


async def test_a_thread_with_a_message_not_chunked_yet_waits(
    cloud: LocalCloud, bus_service: RunningService, encoder: None
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place)
        (event,) = await through(place, FIRST)
        (parsed,) = await place.run(PARSING, await place.ingest(mail(2, parent=1)))
        assert await place.run(ORCHESTRATION, event) == []
        for prepared in await place.run(CHUNKING, parsed):
            for generated in await place.run(EMBEDDING, prepared):
                (request,) = await place.run(ORCHESTRATION, generated)
        assert request.data.thread_ids == [ROOT]


async def test_a_chunk_that_is_given_up_does_not_hold_its_thread_back(
    cloud: LocalCloud, bus_service: RunningService, encoder: None
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place)
        (prepared,) = await place.take_in(FIRST)
        poison = prepared.data.chunk_ids[0]
        given_up = {"status": "failed_max_retries", "lastError": "UnencodableTextError: no"}
        await place.clients.store.patch(Chunk, Patch(poison, ROOT, set=given_up), Session())
        (event,) = await place.run(EMBEDDING, prepared)
        assert poison in event.data.chunk_ids
        (request,) = await place.run(ORCHESTRATION, event)
        assert request.data.thread_ids == [ROOT]
        assert await place.clients.index.get(poison) is None
