"""The receiver, as the real exporter and clients of the query API see it."""

import gzip
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.monitor.opentelemetry.exporter import AzureMonitorMetricExporter, AzureMonitorTraceExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, format_span_id, format_trace_id

from tests.support.http import exchange
from tests.support.receiver import Receiver, receiving

TRACK = "/v2.1/track"
QUIET = (
    "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL",
    "APPLICATIONINSIGHTS_SDKSTATS_DISABLED",
    "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED",
)


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with receiving(tmp_path_factory.mktemp("receiver")) as running:
        yield running


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in QUIET:
        monkeypatch.setenv(name, "true")


def at(seconds_ago: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds_ago)).isoformat().replace("+00:00", "Z")


def metric(name: str, value: float, seconds_ago: float = 1, **labels: str) -> dict[str, Any]:
    return {
        "time": at(seconds_ago),
        "data": {
            "baseType": "MetricData",
            "baseData": {"metrics": [{"name": name, "value": value, "count": 1}], "properties": labels},
        },
    }


def span(trace: str, id_: str, parent: str | None = None, **attributes: str) -> dict[str, Any]:
    tags = {"ai.operation.id": trace} | ({"ai.operation.parentId": parent} if parent else {})
    return {
        "time": at(1),
        "tags": tags,
        "data": {
            "baseType": "RequestData",
            "baseData": {
                "id": id_,
                "name": f"span {id_}",
                "duration": "1.02:03:04.005",
                "responseCode": "0",
                "success": True,
                "properties": attributes,
            },
        },
    }


def message(text: str, level: int, trace: str | None = None) -> dict[str, Any]:
    return {
        "time": at(1),
        "tags": {"ai.operation.id": trace} if trace else {},
        "data": {"baseType": "MessageData", "baseData": {"message": text, "severityLevel": level}},
    }


def send(receiver: Receiver, *envelopes: dict[str, Any]) -> None:
    status, answer = receiver.request(TRACK, json.dumps(envelopes).encode())
    assert (status, answer["errors"]) == (200, [])


def test_spans_of_the_real_exporter_are_found_by_trace_and_by_attribute(receiver: Receiver) -> None:
    exporter = AzureMonitorTraceExporter(
        connection_string=receiver.connection_string, disable_offline_storage=True
    )
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("stage parsing", kind=SpanKind.CONSUMER) as parent:
        parent.set_attribute("pipeline.archive_id", "a-real-exporter")
        parent.set_status(Status(StatusCode.ERROR))
        with tracer.start_as_current_span("publish", kind=SpanKind.PRODUCER) as child:
            pass
    provider.shutdown()

    trace_id = format_trace_id(parent.get_span_context().trace_id)
    trace = receiver.ask(f"/api/traces/{trace_id}")
    by_name = {span["name"]: span for span in trace["spans"]}
    assert trace["unknown_parents"] == []
    assert by_name["stage parsing"]["kind"] == "request"
    assert by_name["stage parsing"]["success"] is False
    assert by_name["stage parsing"]["parent_id"] is None
    assert by_name["publish"]["parent_id"] == format_span_id(parent.get_span_context().span_id)
    assert by_name["publish"]["span_id"] == format_span_id(child.get_span_context().span_id)
    (found,) = receiver.ask("/api/spans", **{"pipeline.archive_id": "a-real-exporter"})["spans"]
    assert found == by_name["stage parsing"]


def test_metrics_of_the_real_exporter_arrive_with_their_labels(receiver: Receiver) -> None:
    exporter = AzureMonitorMetricExporter(
        connection_string=receiver.connection_string, disable_offline_storage=True
    )
    provider = MeterProvider([PeriodicExportingMetricReader(exporter)])
    meter = provider.get_meter("test")
    counter, histogram = meter.create_counter("real_total"), meter.create_histogram("real_seconds")
    counter.add(2, {"service": "chunking"})
    provider.force_flush()
    counter.add(3, {"service": "chunking"})
    counter.add(7, {"service": "embedding"})
    histogram.record(1.5)
    histogram.record(0.5)
    meter.create_gauge("real_depth").set(9)
    provider.shutdown()

    chunking = receiver.metric("real_total", service="chunking")
    assert chunking is not None
    assert (chunking["total"], chunking["last"], chunking["window"]["sum"]) == (5, 3, 5)
    assert chunking["window"]["per_second"] == pytest.approx(5 / 300)
    seconds = receiver.metric("real_seconds")
    assert seconds is not None
    assert (seconds["count"], seconds["total"], seconds["min"], seconds["max"]) == (2, 2.0, 0.5, 1.5)
    assert seconds["window"]["mean"] == 1.0
    depth = receiver.metric("real_depth")
    assert depth is not None
    assert depth["last"] == 9


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("lines", [False, True], ids=["array", "lines"])
def test_envelopes_are_taken_as_an_array_or_a_line_each_packed_or_not(
    receiver: Receiver, packed: bool, lines: bool
) -> None:
    name = f"taken_{packed}_{lines}"
    envelopes = [metric(name, 1), metric(name, 2)]
    text = "\n".join(map(json.dumps, envelopes)) if lines else json.dumps(envelopes)
    body = gzip.compress(text.encode()) if packed else text.encode()

    status, answer = receiver.request(TRACK, body, {"Content-Encoding": "gzip"} if packed else {})

    assert (status, answer) == (200, {"itemsReceived": 2, "itemsAccepted": 2, "errors": []})
    found = receiver.metric(name)
    assert found is not None
    assert found["total"] == 3


