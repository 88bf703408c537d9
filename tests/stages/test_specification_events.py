"""Each event in the form of the specification, without our own fields, has the same effect as our event."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.cosmos.session import Session
from shared.azure.telemetry.metrics import span
from shared.core.runtime import Runtime
from shared.embedding.encoder import Embedder
from shared.embedding.process.child import EncoderSpec
from shared.embedding.process.embedder import EncoderProcess, ProcessOptions
from shared.models.records import FailureRecord
from shared.pipeline.delivery import Delivery
from shared.pipeline.events import CATALOGUE, parse_event
from shared.pipeline.runner import StageRunner, run_request
from shared.pipeline.stage import Stage
from shared.pipeline.topology import FAILURES, STAGE_OF_FAILURE
from shared.settings.app import Settings
from stages import failures
from stages.chunking import CHUNKING
from stages.embedding import EMBEDDING
from stages.orchestration import ORCHESTRATION
from stages.parsing import PARSING
from stages.reporting import REPORTING
from stages.summarization import SUMMARIZATION
from tests.embedding.toy_encoders import SPEC
from tests.pipeline.events.test_events import GOLDEN as SPECIFICATION
from tests.stages.mail_in import NOW, MailIn, mail, mail_in
from tests.support.cloud import AppCloud
from tests.support.index_rows import indexed
from tests.support.services import RunningService

pytestmark = pytest.mark.asyncio(loop_scope="module")
GOLDEN: dict[str, dict[str, Any]] = {
    event["event_type"]: event for event in json.loads(SPECIFICATION.read_text(encoding="utf-8"))
}
FAILED = sorted(set(GOLDEN) & set(STAGE_OF_FAILURE))
STAGES: tuple[Stage[Any], ...] = (PARSING, CHUNKING, EMBEDDING, ORCHESTRATION, SUMMARIZATION, REPORTING)
QUOTES_ALONE = mail(2, parent=0, body="> This is what message 0 says.\n")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(
    cloud: AppCloud, bus_service: RunningService, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MailIn]:
    journal = tmp_path_factory.mktemp("encoder") / "journal"

    async def open_toy(_settings: Settings) -> Embedder:
        return await EncoderProcess.start(EncoderSpec(SPEC, {"journal": str(journal)}), ProcessOptions())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shared.embedding.factory.open_embedder", open_toy)
        async with mail_in(cloud, bus_service) as ready:
            yield ready


def in_the_form_of_the_specification(event: Any) -> bytes:
    """Return the event with the specification's fields alone."""
    ours, golden = json.loads(event.to_json()), GOLDEN[event.event_type]
    data = {name: ours["data"][name] for name in golden["data"]}
    return json.dumps({**{name: ours[name] for name in golden}, "data": data}).encode()


async def test_every_event_of_the_catalogue_is_golden() -> None:
    assert set(GOLDEN) == set(CATALOGUE)


@pytest.mark.requirement("R-101")
async def test_an_archive_goes_from_stage_to_stage_by_events_of_the_specification_alone(
    place: MailIn,
) -> None:
    event: Any = await place.ingest(b"".join([mail(0), mail(1, parent=0), QUOTES_ALONE]))
    for stage, following in zip(STAGES, [*STAGES[1:], None], strict=True):
        body = in_the_form_of_the_specification(event)
        assert set(json.loads(body)["data"]) == set(GOLDEN[event.event_type]["data"])
        runner = StageRunner(stage, place.clients, Runtime(now=lambda: NOW))
        await runner.run(Delivery(body, f"bare {event.event_type}"))
        if following is not None:
            (event,) = await place.place.take_all(following.name, 1)
    (thread,) = await place.stored("threads")
    (report,) = await place.stored("reports")
    assert (thread["message_count"], thread["status"]) == (3, "processed")
    assert (thread["report_id"], thread["summary_id"]) == (report["report_id"], report["summary_id"])
    for container in ("messages", "chunks"):
        states = {
            (row["status"], row["attemptCount"], row["lastError"]) for row in await place.stored(container)
        }
        assert states == {("processed", 1, None)}
    vectors = [await indexed(place.clients.index, chunk["id"]) for chunk in await place.stored("chunks")]
    assert {vector["thread_id"] for vector in vectors if vector} == {thread["id"]}
    assert await place.stored("failures") == []


@pytest.mark.parametrize("name", FAILED)
async def test_a_failure_in_the_form_of_the_specification_is_in_the_ledger(place: MailIn, name: str) -> None:
    body, clients = json.dumps(GOLDEN[name]).encode(), place.clients
    with span("test") as recording:
        await run_request(
            FAILURES, Delivery(body, name), clients, lambda: failures.keep(body, clients, recording)
        )
    stage = STAGE_OF_FAILURE[name]
    record = await clients.store.find(
        FailureRecord, failures.ledger_record(parse_event(body)).id, Session(), partition=stage
    )
    assert record is not None
    assert (record.service_name, record.error_type) == (stage, GOLDEN[name]["data"]["error_type"])


async def test_a_published_report_in_the_form_of_the_specification_is_taken_by_the_topic(
    place: MailIn,
) -> None:
    """No stage consumes it."""
    event = parse_event(json.dumps(GOLDEN["ReportPublished"]))
    await place.clients.bus.publish([event])
    assert event.data.model_dump() == GOLDEN["ReportPublished"]["data"]


@pytest.mark.parametrize("name", sorted(GOLDEN))
async def test_an_event_about_what_is_not_there_is_understood_and_waits_for_it(
    place: MailIn, name: str
) -> None:
    """Its ids name no document, which is a race and not an invalid message."""
    event = parse_event(json.dumps(GOLDEN[name]))
    consumer = next((stage for stage in STAGES if isinstance(event.data, stage.row.consumes)), None)
    if consumer is None:
        assert name in {*FAILED, "ReportPublished"}
        return
    runner = StageRunner(consumer, place.clients, Runtime(now=lambda: NOW))
    await runner.run(Delivery(json.dumps(GOLDEN[name]).encode(), f"early {name}"))
    (copy,) = await place.place.take_all(consumer.name, 1)
    assert copy.event_id == event.event_id
