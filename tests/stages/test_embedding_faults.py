"""The embedding stage under faults ends like a calm run, except for chunks that can never be embedded."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from localcloud.testing import Faults
from shared.azure.classify import classify
from shared.azure.cosmos.session import Session
from shared.azure.search.versions import IndexMismatchError, IndexMissingError
from shared.core.errors import ConflictError, ErrorKind, RefusesEverythingError
from shared.core.runtime import Runtime
from shared.embedding.encoder import Embedder
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess, ProcessOptions
from shared.models.threads import Chunk
from shared.pipeline.delivery import Delivery
from shared.pipeline.events import Event
from shared.pipeline.runner import StageFailedError, StageRunner
from shared.settings.app import Settings
from stages import embedding
from stages.embedding import EMBEDDING, unstored_vectors
from stages.failures import record_failure
from stages.orchestration import ORCHESTRATION
from stages.summarization import SUMMARIZATION
from tests.embedding.toy_encoders import SPEC
from tests.stages.mail_in import MailIn, mail, mail_in
from tests.stages.test_parsing import at
from tests.support.cloud import AppCloud
from tests.support.index_rows import indexed
from tests.support.measured import Measured
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
NUMBERS = itertools.count()
HANG_SECONDS = 1.0


@dataclass
class Place:
    """A test's place, and the journal of its encoder: one line for each batch."""

    mail: MailIn
    journal: Path

    def batches(self) -> list[list[str]]:
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return [line.split("|") for line in lines]

    async def prepared(self, *bodies: str) -> Event[Any]:
        """Store chunks of messages with these bodies, in one thread, and return the event of chunking."""
        first = next(NUMBERS)
        content = b"".join(
            mail(first * 100 + at, parent=first * 100 if at else None, subject=f"S{first}", body=body)
            for at, body in enumerate(bodies)
        )
        (event,) = await self.mail.take_in(content)
        return event

    async def chunks(self) -> dict[str, dict[str, Any]]:
        return {chunk["text"]: chunk for chunk in await self.mail.stored("chunks", "created_at")}

    async def vectors(self) -> dict[str, Any]:
        index = self.mail.clients.index
        return {text: await indexed(index, event["id"]) for text, event in (await self.chunks()).items()}

    def runner(self) -> StageRunner[Any]:
        async def at_once(_seconds: float) -> None:
            """Do not wait. The runner's own tests cover the waits."""

        return StageRunner(EMBEDDING, self.mail.clients, Runtime(sleep=at_once))


@pytest_asyncio.fixture(loop_scope="module")
async def place(
    cloud: AppCloud, bus_service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Place]:
    journal = tmp_path / "journal"

    async def open_toy(_settings: Settings) -> Embedder:
        spec = EncoderSpec(SPEC, {"journal": str(journal)})
        return await EncoderProcess.start(spec, ProcessOptions(batch_seconds=HANG_SECONDS))

    monkeypatch.setattr("shared.embedding.factory.open_embedder", open_toy)
    async with mail_in(cloud, bus_service) as ready:
        yield Place(ready, journal)


@pytest.fixture(autouse=True)
def no_faults_left(cloud: AppCloud, bus_service: RunningService) -> Iterator[None]:
    yield
    for service in (cloud.cosmos, cloud.search, bus_service):
        Faults(service).plan()


async def all_embedded(place: Place) -> None:
    chunks, vectors = await place.chunks(), await place.vectors()
    states = {
        (chunk["status"], chunk["embedding_generated"], chunk["lastError"]) for chunk in chunks.values()
    }
    assert states == {("processed", True, None)}
    assert {text: vector["embedding"][0] for text, vector in vectors.items()} == {
        text: float(len(text)) for text in chunks
    }


