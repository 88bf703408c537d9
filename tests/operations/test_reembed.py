"""A change of the model embeds everything again into a new index, which then goes live."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localcloud.testing import Faults
from shared.azure.calls import Calls
from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Store
from shared.azure.search.fields import Filters, indexed_chunk
from shared.azure.search.versions import IndexMissingError, version_name
from shared.core.errors import ErrorKind, RejectedItemsError, UnencodableTextError
from shared.embedding.encoder import EncodingResult
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess
from shared.models.containers import read_document
from shared.models.queries.named_query import NamedQuery
from shared.models.queries.threads import COUNT_OF_OTHER_MODELS
from shared.models.threads import Chunk
from shared.operations.due_documents import count
from shared.operations.reembed import reembed
from shared.pipeline.state.archives import mark_reembedded
from tests.embedding.toy_encoders import SPEC
from tests.stages.mail_in import MailIn, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
DIMENSION = 4  # the dimension of the toy encoder, and of the index that a bench creates
OLD = "all-MiniLM-L6-v2"
CONTENT = b"".join(mail(number, subject=f"Topic {number}") for number in range(6))


@asynccontextmanager
async def toy(folder: Path) -> AsyncIterator[EncoderProcess]:
    model = await EncoderProcess.start(EncoderSpec(SPEC, {"journal": str(folder / "journal")}))
    try:
        yield model
    finally:
        await model.close()


@asynccontextmanager
async def with_model(place: MailIn, model: str) -> AsyncIterator[Clients]:
    """Return the clients of an app whose settings name this model."""
    connected = await Clients.connect(place.clients.settings.model_copy(update={"EMBEDDING_MODEL": model}))
    try:
        yield connected
    finally:
        await connected.close()


async def embed_with_old_model(place: MailIn) -> list[Chunk]:
    """Embed as the stage does, with vectors that differ from the new model's."""
    await place.take_in(CONTENT)
    chunks = [read_document(Chunk, chunk) for chunk in await place.stored("chunks")]
    vector = np.array([0, 1, 0, 0], np.float32)
    await place.clients.index.upsert(
        [indexed_chunk(chunk, vector.tolist(), None, OLD, "2026-01-01T00:00:00Z") for chunk in chunks]
    )
    done = {"embedding_generated": True, "embedding_model": OLD, "status": "processed"}
    patches = [Patch(chunk.id, set=done) for chunk in chunks]
    await place.clients.store.patch_all(Chunk, patches, Session())
    return chunks


async def models_of(place: MailIn) -> set[str]:
    return {chunk["embedding_model"] for chunk in await place.stored("chunks")}


async def test_every_chunk_moves_to_the_new_model_and_its_index_goes_live_at_the_end(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path
) -> None:
    async with mail_in(cloud, bus_service) as place, with_model(place, "toy") as new, toy(tmp_path) as model:
        chunks = await embed_with_old_model(place)
        planned = await reembed(new, model, dry_run=True)
        assert (planned.total, planned.outstanding, planned.embedded) == (len(chunks), len(chunks), 0)
        assert await models_of(place) == {OLD}
        done = await reembed(new, model)
        assert (done.embedded, done.failed, done.switched) == (len(chunks), 0, True)
        assert await models_of(place) == {"toy"}
        assert await new.index.versions.look_up() == version_name(new.index.name, "toy")
        hits = await new.index.search(None, [1, 0, 0, 0], filters=Filters(sender="bo@example.org"))
        assert {hit.payload["embedding_model"] for hit in hits} == {"toy"}
        again = await reembed(new, model)
        assert (again.outstanding, again.embedded, again.switched) == (0, 0, False)


async def test_an_app_of_either_model_starts_after_the_migration_whatever_the_vectors_length(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path
) -> None:
    async with mail_in(cloud, bus_service) as place, with_model(place, "toy") as new:
        chunks = await embed_with_old_model(place)
        spec = EncoderSpec(SPEC, {"journal": str(tmp_path / "journal"), "dimension": 6})
        model = await EncoderProcess.start(spec)
        try:
            done = await reembed(new, model, delete_old=True)
        finally:
            await model.close()
        assert (done.embedded, done.switched) == (len(chunks), True)
        async with with_model(place, "toy") as started:  # the app with the new settings, at its start
            await started.index.versions.ensure(6)
            assert await started.index.versions.look_up() == started.index.versions.own
            vector = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
            assert len(await started.index.search(None, vector, top=50)) == len(chunks)
            await started.index.upsert([{"chunk_id": chunks[0].id, "embedding": vector}])
        async with with_model(place, OLD) as behind:  # an app without the new settings
            await behind.index.versions.ensure(DIMENSION)
            assert await behind.index.search("message", top=50) != []