def test_a_bad_envelope_is_refused_by_its_place_and_the_others_are_kept(receiver: Receiver) -> None:
    bad = {"time": "yesterday", "data": {"baseType": "MetricData", "baseData": {}}}
    body = json.dumps([metric("kept_total", 1), bad, "no envelope", metric("kept_total", 1)]).encode()

    status, answer = receiver.request(TRACK, body)

    assert (status, answer["itemsReceived"], answer["itemsAccepted"]) == (206, 4, 2)
    assert [error["index"] for error in answer["errors"]] == [1, 2]
    kept = receiver.metric("kept_total")
    assert kept is not None
    assert kept["total"] == 2


@pytest.mark.parametrize(
    ("body", "headers", "says"),
    [
        (b"{not json", {}, "neither a JSON array"),
        (b"[" * 100_000, {}, "neither a JSON array"),
        (b"\xff\xfe", {}, "neither a JSON array"),
        (b"plain", {"Content-Encoding": "gzip"}, "not gzip"),
        (gzip.compress(b"[]")[:-6], {"Content-Encoding": "gzip"}, "cut off"),
        (gzip.compress(b" " * (40 * 1024 * 1024)), {"Content-Encoding": "gzip"}, "more than"),
        (b"[]", {"Content-Encoding": "br"}, "send gzip"),
    ],
    ids=["no JSON", "deep", "no text", "no gzip", "cut off", "a bomb", "another packing"],
)
def test_a_body_that_cannot_be_read_is_refused_with_the_reason(
    receiver: Receiver, body: bytes, headers: dict[str, str], says: str
) -> None:
    status, answer = receiver.request(TRACK, body, headers)

    assert status == 400
    assert says in answer["errors"][0]["message"]
    assert receiver.ask("/_localcloud/health")["status"] == "ok"


def test_a_trace_names_the_parents_that_it_does_not_know(receiver: Receiver) -> None:
    send(receiver, span("t-gap", "s1"), span("t-gap", "s2", "s1"), span("t-gap", "s3", "gone"))

    assert receiver.ask("/api/traces/t-gap")["unknown_parents"] == ["gone"]


def test_a_span_that_is_sent_twice_is_kept_once(receiver: Receiver) -> None:
    send(receiver, span("t-twice", "s1"))
    send(receiver, span("t-twice", "s1"))

    (kept,) = receiver.ask("/api/traces/t-twice")["spans"]
    assert kept["duration_ms"] == 93_784_005


def test_a_span_about_several_threads_is_found_by_each(receiver: Receiver) -> None:
    about = {"pipeline.thread_ids": "th1 th2", "pipeline.message_keys": "m1 m2", "pipeline.stage": "chunking"}
    send(receiver, span("t-many", "s1", **about))

    for thread in ("th1", "th2"):
        asked = {"pipeline.thread_id": thread, "pipeline.stage": "chunking"}
        assert len(receiver.ask("/api/spans", **asked)["spans"]) == 1
    assert len(receiver.ask("/api/spans", **{"pipeline.message_key": "m2"})["spans"]) == 1
    asked = {"pipeline.thread_id": "th1", "pipeline.stage": "parsing"}
    assert receiver.ask("/api/spans", **asked)["spans"] == []