@pytest.mark.parametrize("fate", ["crash once", "oom-killed once", "hang once"])
@pytest.mark.requirement("R-407")
async def test_an_encoder_that_is_killed_starved_or_hangs_changes_nothing_in_the_end(
    place: Place, fate: str
) -> None:
    event = await place.prepared("one two", fate, "three")
    (generated,) = await place.mail.run(EMBEDDING, event)
    assert generated.data.embedding_count == 3
    await all_embedded(place)


@pytest.mark.requirement("R-406")
async def test_a_chunk_that_always_fails_ends_alone_after_four_attempts_and_its_thread_goes_on(
    place: Place,
) -> None:
    event = await place.prepared("one two", "always crash", "three")
    generated, failed = await place.mail.run(EMBEDDING, event)
    assert (generated.data.embedding_count, len(generated.data.chunk_ids)) == (2, 3)
    chunks, vectors = await place.chunks(), await place.vectors()
    poison = chunks["always crash"]
    assert (poison["status"], poison["embedding_generated"]) == ("failed_max_retries", False)
    assert "no vector after 4 attempts" in poison["lastError"]
    assert [text for text, vector in vectors.items() if vector is None] == ["always crash"]
    tries = [batch for batch in place.batches() if "always crash" in batch]
    assert (len(tries), tries[-1]) == (4, ["always crash"])
    (request,) = await place.mail.run(ORCHESTRATION, generated)
    assert request.data.thread_ids == [poison["thread_id"]]
    await place.mail.run(SUMMARIZATION, request)
    (summary,) = await place.mail.stored("summaries")
    assert "1 of 3 passages could not be indexed" in summary["content_markdown"]
    again = await place.mail.run(EMBEDDING, event)
    assert [event.message_id for event in again] == [generated.message_id, failed.message_id]
    assert len([batch for batch in place.batches() if "always crash" in batch]) == 4


@pytest.mark.parametrize("failing", ["index", "store"])
@pytest.mark.requirement("R-409")
async def test_when_a_write_fails_only_the_write_is_repeated(
    place: Place, cloud: AppCloud, failing: str
) -> None:
    event = await place.prepared("one two", "three")
    service = cloud.search if failing == "index" else cloud.cosmos
    operation = "docs.index" if failing == "index" else "docs.batch"
    Faults(service).plan({"operation": operation, "kind": "status", "times": None, "args": {"status": 503}})
    with pytest.raises(Exception):  # noqa: B017, PT011 - any error of the SDK
        await place.mail.run(EMBEDDING, event)
    assert Faults(service).hits
    Faults(service).plan()
    unstored = await unstored_vectors(place.mail.clients)
    assert len(unstored._vectors) == 2
    await place.mail.run(EMBEDDING, event)
    await all_embedded(place)
    assert sorted(text for batch in place.batches() for text in batch) == ["one two", "three"]
    assert len(unstored._vectors) == 0


