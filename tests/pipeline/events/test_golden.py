"""Sent and stored bytes never change, because brokers and databases hold data of earlier versions.

`golden.json` was recorded once. Run `python -m tests.pipeline.events.test_golden` to record it again, only
after an intended change of the stored form.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.chunking.chunker import Strategy
from shared.core import ids
from shared.core.errors import ClassifiedError, ErrorKind
from shared.models.records import FailureRecord
from shared.models.reports import Report, Summary
from shared.models.sources import Archive
from shared.models.threads import Chunk, Message
from shared.models.values import Citation, SummaryType
from shared.operations.due_documents import (
    ARCHIVES,
    CHUNKS,
    MESSAGES,
    Collection,
    DueDocument,
    Policy,
    RetryReason,
)
from shared.operations.requeue import rebuild_events
from shared.pipeline import event_builders
from shared.pipeline import event_types as data
from shared.pipeline.delivery import Delivery
from shared.pipeline.event_types import EventData
from shared.pipeline.events import CATALOGUE, Event, parse_event
from shared.pipeline.failures import failure_record
from shared.pipeline.topology import ORCHESTRATION, REPORTING, STAGES, StageRow
from shared.settings.app import Settings
from shared.summaries.digest_scopes import parse_scope
from shared.summarization.digests import announcement as digest_complete
from stages import chunking
from stages.failures import ledger_record
from tests.support.documents import new_archive, new_chunk, new_message, new_report, new_summary

GOLDEN = Path(__file__).with_name("golden.json")
NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
EARLIER = datetime(2026, 1, 2, 3, 0, 0, tzinfo=UTC)
ARCHIVE, HASH = "00112233445566aa", "00112233445566aa" + "bc" * 24
SUMMARY = "6f1c1c62-6a3e-5f0a-9b57-2d6f3a5f0c11"
KEYS = [f"{number:016x}" for number in range(0xA0, 0xA5)]
THREADS = ["00000000000000b0"] * 3 + ["00000000000000b1"] * 2
IDS = [f"{number:016x}" for number in range(0xC0, 0xC5)]
SETTINGS = Settings.model_construct(
    COSMOS_ENDPOINT="",
    SEARCH_ENDPOINT="",
    CHUNKING_STRATEGY="recursive",
    SUMMARY_BACKEND="extractive",
    SUMMARY_MODEL="extractive-v1",
    SUMMARY_CONTEXT_TOKENS=3000,
)
FAILURE = ClassifiedError(
    ErrorKind.PERMANENT,
    "MboxError",
    "message <a@example.org> at 4711 of 0xffee is corrupt",
    details={"messages_parsed": 3, "backend": "openvino"},
)
# The recorded events, each with all of its fields.
SAMPLE: dict[str, Any] = {
    name: parse_event(recorded["json"]).data
    for name, recorded in json.loads(GOLDEN.read_text(encoding="utf-8"))["events"].items()
}


def archive() -> Archive:
    path, url = f"{ARCHIVE}/a.mbox", "https://example.org/a.mbox"
    return new_archive(
        ARCHIVE, archive_id=ARCHIVE, file_hash=HASH, file_size_bytes=4711, source="wg-list",
        source_type="http", source_url=url, ingestion_date=EARLIER, file_path=path, created_at=NOW,
    )  # fmt: skip


def messages() -> list[Message]:
    return [
        new_message(key, thread, archive_id=ARCHIVE, archive_ids=[], variant=f"2026#{key}", text_version=7)
        for key, thread in zip(KEYS, THREADS, strict=True)
    ]


def chunks() -> list[Chunk]:
    return [
        new_chunk(id_, thread, key, archive_id=ARCHIVE, token_count=number)
        for number, (id_, key, thread) in enumerate(zip(IDS, KEYS, THREADS, strict=True))
    ]


def summary(**changes: Any) -> Summary:
    cited = Citation(message_id="<a@b>", chunk_id=IDS[0], quote="said", offset=None, relevance_score=0.5)
    usage = {"tokens_prompt": 10, "tokens_completion": 20, "llm_backend": "openai"}
    content = {
        "content_markdown": "said " * 1000,
        "citations": [cited] * 120,
        "metadata": usage,
        "generated_by": "extractive-v1",
    }
    return new_summary(SUMMARY, THREADS[0], **{"generated_at": NOW, **content, **changes})


def digest() -> Summary:
    return summary(scope="week:wg-list:2026-01", thread_id=None, summary_type=SummaryType.WEEKLY)


def report(**changes: Any) -> Report:
    return new_report(summary(**changes), delivery_channels=["chat"], notified=True)


def due(collection: Collection, document: Archive | Message | Chunk) -> DueDocument:
    fields = document.to_cosmos()
    partition = document.id if isinstance(document, Archive) else document.thread_id
    return DueDocument(collection, RetryReason.FAILED, document.id, partition, 1, None, None, None, fields)


def rebuilt(collection: Collection, documents: list[Any]) -> EventData:
    dues = [due(collection, document) for document in documents]
    ((event, _),) = rebuild_events(dues, Policy.from_settings(SETTINGS), SETTINGS, alone=False)
    return event


def built() -> dict[str, EventData]:
    """Return each event as its publishers build it."""
    members = list(zip(KEYS, THREADS, strict=True))
    stored = archive()
    return {
        "archive ingested": event_builders.archive_ingested(
            stored.id, stored.to_cosmos(), started_at=EARLIER, completed_at=NOW
        ),
        "embeddings generated": event_builders.embeddings_generated(
            SAMPLE["ChunksPrepared"],
            chunks(),
            count=4,
            model="all-MiniLM-L6-v2",
            backend="openvino",
            dimension=384,
            collection="chunks-v1",
            milliseconds_per_chunk=12.3456 / 3,
        ),
        "summary again": event_builders.summary_complete(
            summary(), 7, backend="openai", model="extractive-v1"
        ),
        "archive again": rebuilt(ARCHIVES, [archive()]),
        "messages parsed": event_builders.json_parsed(ARCHIVE, members, seconds=1.23456),
        "messages again": rebuilt(MESSAGES, messages()),
        "chunks prepared": chunking._announcement(ARCHIVE, messages(), chunks(), Strategy.RECURSIVE),
        "chunks none": chunking._announcement(ARCHIVE, messages(), [], Strategy.RECURSIVE),
        "chunks again": rebuilt(CHUNKS, chunks()),
        "summary requested": event_builders.summary_request(THREADS[0], "fedcba9876543210", SETTINGS),
        "summary complete": event_builders.summary_complete(
            summary(),
            7,
            backend="openai",
            model="gpt",
            citations=summary().citations,
            usage=summary().metadata,
            latency_ms=12.3456,
        ),
        "digest complete": digest_complete(digest(), 7),
        "report published": event_builders.report_published(report()),
        "digest published": event_builders.report_published(report(thread_id=None)),
    }


def failed() -> dict[str, EventData]:
    """Return each stage's own failure event."""
    plain = ClassifiedError(ErrorKind.TRANSIENT, "TimeoutError", "slow")

    def failure(
        stage: StageRow[Any], sample: EventData, error: ClassifiedError, attempts: int = 1
    ) -> EventData:
        return event_builders.failed_event(
            stage, Event.of(sample, now=NOW), error, attempts=attempts, now=NOW
        )

    found: dict[str, EventData] = {}
    for stage in STAGES:
        sample = SAMPLE[stage.consumes.__name__]
        found[stage.name] = failure(stage, sample, FAILURE, 4)
        found[f"{stage.name} plain"] = failure(stage, sample, plain)
    bare = SAMPLE["EmbeddingsGenerated"].model_copy(update={"chunk_threads": [], "thread_ids": []})
    empty = bare.model_copy(update={"chunk_ids": []})
    unknown = SAMPLE["SummaryComplete"].model_copy(update={"summary_id": None})
    found["orchestration bare"] = failure(ORCHESTRATION, bare, FAILURE)
    found["orchestration empty"] = failure(ORCHESTRATION, empty, FAILURE)
    found["reporting unknown"] = failure(REPORTING, unknown, FAILURE)
    return found


