"""The receiver has the whole trace, metrics and logs of an archive in all stages, and no mail."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusSubQueue

from shared.azure.telemetry.metrics import METRICS
from tests.ops.commands import run_command, write_settings
from tests.stages.mail_in import mail
from tests.support.app import RunningApp, running_app
from tests.support.cloud import AppCloud, wait_for
from tests.support.kills import settings_values
from tests.support.receiver import receiving
from tests.support.services import RunningService
from tests.support.span_attributes import COUNT_PREFIX, SPAN_ATTRIBUTES
from tests.system.telemetry.query_api import WORKSPACE, query_api

STAGES = ("parsing", "chunking", "embedding", "orchestration", "summarization", "reporting")
THREADS = 3
BODY = "The zebracorn clause must not leave the archive: its password is swordfish-4711."
CONNECTION = "APPLICATIONINSIGHTS_CONNECTION_STRING"
SUBJECT = "Adoption of draft-zebracorn"
# An address, a name, words of a body and of a subject, and the app's keys.
PRIVATE = (
    "zebracorn", "swordfish-4711", "@example.org", "Ada Example", "mallory@", "purple monkey",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==",
    "localcloud-search-admin-key", "SAS_KEY_VALUE",
)  # fmt: skip

SETTINGS = {
    "RETRY_BASE_DELAY_MS": "1",
    "ALLOW_LOCAL_SOURCES": "true",
}


def archive() -> bytes:
    first = [mail(n * 10, subject=f"{SUBJECT} {n}", body=BODY) for n in range(THREADS)]
    answers = [
        mail(n * 10 + 1, parent=n * 10, subject=f"Re: {SUBJECT} {n}", body=f"+1, I agree.\n\n{BODY}")
        for n in range(THREADS)
    ]
    return b"".join([*first, *answers])


@pytest.fixture(scope="module")
def app(
    cloud: AppCloud, bus_service: RunningService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningApp]:
    folder = tmp_path_factory.mktemp("app")
    with (
        receiving(folder) as receiver,
        running_app(cloud, bus_service, receiver, folder, **SETTINGS) as app,
    ):
        yield app


@pytest.fixture(scope="module")
def archive_id(app: RunningApp) -> str:
    """Process an archive through all stages, and return its id."""
    id_ = app.upload(archive(), "traced")
    wait_for(
        lambda: len(app.spans(pipeline__archive_id=id_, pipeline__stage="reporting")) >= THREADS,
        seconds=90,
        what="a report of each thread",
    )
    return id_


@pytest.fixture(scope="module")
def trace(app: RunningApp, archive_id: str) -> dict[str, Any]:
    trace_ids = {span["trace_id"] for span in app.spans(pipeline__archive_id=archive_id)}
    (trace_id,) = trace_ids

    def with_its_logs() -> dict[str, Any] | None:
        found = app.receiver.ask(f"/api/traces/{trace_id}")
        last = [log for log in found["logs"] if log["message"].startswith("reporting processed")]
        return found if len(last) == THREADS else None

    return dict(wait_for(with_its_logs, what="the last stage's log lines"))


def test_the_trace_of_an_archive_is_whole_from_upload_to_reports(trace: dict[str, Any]) -> None:
    roots = [span["name"] for span in trace["spans"] if span["parent_id"] is None]

    assert trace["unknown_parents"] == []
    assert roots == ["upload"]
    assert {span["name"] for span in trace["spans"]} == {
        "upload",
        *(f"stage {name}" for name in STAGES),
    }


def test_each_stage_follows_the_one_that_announced_its_event(trace: dict[str, Any]) -> None:
    names = {found_span["span_id"]: found_span["name"] for found_span in trace["spans"]}
    order = ["upload", *(f"stage {name}" for name in STAGES)]

    for span in trace["spans"]:
        if span["parent_id"] is not None:
            assert names[span["parent_id"]] == order[order.index(span["name"]) - 1]


def test_a_thread_is_found_in_every_stage_that_had_it(app: RunningApp, trace: dict[str, Any]) -> None:
    threads = {
        span["attributes"]["pipeline.thread_id"]
        for span in trace["spans"]
        if span["name"] == "stage reporting"
    }
    assert len(threads) == THREADS
    for thread in threads:
        stages = {span["attributes"]["pipeline.stage"] for span in app.spans(pipeline__thread_id=thread)}
        assert stages == set(STAGES[1:])  # parsing determines the threads


@pytest.mark.parametrize("of", ["archive", "thread", "event", "trace"])
def test_the_timeline_of_an_operator_has_the_spans_of_every_stage(
    app: RunningApp, archive_id: str, trace: dict[str, Any], tmp_path: Path, of: str
) -> None:
    reporting = next(span for span in trace["spans"] if span["name"] == "stage reporting")
    id_ = {
        "archive": archive_id,
        "thread": reporting["attributes"]["pipeline.thread_id"],
        "event": reporting["attributes"]["pipeline.event_id"],
        "trace": trace["trace_id"],
    }[of]
    values = {**settings_values(app.settings), CONNECTION: app.receiver.connection_string}
    settings = str(write_settings(tmp_path, values))
    story = run_command("--settings", settings, "timeline", id_, "--json").json()
    spans = [moment for moment in story if moment["what"].startswith("span ")]
    told = {(span["where"], span["what"].split(":")[0].removeprefix("span ")) for span in spans}
    assert told == {("telemetry", "upload"), *((name, f"stage {name}") for name in STAGES)}
    assert {event_span["trace_id"] for event_span in spans} == {trace["trace_id"]}
    assert [moment["at"] for moment in story] == sorted(moment["at"] for moment in story)
    kept = {moment["where"].partition("/")[0] for moment in story if "/" in moment["where"]}
    documents = {
        "archive": {"archives", "threads"},
        "thread": {"threads", "messages", "summaries", "reports"},  # its first message has the same id
    }
    assert kept == documents.get(of, set())
    shown = run_command("--settings", settings, "timeline", id_)
    assert (shown.code, shown.err) == (0, "")
    assert "stage summarization" in shown.out


def test_the_timeline_reads_the_same_spans_from_application_insights(
    app: RunningApp, archive_id: str, trace: dict[str, Any], tmp_path: Path
) -> None:
    with query_api(app.receiver.folder) as endpoint:
        azure = {"LOG_WORKSPACE_ID": WORKSPACE, "LOG_QUERY_ENDPOINT": endpoint, CONNECTION: ""}
        settings = str(write_settings(tmp_path, {**settings_values(app.settings), **azure}))
        story = run_command("--settings", settings, "timeline", archive_id, "--json").json()
    spans = [entry for entry in story if entry["what"].startswith("span ")]
    told = {(entry["where"], entry["what"].split(":")[0].removeprefix("span ")) for entry in spans}
    assert told == {("telemetry", "upload"), *((name, f"stage {name}") for name in STAGES)}
    assert {entry["trace_id"] for entry in spans} == {trace["trace_id"]}


def test_spans_have_only_the_attributes_of_the_list(trace: dict[str, Any]) -> None:
    used = {name for span in trace["spans"] for name in span["attributes"]}

    assert {name for name in used if not name.startswith(COUNT_PREFIX)} <= SPAN_ATTRIBUTES
    (parsing,) = [span for span in trace["spans"] if span["name"] == "stage parsing"]
    assert parsing["attributes"]["pipeline.count.messages"] == str(2 * THREADS)


def test_log_lines_belong_to_their_stage(trace: dict[str, Any]) -> None:
    names = {span["span_id"]: span["name"] for span in trace["spans"]}
    said = {(names[log["span_id"]], log["message"].split(" in ")[0]) for log in trace["logs"]}

    for stage in STAGES:
        assert any(name == f"stage {stage}" and text.startswith(f"{stage} processed") for name, text in said)


@pytest.mark.requirement("R-902")
def test_the_metrics_of_the_stages_arrive_with_the_labels_of_the_list(
    app: RunningApp, archive_id: str
) -> None:
    for stage in STAGES:
        done = wait_for(
            lambda stage=stage: app.receiver.ask("/api/metrics/events_processed_total", service=stage)[
                "metrics"
            ],
            what=f"events of {stage}",
        )
        assert sum(metric["total"] for metric in done) >= 1
    created = app.receiver.metric("chunks_created_total", service="chunking")
    sizes = app.receiver.metric("chunk_size_tokens", service="chunking")
    assert created is not None
    assert sizes is not None
    assert created["total"] == sizes["count"] >= 2 * THREADS
    in_time = wait_for(
        lambda: app.receiver.metric("report_objective_total", met="true"), what="the objective"
    )
    latency = app.receiver.metric("report_latency_seconds")
    assert latency is not None
    assert in_time["total"] == latency["count"] >= THREADS
    assert 0 < latency["max"] < 300
    for metric in app.receiver.ask("/api/metrics")["metrics"]:
        assert frozenset(metric["labels"]) == METRICS[metric["name"]].labels, metric


@pytest.mark.requirement("R-902")
def test_the_lengths_of_the_queues_arrive(app: RunningApp) -> None:
    run_housekeeping(app)

    found = wait_for(
        lambda: app.receiver.ask("/api/metrics/queue_depth")["metrics"], what="the queues' lengths"
    )
    assert {metric["labels"]["service"] for metric in found} >= {"ingestion", "failures", *STAGES}
    assert app.receiver.ask("/api/metrics/dead_letter_depth")["metrics"]
    ages = wait_for(
        lambda: app.receiver.ask("/api/metrics/queue_oldest_message_seconds")["metrics"], what="the ages"
    )
    assert {age["labels"]["service"] for age in ages} >= {"ingestion", "failures", *STAGES}


def test_a_fetch_that_is_asked_for_is_one_trace_from_the_request_to_the_report(
    app: RunningApp, tmp_path: Path
) -> None:
    (tmp_path / "fetched.mbox").write_bytes(mail(500, subject="fetched", body="I propose to fetch it."))
    definition = {"name": "fetched", "source_type": "local", "url": str(tmp_path)}
    _post(f"{app.host.addresses['http']}/api/sources", json.dumps(definition).encode(), 201)
    _post(f"{app.host.addresses['http']}/api/sources/fetched/trigger", b"", 202)
    (stored,) = wait_for(
        lambda: app.spans(pipeline__source="fetched", name="archive fetched"), seconds=30, what="the fetch"
    )
    archive_id = stored["attributes"]["pipeline.archive_id"]
    wait_for(
        lambda: app.spans(pipeline__archive_id=archive_id, pipeline__stage="reporting"),
        seconds=60,
        what="the report of what was fetched",
    )

    trace = app.receiver.ask(f"/api/traces/{stored['trace_id']}")
    names = [span["name"] for span in trace["spans"]]
    assert trace["unknown_parents"] == []
    assert names[:4] == ["fetch requested", "fetch", "archive fetched", "stage parsing"]
    assert names[-1] == "stage reporting"


def test_a_failure_becomes_a_dead_letter_with_its_cause_after_one_log_line_without_mail(
    app: RunningApp,
) -> None:
    """An invalid message with private words in a queue: no telemetry about it contains them."""
    poison = '{"event_type": "JSONParsed", "version": "1.0", "data": {"archive_id": "purple monkey"}}'
    with (
        ServiceBusClient.from_connection_string(_secret(app)) as client,
        client.get_queue_sender("chunking") as sender,
    ):
        sender.send_messages(ServiceBusMessage(poison))
        sender.send_messages(ServiceBusMessage("From mallory@example.org: purple monkey is no event"))

    found = wait_for(
        lambda: app.spans(pipeline__stage="chunking", pipeline__error_type="InvalidEventError"),
        seconds=30,
        what="a failed span",
    )
    assert not any(span["success"] for span in found)
    with (
        ServiceBusClient.from_connection_string(_secret(app)) as client,
        client.get_queue_receiver("chunking", sub_queue=ServiceBusSubQueue.DEAD_LETTER) as receiver,
    ):
        dead = wait_for(
            lambda: len(found := receiver.peek_messages(9, sequence_number=1)) == 2 and found,
            what="the dead letters",
        )
    for message in dead:
        assert message.dead_letter_reason == "MaxDeliveryCountExceeded"
        assert message.application_properties[b"failure_error_type"] == b"InvalidEventError"
        assert message.application_properties[b"failure_service_name"] == b"chunking"
    failed = wait_for(
        lambda: app.receiver.ask(
            "/api/metrics/failures_total", service="chunking", error_type="InvalidEventError"
        )["metrics"],
        what="the count of failures",
    )
    assert failed[0]["total"] >= 1
    logs = wait_for(
        lambda: app.receiver.ask("/api/logs", exceptions="true")["logs"], what="an exception in the log"
    )
    assert len([log for log in logs if log["message"].startswith("chunking gave up on")]) == len(logs) == 2


@pytest.mark.requirement("R-1104")
def test_nothing_that_was_sent_holds_mail_addresses_or_secrets(app: RunningApp, archive_id: str) -> None:
    everything = app.receiver.everything()
    raw = b"".join(file.read_bytes() for file in app.receiver.folder.iterdir())

    assert archive_id in everything
    for private in PRIVATE:
        assert private not in everything, private
        assert private.encode() not in raw, private


def test_what_is_left_is_sent_when_the_host_drains(
    cloud: AppCloud, bus_service: RunningService, app: RunningApp
) -> None:
    """The host stops, so this test must be the last of the module."""
    app.upload(mail(900, subject="the last one", body="Short."), "drained")
    assert app.host.stop() == 0

    assert app.spans(pipeline__source="drained", name="upload")


def _secret(app: RunningApp) -> str:
    assert app.settings.SERVICEBUS_CONNECTION is not None
    return app.settings.SERVICEBUS_CONNECTION.get_secret_value()


def run_housekeeping(app: RunningApp) -> None:
    """Run the housekeeping as the timer does."""
    _post(app.host.addresses["http"] + "/admin/functions/housekeeping", b'{"input": ""}', 202)


def status_of(app: RunningApp, path: str) -> int:
    try:
        app.get(path)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def _post(url: str, body: bytes, expected: int) -> None:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == expected