async def test_a_chunk_that_the_index_refuses_is_given_up_alone(
    place: Place, cloud: AppCloud, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    measured = Measured()
    monkeypatch.setattr(embedding, "pipeline_metrics", lambda: measured.metrics)
    event = await place.prepared("one two", "refused by the index", "three")
    poison = (await place.chunks())["refused by the index"]["id"]
    fault = {"operation": "docs.index", "kind": "partial", "times": None}
    Faults(cloud.search).plan({**fault, "args": {"keys": [poison], "status": 400}})
    generated, failed = await place.mail.run(EMBEDDING, event)
    assert generated.data.embedding_count == 2
    assert (failed.event_type, failed.data.chunk_ids) == ("EmbeddingGenerationFailed", [poison])
    assert failed.data.error_type == "RejectedItemsError"
    assert measured.take("chunks_given_up_total") == {("embedding", "RejectedItemsError"): 1}
    said = [entry.getMessage() for entry in caplog.records if entry.name == embedding.__name__]
    assert [line for line in said if line.startswith(f"embedding gave 1 chunks up, among them {poison}")]
    (record,) = await place.mail.stored("failures")
    assert (record["abandoned_reason"], record["stage"]) == ("chunks_given_up", "embedding")
    assert not await record_failure(failed, place.mail.clients.store)  # the ledger finds it recorded
    assert len(await place.mail.stored("failures")) == 1
    chunks = await place.chunks()
    assert {text: event["status"] for text, event in chunks.items()} == {
        "one two": "processed",
        "refused by the index": "failed_max_retries",
        "three": "processed",
    }
    assert "the index refuses it" in chunks["refused by the index"]["lastError"]


async def test_an_index_that_refuses_everything_condemns_no_chunk(place: Place, cloud: AppCloud) -> None:
    event = await place.prepared("one two", "three")
    ids = [chunk["id"] for chunk in (await place.chunks()).values()]
    fault = {"operation": "docs.index", "kind": "partial", "times": None}
    Faults(cloud.search).plan({**fault, "args": {"keys": ids, "status": 400}})
    with pytest.raises(RefusesEverythingError, match="the index refuses all 2 vectors") as raised:
        await place.mail.run(EMBEDDING, event)
    assert Faults(cloud.search).hits
    assert classify(raised.value).kind is ErrorKind.TRANSIENT
    assert {chunk["status"] for chunk in (await place.chunks()).values()} == {"pending"}
    assert await place.mail.stored("failures") == []


@pytest.mark.requirement("R-1004")
async def test_an_index_for_other_vectors_condemns_no_chunk(place: Place) -> None:
    event = await place.prepared("one two")
    versions = place.mail.clients.index.versions
    await versions.ensure(8)  # it is empty and is created again
    with pytest.raises(IndexMismatchError, match=r"takes vectors of 8 numbers, the model gives 4"):
        await place.mail.run(EMBEDDING, event)
    assert {chunk["status"] for chunk in (await place.chunks()).values()} == {"pending"}


async def test_an_index_that_is_missing_or_gets_lost_is_made_anew(place: Place) -> None:
    index = place.mail.clients.index

    async def lose() -> None:
        await index._admin.delete_alias(index.name)
        await index._admin.delete_index(index.versions.own)

    await lose()
    await place.mail.run(EMBEDDING, await place.prepared("one two"))
    await lose()
    event = await place.prepared("three")
    with pytest.raises(IndexMissingError):
        await place.mail.run(EMBEDDING, event)
    await place.mail.run(EMBEDDING, event)
    assert {hit.payload["text"] for hit in await index.search("*")} == {"three"}


async def test_workers_on_the_same_event_and_events_in_any_order_make_one_vector_a_chunk_and_one_request(
    place: Place,
) -> None:
    events = [await place.prepared("one", "two two"), await place.prepared("three three three")]

    async def repeating(event: Event[Any]) -> list[Event[Any]]:
        """Repeat the stage like the runner when another worker has just flagged its chunk."""
        while True:
            with suppress(ConflictError):
                return await place.mail.run(EMBEDDING, event)

    racing = [repeating(event) for event in (*events, *reversed(events), *events)]
    generated = [event for announced in await asyncio.gather(*racing) for event in announced]
    await all_embedded(place)
    assert len(await place.mail.clients.index.search("*")) == 3
    requests = [
        request
        for announced in await asyncio.gather(*(place.mail.run(ORCHESTRATION, event) for event in generated))
        for request in announced
    ]
    assert len({request.message_id for request in requests}) == 2
    assert [await place.mail.run(ORCHESTRATION, event) for event in generated] == [[]] * 6


async def test_a_message_that_gets_another_text_while_it_is_embedded_ends_with_the_vectors_of_that(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 100 * next(NUMBERS)
    variants = [mail(number, body=f"one two {'three ' * count}") for count in (1, 2)]
    first, last = variants
    (event,) = await place.mail.take_in(last, arrived=at(1))
    encode = embedding._encode

    async def replaced_meanwhile(*given: Any) -> embedding.Encoded:
        encoded = await encode(*given)
        monkeypatch.setattr(embedding, "_encode", encode)
        (other,) = await place.mail.take_in(first)
        await place.mail.run(EMBEDDING, other)  # the other event is faster
        return encoded

    monkeypatch.setattr(embedding, "_encode", replaced_meanwhile)
    await place.mail.place.run_through(place.runner(), Delivery(event.to_json(), "m", 1), EMBEDDING.name)
    await all_embedded(place)
    assert [vector["text"] for vector in (await place.vectors()).values()] == [*await place.chunks()]


async def test_messages_without_text_are_passed_on_to_orchestration(place: Place) -> None:
    event = await place.prepared("> nothing but\n> quotes")
    assert (event.data.chunk_ids, len(event.data.thread_ids)) == ([], 1)
    (generated,) = await place.mail.run(EMBEDDING, event)
    assert (generated.data.embedding_count, generated.data.vector_store_updated) == (0, False)
    (request,) = await place.mail.run(ORCHESTRATION, generated)
    assert request.data.thread_ids == event.data.thread_ids


STEPS = [
    ("cosmos", "docs.batch"), ("cosmos", "docs.query"), ("cosmos", "docs.read"),
    ("search", "docs.index"), ("search", "indexes.get"), ("bus", "send"),
]  # fmt: skip


async def _through_faults(
    place: Place, services: dict[str, RunningService], step: tuple[str, str], skip: int, times: int
) -> int:
    """Run the stage as the host does while one step fails. Return the sweep's attempt that succeeded."""
    event = await place.prepared("one two", "three", "four four four four")
    name, operation = step
    kind: dict[str, Any] = (
        {"kind": "server-busy"} if name == "bus" else {"kind": "status", "args": {"status": 503}}
    )
    Faults(services[name]).plan({"operation": operation, "skip": skip, "times": times, **kind})
    for attempt in range(1, 4):
        asked = event.model_copy(update={"attempt": attempt})
        delivery = Delivery(asked.to_json(), f"m{attempt}", 1)
        try:
            await place.mail.place.run_through(place.runner(), delivery, EMBEDDING.name)
        except StageFailedError:
            continue
        break
    Faults(services[name]).plan()
    await all_embedded(place)
    session = Session()
    for chunk in (await place.chunks()).values():
        stored = await place.mail.clients.store.read(Chunk, chunk["id"], session)
        assert stored.attemptCount <= attempt
    return attempt


@pytest.mark.parametrize("step", STEPS, ids="-".join)
@pytest.mark.requirement("R-404", "R-410")
async def test_a_fault_at_any_step_of_the_stage_leaves_the_end_of_a_calm_run(
    place: Place, cloud: AppCloud, bus_service: RunningService, step: tuple[str, str]
) -> None:
    services = {"cosmos": cloud.cosmos, "search": cloud.search, "bus": bus_service}
    assert await _through_faults(place, services, step, skip=0, times=2) == 1


async def test_a_delivery_that_had_embedded_and_could_not_say_so_leaves_no_error_behind(
    place: Place, cloud: AppCloud, bus_service: RunningService
) -> None:
    services = {"cosmos": cloud.cosmos, "search": cloud.search, "bus": bus_service}
    assert await _through_faults(place, services, ("bus", "send"), skip=0, times=24) > 1


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 4, 12])
@pytest.mark.parametrize("skip", [0, 1, 2, 3])
@pytest.mark.parametrize("step", STEPS, ids="-".join)
async def test_faults_at_every_step_however_long_leave_the_end_of_a_calm_run(
    place: Place,
    cloud: AppCloud,
    bus_service: RunningService,
    step: tuple[str, str],
    skip: int,
    times: int,
) -> None:
    services = {"cosmos": cloud.cosmos, "search": cloud.search, "bus": bus_service}
    assert await _through_faults(place, services, step, skip, times) <= 3
