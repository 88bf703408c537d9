import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.core.errors import InvalidEventError, InvalidIdError, NewerVersionError
from shared.core.ids import checked_id
from shared.pipeline.event_types import ArchiveIngested, ChunksPrepared, JSONParsed, ReportPublished
from shared.pipeline.events import (
    CATALOGUE,
    MAX_EVENT_BYTES,
    STAGE_OF,
    Event,
    EventTooLargeError,
    parse_event,
    split_to_fit,
)
from tests.support.events import event_of

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

# Every event in the form of the specification, with the tests' values.
GOLDEN = Path(__file__).with_name("specification.json")
SAMPLES: dict[str, dict[str, Any]] = {
    event["event_type"]: event["data"] for event in json.loads(GOLDEN.read_text(encoding="utf-8"))
}
ROUTING_KEYS = {
    "ArchiveIngested": "archive.ingested",
    "ArchiveIngestionFailed": "archive.ingestion.failed",
    "JSONParsed": "json.parsed",
    "ParsingFailed": "parsing.failed",
    "ChunksPrepared": "chunks.prepared",
    "ChunkingFailed": "chunks.failed",
    "EmbeddingsGenerated": "embeddings.generated",
    "EmbeddingGenerationFailed": "embeddings.failed",
    "SummarizationRequested": "summarization.requested",
    "OrchestrationFailed": "orchestration.failed",
    "SummaryComplete": "summary.complete",
    "SummarizationFailed": "summarization.failed",
    "ReportPublished": "report.published",
    "ReportDeliveryFailed": "report.delivery_failed",
}


def envelope(event_type: str, **changes: Any) -> dict[str, Any]:
    return {
        "event_type": event_type,
        "event_id": "a1b2c3d4e5f6789",
        "timestamp": "2026-01-02T03:04:05Z",
        "version": "1.0",
        "data": SAMPLES[event_type],
        **changes,
    }


def parsed_messages(count: int, per_thread: int = 7) -> JSONParsed:
    threads = [f"{i // per_thread:016x}" for i in range(count)]
    return JSONParsed(
        archive_id="a",
        message_count=count,
        message_keys=[f"{i:016x}" for i in range(count)],
        thread_count=len(set(threads)),
        thread_ids=list(dict.fromkeys(threads)),
        parsing_duration_seconds=1.0,
        message_threads=threads,
    )


@pytest.mark.requirement("R-101")
def test_the_catalogue_has_the_fourteen_events_with_their_routing_keys() -> None:
    assert {name: event.routing_key for name, event in CATALOGUE.items()} == ROUTING_KEYS


def test_each_stage_has_its_event() -> None:
    assert STAGE_OF == {
        "ArchiveIngested": "parsing",
        "JSONParsed": "chunking",
        "ChunksPrepared": "embedding",
        "EmbeddingsGenerated": "orchestration",
        "SummarizationRequested": "summarization",
        "SummaryComplete": "reporting",
    }


@pytest.mark.parametrize("event_type", SAMPLES)
@pytest.mark.requirement("R-102")
def test_every_event_reads_back_as_it_was_written(event_type: str) -> None:
    event = parse_event(json.dumps(envelope(event_type)))
    assert event.event_type == event_type
    assert (event.attempt, event.session) == (1, {})
    assert parse_event(event.to_json()) == event


@pytest.mark.parametrize("event_type", SAMPLES)
@pytest.mark.requirement("R-102")
def test_every_field_of_an_event_is_required(event_type: str) -> None:
    for name in SAMPLES[event_type]:
        data = {key: value for key, value in SAMPLES[event_type].items() if key != name}
        with pytest.raises(InvalidEventError, match=rf"{event_type}: data\.{name}: Field required"):
            parse_event(json.dumps(envelope(event_type, data=data)))


