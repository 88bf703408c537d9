"""Spans from Application Insights: sent by the real exporter, and queried with Azure's own client."""

import pytest
from opentelemetry.trace import SpanKind, set_span_in_context

from shared.azure.telemetry.spans import NoSpansError, ReceivedSpans, WorkspaceSpans, span_store
from tests.system.telemetry.conftest import Sender
from tests.system.telemetry.query_api import WORKSPACE, query_api


def send_trace(sender: Sender, archive: str, *threads: str) -> str:
    """Send an upload and a stage for it, and return the trace's id."""
    tracer = sender.tracers.get_tracer("app")
    upload = tracer.start_span("upload", attributes={"pipeline.archive_id": archive})
    attributes = {"pipeline.archive_id": archive, "pipeline.stage": "parsing"}
    named = {"pipeline.thread_ids": " ".join(threads)} if threads else {}
    tracer.start_span(
        "stage parsing",
        kind=SpanKind.CONSUMER,
        context=set_span_in_context(upload),
        attributes=attributes | named,
    ).end()
    upload.end()
    return f"{upload.get_span_context().trace_id:032x}"


async def test_whole_traces_are_found_by_an_archive_a_thread_among_others_and_a_trace(sender: Sender) -> None:
    trace = send_trace(sender, "a1", "t1", "t2")
    send_trace(sender, "a2", "t3")
    with query_api(sender.receiver.folder) as endpoint:
        spans = WorkspaceSpans(WORKSPACE, endpoint)
        asked = [("a1", ["archives"]), ("t2", ["threads"]), (trace, []), ("t2", ["messages", "threads"])]
        for id_, containers in asked:
            found = await spans.about(id_, containers)
            assert {span["trace_id"] for span in found} == {trace}, id_
            assert {span["name"] for span in found} == {"upload", "stage parsing"}, id_
            assert all(span["success"] and span["duration_ms"] >= 0 for span in found)
            stages = [span["attributes"].get("pipeline.stage") for span in found]
            assert sorted(filter(None, stages)) == ["parsing"]
        assert await spans.about("unknown", ["archives"]) == []


async def test_a_workspace_that_cannot_be_asked_is_named_and_no_id_becomes_a_part_of_the_query(
    sender: Sender,
) -> None:
    with query_api(sender.receiver.folder) as endpoint:
        with pytest.raises(NoSpansError, match=r"could not be asked: .*no workspace"):
            await WorkspaceSpans("another", endpoint).about("a1", ["archives"])
        for hostile in ('a" or true', "a\\", "a\n| union *", "", "é"):
            with pytest.raises(NoSpansError, match="no ids with such characters"):
                await WorkspaceSpans(WORKSPACE, endpoint).about(hostile, ["archives"])
    with pytest.raises(NoSpansError, match="could not be asked"):
        await WorkspaceSpans(WORKSPACE, endpoint).about("a1", ["archives"])  # no server listens


def test_where_spans_are_asked_for_follows_from_the_settings() -> None:
    local = {"APPLICATIONINSIGHTS_CONNECTION_STRING": "IngestionEndpoint=http://127.0.0.1:4319/"}
    azure = {
        "APPLICATIONINSIGHTS_CONNECTION_STRING": "IngestionEndpoint=https://x.in.applicationinsights.azure.com/"
    }

    assert isinstance(span_store({**local, "LOG_WORKSPACE_ID": WORKSPACE}), ReceivedSpans)
    assert isinstance(span_store({**azure, "LOG_WORKSPACE_ID": WORKSPACE}), WorkspaceSpans)
    assert span_store(azure) is None
