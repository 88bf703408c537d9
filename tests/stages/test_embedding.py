"""From chunks to vectors and ready threads, on the local cloud with the real encoder."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from shared.azure.cosmos.session import Patch, Session
from shared.azure.search.fields import Filters
from shared.core.errors import NotFoundError
from shared.core.ids import thread_id
from shared.embedding.encoder import Embedder
from shared.embedding.factory import EMBEDDER, open_embedder
from shared.embedding.openvino.model_folder import DEFAULT_FOLDER
from shared.models.threads import Chunk, Message, Thread
from shared.operations.provisioning import DEFAULT_DIMENSION
from shared.pipeline.event_types import EmbeddingsGenerated
from shared.pipeline.events import Event
from shared.pipeline.state.archives import mark_deleting
from shared.settings.app import load_settings
from shared.views.search import SearchAsked, find
from shared.views.threads import find_by_id, resolved_thread
from stages.chunking import CHUNKING
from stages.embedding import EMBEDDING
from stages.orchestration import ORCHESTRATION
from stages.parsing import PARSING
from tests.settings.test_app import LOCAL
from tests.stages.mail_in import MailIn, archive_of, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.index_rows import indexed, indexed_thread
from tests.support.services import RunningService

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(not DEFAULT_FOLDER.exists(), reason="the model is not built: make model"),
]
ROOT = thread_id("<m0@example.org>", "list")
FIRST = mail(0, body="We should require TLS 1.3 for all new deployments.") + mail(
    1, parent=0, body="I object: many embedded devices cannot run it."
)
SECOND = mail(4, subject="Lunch", body="Where do we eat on Tuesday?")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def encoder() -> AsyncIterator[Embedder]:
    """One encoder for the module, because its start takes seconds."""
    started = await open_embedder(load_settings(LOCAL))
    yield started
    await started.close()


async def through(place: MailIn, content: bytes) -> list[Event[EmbeddingsGenerated]]:
    return [
        event for prepared in await place.take_in(content) for event in await place.run(EMBEDDING, prepared)
    ]


async def ready_index(place: MailIn, encoder: Embedder) -> None:
    """Replace the toy's empty index."""
    place.clients.resources.give(EMBEDDER, encoder)
    await place.clients.index.versions.ensure(DEFAULT_DIMENSION)


async def test_chunks_become_vectors_that_are_found_by_meaning(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place, encoder)
        (event,) = await through(place, FIRST + SECOND)
        assert (event.data.embedding_count, event.data.embedding_dimension) == (3, 384)
        chunks = await place.stored("chunks")
        assert {(chunk["embedding_generated"], chunk["status"]) for chunk in chunks} == {(True, "processed")}
        (question,) = await encoder.encode(["a place to have a meal"])
        hits = await place.clients.index.search(None, question.tolist(), filters=Filters(source="list"))
        assert hits[0].payload["text"] == "Where do we eat on Tuesday?"
        assert hits[0].payload["sender"] == "bo@example.org"


async def test_of_an_archive_that_is_being_deleted_only_what_another_has_is_embedded(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place, encoder)
        (prepared,) = await place.take_in(FIRST + SECOND)
        await place.take_in(FIRST)
        marked = archive_of(FIRST + SECOND).id
        await mark_deleting(place.clients.store, marked, Session())
        (event,) = await place.run(EMBEDDING, prepared)
        assert event.data.chunk_threads == [ROOT, ROOT]
        embedded = {row["message_id"]: row["embedding_generated"] for row in await place.stored("chunks")}
        assert embedded == {
            "<m0@example.org>": True, "<m1@example.org>": True, "<m4@example.org>": False
        }  # fmt: skip
        assert {hit.chunk_id for hit in await place.clients.index.search("*")} == set(event.data.chunk_ids)


async def test_a_hit_leads_back_to_its_chunk_its_message_and_its_thread(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place, encoder)
        await through(place, FIRST + SECOND)
        asked = SearchAsked(q="devices", thread=ROOT)
        found = await find(place.clients, asked)
        first = found.items[0]
        chunk = await find_by_id(place.clients, Chunk, first.chunk_id)
        message = await find_by_id(place.clients, Message, first.message_key)
        assert "embedded devices" in message.body_normalized
        assert (chunk.text, chunk.message_key, message.thread_id) == (first.text, message.id, ROOT)
        assert (await resolved_thread(place.clients, first.thread_id)).id == ROOT
        senders = {(facet.value, facet.label, facet.count) for facet in found.facets["sender"]}
        assert ("ada@example.org", "Ada Example", 1) in senders
        whole = await indexed_thread(place.clients.index, ROOT)
        assert [row["text"].split()[0] for row in whole] == ["We", "I"]
        assert all(len(row["embedding"]) == DEFAULT_DIMENSION for row in whole)