@pytest.mark.parametrize("event_type", SAMPLES)
@pytest.mark.requirement("R-104")
def test_unknown_fields_are_tolerated_everywhere(event_type: str) -> None:
    data = {**SAMPLES[event_type], "from_a_newer_version": [1]}
    parse_event(json.dumps(envelope(event_type, data=data, future=True, version="1.7")))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "event_type: missing"),
        (
            json.dumps({**envelope("JSONParsed"), "event_type": "Gossip"}),
            "event_type: 'Gossip' is not in the catalogue",
        ),
        (json.dumps(envelope("JSONParsed", version="0.9")), "version: '0.9'"),
        (json.dumps(envelope("JSONParsed", version="9" * 20)), "version: '99999999999999999999'"),
        (json.dumps(envelope("JSONParsed", version=None)), "version: None"),
        (json.dumps(envelope("JSONParsed", attempt=0)), "attempt: Input should be greater"),
        (json.dumps(envelope("JSONParsed", session={"a": 1})), "session.a: Input should be a valid string"),
        (json.dumps(envelope("JSONParsed", event_id="")), "event_id: String should have at least 1"),
        (
            json.dumps(envelope("JSONParsed", data={**SAMPLES["JSONParsed"], "message_keys": ["a", 5]})),
            "JSONParsed: data.message_keys.1: Input should be a valid string",
        ),
        (
            json.dumps(envelope("JSONParsed", data={**SAMPLES["JSONParsed"], "message_keys": []})),
            "data.message_keys: List should have at least 1",
        ),
        (
            json.dumps(envelope("JSONParsed", data={**SAMPLES["JSONParsed"], "message_count": "2"})),
            "data.message_count: Input should be a valid integer",
        ),
        (json.dumps(envelope("JSONParsed", attempt=10**12)), "attempt: Input should be less"),
        (json.dumps(envelope("JSONParsed", event_id="a\nb")), "event_id: String should match"),
        (
            json.dumps(envelope("JSONParsed", session={"../x": "t"})),
            "session.../x.[key]: String should match",
        ),
        (json.dumps(envelope("JSONParsed", session={"a": "t\r\nx: y"})), "session.a: String should match"),
    ],
)
def test_what_is_no_event_is_refused_with_the_path_of_the_fault(body: bytes | str, says: str) -> None:
    with pytest.raises(InvalidEventError, match=re.escape(says)):
        parse_event(body)


def test_an_event_of_a_later_version_is_left_to_the_app_that_sent_it() -> None:
    with pytest.raises(NewerVersionError, match=r"version 2\.0 is newer than this app's 1\.x"):
        parse_event(json.dumps(envelope("JSONParsed", version="2.0")))


BAD_IDS = ["../../etc", "..", ".", "a/b", "a\\b", "a?b", "a#b", "a\x00b", "a\nb", "a\x9bb", "x" * 256]


@pytest.mark.parametrize("bad", BAD_IDS)
@pytest.mark.parametrize("event_type", SAMPLES)
def test_no_event_may_name_what_cannot_be_a_documents_id(event_type: str, bad: str) -> None:
    sample = SAMPLES[event_type]
    named = [name for name in ("archive_id", "thread_id", "report_id") if sample.get(name)]
    lists = [name for name in ("chunk_ids", "message_keys", "thread_ids") if sample.get(name)]
    assert named or lists or event_type == "ArchiveIngestionFailed"
    for name in named:
        with pytest.raises(InvalidEventError, match=rf"data\.{name}: String should"):
            parse_event(json.dumps(envelope(event_type, data={**sample, name: bad})))
    for name in lists:
        with pytest.raises(InvalidEventError, match=rf"data\.{name}\.0: String should"):
            parse_event(json.dumps(envelope(event_type, data={**sample, name: [bad]})))


@pytest.mark.parametrize(
    "bad", ["../../etc/passwd", "a//b", "//etc/passwd", "/../etc/passwd", "a/./b", "a\nb", ""]
)
def test_an_archives_file_is_inside_its_container(bad: str) -> None:
    with pytest.raises(
        InvalidEventError, match="file_path: Value error, must be a path inside the container"
    ):
        parse_event(
            json.dumps(envelope("ArchiveIngested", data={**SAMPLES["ArchiveIngested"], "file_path": bad}))
        )


@pytest.mark.parametrize("bad", BAD_IDS)
def test_what_cannot_be_an_id_does_not_reach_an_address(bad: str) -> None:
    with pytest.raises(InvalidIdError):
        checked_id(bad)


def test_ids_of_ours_can_be_ids() -> None:
    for id_ in (
        "0123456789abcdef",
        "weekly:tally:2024-W03",
        "draft:draft-ietf-x",
        "rpt-1",
        "<a@b>",
        "a.b",
        "naïve",
    ):
        assert checked_id(id_) == id_


# The first value takes a second on a busy machine.
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    )
)
def test_no_json_value_breaks_the_reader(value: Any) -> None:
    for body in (value, envelope("ChunksPrepared", data=value), envelope("ChunksPrepared", session=value)):
        try:
            parse_event(json.dumps(body))
        except InvalidEventError as error:
            assert str(error)  # noqa: PT017 - valid values are possible too


@pytest.mark.requirement("R-105")
def test_the_same_announcement_has_the_same_ids_and_another_attempt_has_others() -> None:
    data = parsed_messages(3)
    first, again = Event.of(data, now=NOW), event_of(data, session={"messages": "0:-1#9"})
    assert (first.message_id, first.event_id) == (again.message_id, again.event_id)
    assert event_of(data, attempt=2).message_id != first.message_id
    later = data.model_copy(update={"parsing_duration_seconds": 99.0})
    assert event_of(later).message_id == first.message_id
    other = data.model_copy(update={"message_keys": ["x", *data.message_keys[1:]]})
    assert event_of(other).message_id != first.message_id