def records() -> dict[str, FailureRecord]:
    parsed = Event.of(SAMPLE["JSONParsed"], session={"messages": "0:-1#9"}, attempt=2, now=NOW)
    delivery = Delivery(parsed.to_json(), "m-1", 3)
    how: dict[str, Any] = {"reason": "non_retryable_error", "attempt_count": 4, "now": NOW}
    ingestion = Event.of(SAMPLE["ArchiveIngestionFailed"], now=NOW)
    found = {
        "runner": failure_record("chunking", FAILURE, event=parsed, delivery=delivery, **how),
        "not an event": failure_record(
            "chunking", FAILURE, event=None, delivery=Delivery(b"\xff{", "m-2"), **how
        ),
        "not an object": failure_record(
            "parsing", FAILURE, event=None, delivery=Delivery(b"[1]", None, 2), **how
        ),
        "ingestion": failure_record(
            "ingestion",
            FAILURE,
            event=ingestion,
            message_id=ingestion.message_id,
            reason="max_attempts_exceeded",
            attempt_count=4,
            now=NOW,
        ),
    }
    for sample in SAMPLE.values():
        if isinstance(sample, data.FailureData):
            found[f"ledger {type(sample).__name__}"] = ledger_record(Event.of(sample, attempt=2, now=NOW))
    return found