def test_a_timeline_has_the_complete_traces_of_matching_spans(receiver: Receiver) -> None:
    send(
        receiver,
        span("t-line", "s1"),
        span("t-line", "s2", "s1", **{"pipeline.thread_id": "th-line"}),
        message("on the way", 1, "t-line"),
        span("t-other", "s1"),
    )

    found = receiver.ask("/api/timeline", **{"pipeline.thread_id": "th-line"})

    assert [span["span_id"] for span in found["spans"]] == ["s1", "s2"]
    assert [log["message"] for log in found["logs"]] == ["on the way"]


def test_logs_are_found_by_level_trace_and_exception(receiver: Receiver) -> None:
    exception = {
        "time": at(1),
        "tags": {"ai.operation.id": "t-logs"},
        "data": {
            "baseType": "ExceptionData",
            "baseData": {"exceptions": [{"typeName": "ValueError", "message": "m", "stack": "s"}]},
        },
    }
    send(receiver, message("fine", 1, "t-logs"), message("careful", 2, "t-logs"), exception)

    def asked(**parameters: str) -> list[tuple[str, str]]:
        found = receiver.ask("/api/logs", trace_id="t-logs", **parameters)["logs"]
        return sorted((span["level"], span["message"]) for span in found)

    assert asked() == [("error", "m"), ("info", "fine"), ("warning", "careful")]
    assert asked(level="warning") == [("error", "m"), ("warning", "careful")]
    assert asked(exceptions="true") == [("error", "m")]


def test_older_values_than_the_window_count_only_in_the_total(receiver: Receiver) -> None:
    send(receiver, metric("rate_total", 100, seconds_ago=1000), metric("rate_total", 30, seconds_ago=5))

    (found,) = receiver.ask("/api/metrics/rate_total", window="60")["metrics"]

    assert (found["total"], found["last"]) == (130, 30)
    assert (found["window"]["sum"], found["window"]["per_second"]) == (30, 0.5)


def test_more_results_than_the_limit_are_reported_and_the_newest_are_first(receiver: Receiver) -> None:
    send(receiver, *(span("t-limit", f"s{n}", **{"pipeline.stage": "limit"}) for n in range(5)))

    found = receiver.ask("/api/spans", limit="3", **{"pipeline.stage": "limit"})

    assert [span["span_id"] for span in found["spans"]] == ["s4", "s3", "s2"]
    assert found["more"] is True
    assert receiver.ask("/api/spans", limit="5", **{"pipeline.stage": "limit"})["more"] is False


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/api/spans?limit=0", 400, "limit=0: give a number from 1 to 5000"),
        ("/api/spans?limit=many", 400, "limit=many"),
        ("/api/spans?stage=chunking", 400, "stage: unknown parameter"),
        ("/api/spans?since=lately", 400, "since=lately: give an ISO 8601 time"),
        ("/api/spans?success=yes", 400, "success=yes: give true or false"),
        ("/api/logs?level=loud", 400, "level=loud: give one of debug"),
        ("/api/traces/none", 404, "none: this trace is unknown"),
        ("/api/nothing", 404, "Use /api/traces/..."),
        ("/other", 404, "unknown path"),
    ],
)
def test_an_invalid_query_gets_an_error_that_names_the_problem(
    receiver: Receiver, path: str, status: int, says: str
) -> None:
    given, answer = receiver.request(path)

    assert given == status
    assert says in answer["error"]


def test_a_page_under_another_name_cannot_read_along(receiver: Receiver) -> None:
    status, answer = receiver.request("/api/metrics", headers={"Host": "evil.example"})

    assert status == 403
    assert "Host" in answer["error"]


def test_live_metrics_are_told_that_there_is_no_viewer(receiver: Receiver) -> None:
    port = int(receiver.endpoint.rpartition(":")[2])
    request = (
        b"POST /QuickPulseService.svc/ping?ikey=x HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Connection: close\r\nContent-Length: 0\r\n\r\n"
    )
    assert b"x-ms-qps-subscribed: false" in exchange(port, request)


def test_accepted_telemetry_survives_a_restart(tmp_path: Path) -> None:
    with receiving(tmp_path) as first:
        send(first, span("t-kept", "s1"), metric("kept_total", 4))
    with receiving(tmp_path) as second:
        assert len(second.ask("/api/traces/t-kept")["spans"]) == 1
        kept = second.metric("kept_total")
        assert kept is not None
        assert kept["total"] == 4


def test_nothing_is_logged_as_an_error_by_the_receiver(receiver: Receiver) -> None:
    assert f" {logging.getLevelName(logging.ERROR)} " not in receiver.service.log.read_text()