async def test_a_hit_whose_message_is_gone_is_still_shown(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place, encoder)
        await through(place, SECOND)
        (chunk,) = await place.stored("chunks")
        thread, key = chunk["thread_id"], chunk["message_key"]
        await place.clients.store.delete(Message, key, Session())
        (hit,) = (await find(place.clients, SearchAsked(q="Tuesday", mode="words"))).items
        assert (hit.message_key, hit.thread_id) == (key, thread)
        with pytest.raises(NotFoundError, match="no message with this id"):
            await find_by_id(place.clients, Message, hit.message_key)


async def test_an_event_again_embeds_nothing_again_and_announces_the_same(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place, encoder)
        (prepared,) = await place.take_in(FIRST)
        (first,) = await place.run(EMBEDDING, prepared)
        before = await place.stored("chunks")
        (second,) = await place.run(EMBEDDING, prepared)
        assert second.message_id == first.message_id
        assert await place.stored("chunks") == before


async def test_a_thread_is_asked_for_once_a_version_and_again_when_it_grows(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place, encoder)
        (event,) = await through(place, FIRST)
        (request,) = await place.run(ORCHESTRATION, event)
        assert request.data.thread_ids == [ROOT]
        assert await place.run(ORCHESTRATION, event) == []
        (grown,) = await through(place, mail(2, parent=1, body="Then let us say SHOULD."))
        (again,) = await place.run(ORCHESTRATION, grown)
        assert again.data.content_hashes != request.data.content_hashes
        assert again.message_id != request.message_id
        thread = await place.clients.store.read(Thread, ROOT, Session())
        assert thread.content_hash == again.data.content_hashes[0]


async def test_a_thread_with_a_message_not_chunked_yet_waits(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place, encoder)
        (event,) = await through(place, FIRST)
        (parsed,) = await place.run(PARSING, await place.ingest(mail(2, parent=1)))
        assert await place.run(ORCHESTRATION, event) == []
        for prepared in await place.run(CHUNKING, parsed):
            for generated in await place.run(EMBEDDING, prepared):
                (request,) = await place.run(ORCHESTRATION, generated)
        assert request.data.thread_ids == [ROOT]


@pytest.mark.requirement("R-411")
async def test_a_chunk_that_is_given_up_does_not_hold_its_thread_back(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    async with mail_in(cloud, bus_service) as place:
        await ready_index(place, encoder)
        (prepared,) = await place.take_in(FIRST)
        poison = prepared.data.chunk_ids[0]
        given_up = {"status": "failed_max_retries", "lastError": "UnencodableTextError: no"}
        await place.clients.store.patch(Chunk, Patch(poison, set=given_up), Session())
        event, told = await place.run(EMBEDDING, prepared)
        assert poison in event.data.chunk_ids
        assert told.data.chunk_ids == [poison]  # an earlier delivery may have ended before it reported this
        (request,) = await place.run(ORCHESTRATION, event)
        assert request.data.thread_ids == [ROOT]
        assert await indexed(place.clients.index, poison) is None


async def test_the_semantic_strategy_chunks_with_the_real_encoder(
    cloud: AppCloud, bus_service: RunningService, encoder: Embedder
) -> None:
    handshakes = (
        "The handshake of TLS 1.3 needs one round trip. The handshake of TLS 1.2 needs two round trips."
    )
    lunch = "For lunch we could eat pizza on Tuesday. Pizza is what everybody eats for lunch here."
    settings = {"CHUNKING_STRATEGY": "semantic"}
    async with mail_in(cloud, bus_service, **settings) as place:
        place.clients.resources.give(EMBEDDER, encoder)
        (prepared,) = await place.take_in(mail(0, body=f"{handshakes} {lunch}"))
        assert prepared.data.chunking_strategy == "semantic"
        chunks = sorted(await place.stored("chunks"), key=lambda chunk: int(chunk["chunk_index"]))
    first, second = (chunk["text"] for chunk in chunks)
    assert first == handshakes
    assert second.endswith(f"two round trips. {lunch}")  # with the overlap