@pytest.mark.requirement("R-105")
def test_an_event_id_is_a_uuid_version_4() -> None:
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        event_of(parsed_messages(1)).event_id,
    )


@pytest.mark.requirement("R-705")
def test_the_idempotency_key_names_the_stage_and_three_ids() -> None:
    data = ChunksPrepared(**{**SAMPLES["ChunksPrepared"], "chunk_ids": ["abc", "def", "ghi"]})
    assert event_of(data).idempotency_key() == "embedding-abc-def-ghi"


@pytest.mark.requirement("R-705")
def test_more_ids_than_three_are_told_apart() -> None:
    keys = {
        event_of(
            ChunksPrepared(**{**SAMPLES["ChunksPrepared"], "chunk_ids": ["a", "b", "c", last]})
        ).idempotency_key()
        for last in "defg"
    }
    assert len(keys) == 4
    assert all(key.startswith("embedding-a-b-c-") for key in keys)


@pytest.mark.requirement("R-705")
def test_an_idempotency_key_is_always_a_valid_document_id() -> None:
    data = ReportPublished(**{**SAMPLES["ReportPublished"], "report_id": "a:b <c>"})
    assert re.fullmatch(r"[A-Za-z0-9-]+", event_of(data).idempotency_key("reporting"))


def test_an_event_that_fits_is_not_split() -> None:
    data = parsed_messages(10)
    assert split_to_fit(data) == [data]


@pytest.mark.parametrize("count", [1, 2, 2000, 9000])
def test_a_large_event_is_split_into_whole_threads_and_nothing_is_lost(count: int) -> None:
    data = parsed_messages(count)
    parts = split_to_fit(data)
    assert [key for part in parts for key in part.message_keys] == data.message_keys
    assert all(len(event_of(part).to_json()) <= MAX_EVENT_BYTES for part in parts)
    assert all(part.message_count == len(part.message_keys) == len(part.message_threads) for part in parts)
    assert [thread for part in parts for thread in part.thread_ids] == data.thread_ids
    assert all(part.thread_count == len(part.thread_ids) for part in parts)


def test_one_thread_larger_than_an_event_is_split_all_the_same() -> None:
    parts = split_to_fit(parsed_messages(5000, per_thread=5000))
    assert len(parts) > 1
    assert sum(part.message_count for part in parts) == 5000
    assert all(part.thread_ids == ["0" * 16] for part in parts)


def test_chunks_keep_their_messages_when_split() -> None:
    count = 3000
    data = ChunksPrepared(
        message_keys=[f"m{i}" for i in range(count // 2)], chunk_count=count,
        chunk_ids=[f"{i:016x}" for i in range(count)], chunks_ready=True, chunking_strategy="recursive",
        avg_chunk_size_tokens=100, chunk_threads=["t" * 16] * count,
        chunk_messages=[f"m{i // 2}" for i in range(count)],
    )  # fmt: skip
    parts = split_to_fit(data)
    assert len(parts) > 1
    for part in parts:
        assert part.message_keys == list(dict.fromkeys(part.chunk_messages))
        assert part.chunk_count == len(part.chunk_ids)


def test_threads_stay_whole_when_their_chunks_are_split_and_one_without_chunks_is_named_once() -> None:
    threads = [f"thread-{number // 40:04}" for number in range(2000)]
    prepared = ChunksPrepared(
        message_keys=["m"],
        chunk_count=2000,
        chunk_ids=[f"chunk-{number:08}" for number in range(2000)],
        chunks_ready=True,
        chunking_strategy="recursive",
        avg_chunk_size_tokens=1.0,
        chunk_threads=threads,
        thread_ids=[*dict.fromkeys(threads), "without-text"],
    )
    parts = split_to_fit(prepared)
    assert len(parts) > 1
    named = [thread_id for part in parts for thread_id in part.thread_ids]
    assert sorted(named) == sorted(prepared.thread_ids)
    assert all(set(part.chunk_threads) <= set(part.thread_ids) for part in parts)


def test_an_event_that_cannot_be_split_is_refused() -> None:
    data = ArchiveIngested.model_validate_json(
        json.dumps({**SAMPLES["ArchiveIngested"], "source_url": "x" * MAX_EVENT_BYTES})
    )
    with pytest.raises(EventTooLargeError, match="ArchiveIngested has"):
        split_to_fit(data)