def made_ids() -> dict[str, str]:
    scope, request = parse_scope("draft:draft-ietf-quic-transport"), SAMPLE["SummarizationRequested"]
    return {
        "archive": ids.archive_id(HASH, "quic"),
        "message": ids.message_key("<a@example.org>"),
        "message without id": ids.message_key_without_id(NOW, "a@example.org", "Hello", "text"),
        "thread": ids.thread_id("<a@example.org>"),
        "chunk": ids.chunk_id(KEYS[0], ids.chunk_set(7, "whole"), 3),
        "report": ids.report_id(SUMMARY),
        "removal": ids.removal_id("archive", ARCHIVE),
        "failure": ids.failure_id("chunking-a", 2),
        "invalid": ids.invalid_key("chunking", b"\xff"),
        "resubmitted": ids.resubmitted_id("20260102-0123abcd", "parsing", 17, "m-1"),
        "thread summary": ids.thread_summary_id(
            THREADS[0], "fedcba9876543210", request.prompt_template, request.llm_backend, request.llm_model
        ),
        "digest summary": ids.digest_summary_id(
            scope.name, "0123456789abcdef", f"{scope.kind.value}-digest-v1", "digest-v1"
        ),
        "digest": ids.scope_id(scope.name),
        "delivery": ids.delivery_id(report().report_id, "chat"),
        "feed": ids.feed_id("thread", THREADS[0]),
    }


def _event(sample: EventData) -> dict[str, Any]:
    event = Event.of(sample, session={"messages": "0:-1#9"}, attempt=2, now=NOW)
    first = Event.of(sample, now=NOW)
    return {
        "message_ids": [event.message_id, first.message_id],
        "keys": [event.idempotency_key(), event.idempotency_key("stage")],
        "json": event.to_json().decode(),
    }


def _record(record: FailureRecord) -> str:
    stored = record.to_cosmos()
    del stored["created_at"]
    return json.dumps(stored)


SECTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "events": lambda: {name: _event(sample) for name, sample in SAMPLE.items()},
    "built": lambda: {name: _event(sample) for name, sample in built().items()},
    "failed": lambda: {name: _event(sample) for name, sample in failed().items()},
    "ids": made_ids,
    "records": lambda: {name: _record(record) for name, record in records().items()},
}


@pytest.mark.parametrize("section", SECTIONS)
def test_nothing_that_is_sent_or_recorded_has_changed(section: str) -> None:
    golden = json.loads(GOLDEN.read_text())[section]
    found = SECTIONS[section]()
    assert found.keys() == golden.keys()
    for name, value in found.items():
        assert value == golden[name], name


def test_every_published_event_has_a_golden_form() -> None:
    assert SAMPLE.keys() == CATALOGUE.keys()


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: make() for name, make in SECTIONS.items()}, indent=1) + "\n")