async def test_until_the_switch_searches_find_words_in_the_old_index_and_no_foreign_vector_is_compared(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place, with_model(place, "toy") as new:
        await embed_with_old_model(place)
        await new.index.versions.ensure(DIMENSION)
        by_words = await new.index.search("message", [0, 1, 0, 0], top=50)
        assert {hit.payload["embedding_model"] for hit in by_words} == {OLD}
        assert await new.index.search(None, [0, 1, 0, 0]) == []


async def test_broken_off_it_goes_on_where_it_was_and_searches_never_saw_half_of_it(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.operations.reembed.PAGE", 2)
    async with mail_in(cloud, bus_service) as place, with_model(place, "toy") as new, toy(tmp_path) as model:
        chunks = await embed_with_old_model(place)
        await new.index.versions.ensure(DIMENSION)
        Faults(cloud.search).plan(
            {"operation": "docs.index", "kind": "status", "skip": 1, "times": None, "args": {"status": 503}},
        )
        try:
            with pytest.raises(Exception) as raised:  # noqa: PT011 - any error of the SDK is classified
                await reembed(new, model)
        finally:
            Faults(cloud.search).plan()
        assert classify(raised.value).kind is ErrorKind.TRANSIENT
        assert await models_of(place) == {OLD, "toy"}
        assert await new.index.versions.look_up() == place.clients.index.versions.own
        done = await reembed(new, model, delete_old=True)
        assert 0 < done.embedded < len(chunks)
        assert (done.switched, done.deleted) == (True, True)
        assert await models_of(place) == {"toy"}


async def test_chunks_that_a_late_write_brings_to_the_model_after_they_were_counted_hold_up_no_switch(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last write of an interrupted run arrives between the count and the search."""
    async with mail_in(cloud, bus_service) as place, with_model(place, "toy") as new, toy(tmp_path) as model:
        chunks = await embed_with_old_model(place)
        late = [replace(mark_reembedded(chunk, model="toy"), condition=None) for chunk in chunks]

        async def count_before_late_write(store: Store, query: NamedQuery, **values: str) -> int:
            counted = await count(store, query, **values)
            if query is COUNT_OF_OTHER_MODELS:
                await store.patch_all(Chunk, late, Session())
            return counted

        monkeypatch.setattr("shared.operations.reembed.count", count_before_late_write)
        done = await reembed(new, model)
        assert (done.outstanding, done.embedded, done.failed) == (len(chunks), 0, 0)
        assert done.switched
        assert await new.index.versions.look_up() == new.index.versions.own


class Refusing:
    """A model that refuses one of the texts."""

    model, backend, dimension, window = "toy", "toy", DIMENSION, 16

    def __init__(self, refused: str) -> None:
        self._refused = refused

    async def encode_each(self, texts: Any) -> EncodingResult:
        failed = {at: UnencodableTextError("no") for at, text in enumerate(texts) if text == self._refused}
        return EncodingResult(np.ones((len(texts), DIMENSION), np.float32), dict(failed))


async def test_a_chunk_that_the_new_model_refuses_is_counted_and_does_not_hold_up_the_rest(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place, with_model(place, "toy") as new:
        chunks = await embed_with_old_model(place)
        done = await reembed(new, Refusing(chunks[0].text))  # type: ignore[arg-type] # it is not used any more
        assert (done.failed, done.embedded, done.switched) == (1, len(chunks) - 1, True)


async def test_a_missing_index_blames_no_chunk_and_says_what_to_do(
    cloud: AppCloud, bus_service: RunningService
) -> None:
    async with mail_in(cloud, bus_service) as place, with_model(place, "never-made") as other:
        with pytest.raises(IndexMissingError, match=r"python -m shared\.operations\.provisioning") as raised:
            await other.index.upsert([{"chunk_id": "c", "embedding": [1.0, 0.0, 0.0, 0.0]}])
        assert classify(raised.value).kind is ErrorKind.TRANSIENT
        with pytest.raises(RejectedItemsError):
            await place.clients.index.upsert([{"chunk_id": "c", "embedding": [1.0]}])


async def test_the_live_index_is_not_deleted(cloud: AppCloud, bus_service: RunningService) -> None:
    async with mail_in(cloud, bus_service) as place:
        versions = place.clients.index.versions
        with pytest.raises(ValueError, match="is live"):
            await versions.delete(versions.own)


async def test_two_models_never_share_an_index() -> None:
    names = {version_name("m", model) for model in ("a/b", "a-b", "A-B", "a b", "ü", "x" * 90, "x" * 91)}
    assert len(names) == 6  # a-b and A-B are one
    assert version_name("message_embeddings", OLD) == "message_embeddings-all-minilm-l6-v2-2"


async def test_a_search_asks_once_while_its_own_model_is_live_and_sees_at_once_when_another_is(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    measured = Calls.measured

    def counting(self: Calls, operation: str, **more: Any) -> AbstractAsyncContextManager[Any]:
        made.append(operation)
        return measured(self, operation, **more)

    async with mail_in(cloud, bus_service) as place, with_model(place, "toy") as new, toy(tmp_path) as model:
        chunks = await embed_with_old_model(place)
        async with with_model(place, OLD) as old:
            monkeypatch.setattr(Calls, "measured", counting)
            question = [0.0, 1.0, 0.0, 0.0]
            assert len(await old.index.search("message", question, top=50)) == len(chunks)
            assert made == ["search"]
            await old.index.versions.live()  # cached for a while, and outdated from here on
            assert (await reembed(new, model)).switched
            made.clear()
            by_words = await old.index.search("message", question, top=50)
            assert made == ["search", "alias", "search"]
            plain = await new.index.search("message", top=50)
            assert [hit.score for hit in by_words] == [hit.score for hit in plain] != []
