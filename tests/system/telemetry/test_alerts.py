"""Each alert's query, run on what the real exporter sent to the receiver: it is quiet, and then it fires."""

import re
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from shared.clients.call_metrics import Calls
from shared.clients.telemetry.metrics import METRICS, SweepMetrics
from tests.infra.kql_engine import KqlError, Rows, run_kql
from tests.infra.plans import of_type
from tests.infra.test_dashboards import KQL, condition, query_alerts
from tests.support.cloud import LocalCloud
from tests.support.services import RunningService
from tests.system.telemetry.conftest import Sender
from tests.system.telemetry.tables import azure_metric, tables_of
from tests.upkeep.sweep.environment import SweepPlace, sweep_place

UNITS = {"D": 86_400, "H": 3600, "M": 60}
STUCK = "retry_job_stuck_documents"
NEEDS_MORE = {
    "alert-service-silent",
    "alert-stuck-documents",  # says nothing before there is most of an hour to look at
    "pipeline-index",  # nor this without one of two errors
}


def window_seconds(rule: Any) -> int:
    """How far back the query sees: its own range where it has one."""
    written = rule.properties["overrideQueryTimeRange"] or rule.properties["windowSize"]
    found = re.fullmatch(r"PT?(\d+)([DHM])", written)
    assert found is not None
    return int(found[1]) * UNITS[found[2]]


def fires(alert: str, tables: Mapping[str, Rows], now: float | None = None) -> set[tuple[str, ...]]:
    """What the alert fires for: the values of its dimensions, () where it has none."""
    rule, now = query_alerts()[alert], time.time() + 1 if now is None else now
    asked, since = condition(rule), now - window_seconds(rule)
    seen = {
        name: [row for row in rows if since < row["TimeGenerated"] <= now] for name, rows in tables.items()
    }
    dimensions = [dimension["name"] for dimension in asked["dimensions"]]
    return {
        tuple(row[name] for name in dimensions)
        for row in run_kql(asked["query"], seen, now)
        if row[asked["metricMeasureColumn"]] is not None
        and row[asked["metricMeasureColumn"]] > asked["threshold"]
    }


def sent(sender: Sender, **options: float) -> dict[str, Rows]:
    return tables_of(sender.receiver.folder, **options)


def test_documents_that_stay_stuck_for_an_hour_fire_and_a_short_peak_does_not(sender: Sender) -> None:
    name = "retry_job_stuck_documents"
    sender.emit(name, 51, collection="chunks")
    sender.emit(name, 50, collection="messages")
    early = sent(sender, later=-50 * 60)["AppMetrics"]
    late = sent(sender)["AppMetrics"]

    assert fires("stuck-documents", {"AppMetrics": late}) == set()  # not yet for an hour
    assert fires("stuck-documents", {"AppMetrics": early + late}) == {("chunks",)}

    sender.emit(name, 3, collection="chunks")  # went down within the hour
    assert fires("stuck-documents", {"AppMetrics": early + sent(sender)["AppMetrics"]}) == set()


def test_more_than_ten_documents_out_of_attempts_in_an_hour_fire(sender: Sender) -> None:
    name = "retry_job_documents_max_retries_exceeded_total"
    sender.emit(name, 10, collection="chunks")
    assert fires("max-retries-exceeded", sent(sender)) == set()

    sender.emit(name, 1, collection="chunks")
    assert fires("max-retries-exceeded", sent(sender)) == {("chunks",)}
    assert fires("max-retries-exceeded", sent(sender, later=-7200)) == set()  # long ago


def test_more_than_a_thousand_failed_documents_fire_by_the_newest_count(sender: Sender) -> None:
    sender.emit("retry_job_failed_documents", 1001, collection="threads")
    assert fires("many-failed-documents", sent(sender)) == {("threads",)}

    sender.emit("retry_job_failed_documents", 5, collection="threads")
    assert fires("many-failed-documents", sent(sender)) == set()


def test_a_sweep_that_fails_fires_and_one_that_is_silent_fires_too(sender: Sender) -> None:
    nothing: dict[str, Rows] = {"AppMetrics": []}
    assert fires("sweep-silent", nothing) == set()  # the rule is deployed before the app
    sender.emit("events_processed_total", 1, service="parsing", event_type="ArchiveIngested")
    assert fires("sweep-silent", sent(sender)) == set()  # an app that has just started
    started = sent(sender, later=-2 * 3600)["AppMetrics"]
    assert fires("sweep-silent", {"AppMetrics": started + sent(sender)["AppMetrics"]}) == {()}
    assert fires("sweep-silent", {"AppMetrics": started}) == {()}  # and one that says nothing any more

    sender.emit("retry_job_runs_total", 1, status="success")
    assert fires("sweep-silent", {"AppMetrics": started + sent(sender)["AppMetrics"]}) == set()
    assert fires("sweep-failed", sent(sender)) == set()

    sender.emit("retry_job_runs_total", 1, status="failure")
    assert fires("sweep-failed", sent(sender)) == {()}


@pytest_asyncio.fixture
async def place(cloud: LocalCloud, bus_service: RunningService, sender: Sender) -> AsyncIterator[SweepPlace]:
    async with sweep_place(cloud, bus_service) as ready:
        ready.metrics = SweepMetrics.on(sender.meter)
        yield ready


async def test_a_real_sweep_over_what_is_stuck_and_spent_fires_what_it_should(
    place: SweepPlace, sender: Sender
) -> None:
    spent = {
        "attemptCount": 3,
        "lastError": "ServiceUnavailableError: down",
        "lastAttemptTime": place.ago(days=2),
    }
    await place.put(*(place.archive(f"spent{number}", **spent) for number in range(11)))
    await place.put(*(place.archive(f"stuck{number}", created_at=place.ago(days=3)) for number in range(51)))
    await place.sweep()
    sender.provider.force_flush()
    first, early = sent(sender), sent(sender, later=-50 * 60)["AppMetrics"]
    await place.sweep()
    sender.provider.force_flush()

    assert fires("max-retries-exceeded", first) == {("archives",)}
    assert fires("sweep-silent", first) == set()
    assert fires("sweep-failed", first) == set()
    stuck = {row["Properties"]["collection"]: row["Sum"] for row in early if row["Name"] == STUCK}
    assert stuck["archives"] > 50
    assert fires("stuck-documents", {"AppMetrics": early}) == {("archives",)}
    await place.place.take_all("parsing", 51)


def test_messages_that_wait_while_nothing_is_processed_fire(sender: Sender) -> None:
    now = time.time()
    waiting = [
        azure_metric("MICROSOFT.SERVICEBUS", "ActiveMessages", 7.0, now - 60 * minute) for minute in range(29)
    ]
    assert fires("no-progress", sent(sender) | {"AzureMetrics": waiting}) == {()}
    drained = [*waiting, azure_metric("MICROSOFT.SERVICEBUS", "ActiveMessages", 0.0, now - 30)]
    assert fires("no-progress", sent(sender) | {"AzureMetrics": drained}) == set()
    assert fires("no-progress", sent(sender)) == set()

    sender.emit("events_processed_total", 1, service="parsing", event_type="ArchiveIngested")
    assert fires("no-progress", sent(sender) | {"AzureMetrics": waiting}) == set()


def test_a_service_that_keeps_telling_us_to_slow_down_fires(sender: Sender) -> None:
    calls = Calls("cosmos", sender.metrics)
    for _ in range(100):
        calls.throttled()
    sender.provider.force_flush()
    assert fires("throttling", sent(sender)) == set()

    calls.throttled()
    sender.provider.force_flush()
    assert fires("throttling", sent(sender)) == {("cosmos",)}


def test_answers_of_5xx_fire_and_those_of_4xx_do_not(sender: Sender) -> None:
    for status in (500, 502, 503, 500, 599, 404, 404):
        sender.answer(status)
    assert fires("server-errors", sent(sender)) == set()

    sender.answer(503)
    assert fires("server-errors", sent(sender)) == {()}


def test_an_event_whose_document_never_appeared_fires(sender: Sender) -> None:
    assert fires("races-given-up", sent(sender)) == set()

    sender.emit("event_retry_dlq_total", 1, service="chunking", reason="max_attempts")
    assert fires("races-given-up", sent(sender)) == {("chunking",)}


def test_a_service_that_misses_its_deadlines_fires(sender: Sender) -> None:
    labels = {"dependency": "search", "operation": "search"}
    sender.emit("dependency_calls_total", 500, **labels, outcome="error")
    sender.emit("dependency_calls_total", 20, **labels, outcome="deadline")
    assert fires("service-silent", sent(sender)) == set()

    sender.emit("dependency_calls_total", 1, **labels, outcome="deadline")
    assert fires("service-silent", sent(sender)) == {("search",)}


def test_a_chunk_that_is_given_up_fires(sender: Sender) -> None:
    assert fires("chunks-given-up", sent(sender)) == set()

    sender.emit("chunks_given_up_total", 1, service="embedding", error_type="RejectedItemsError")
    assert fires("chunks-given-up", sent(sender)) == {("RejectedItemsError",)}


@pytest.mark.parametrize(
    ("rule", "metric", "threshold"),
    [
        ("dead-letters", "DeadletteredMessages", 0),
        ("servicebus-throttled", "ThrottledRequests", 50),
        ("cosmos-throttled", "TotalRequests", 500),
    ],
)
def test_what_only_azure_measures_is_watched_by_azure(rule: str, metric: str, threshold: int) -> None:
    rules = {
        resource.name.removeprefix("demo-"): resource
        for resource in of_type("plain", "Microsoft.Insights/metricAlerts")
    }
    (criterion,) = rules[rule].properties["criteria"]["allOf"]

    assert (criterion["metricName"], criterion["threshold"]) == (metric, threshold)


def test_no_alert_is_left_out_of_these_tests() -> None:
    tested = set(re.findall(r'fires\("([\w-]+)"', Path(__file__).read_text()))

    assert tested == query_alerts().keys()


def test_every_metric_reaches_the_receiver_and_every_query_can_be_run_on_them(sender: Sender) -> None:
    for name, metric in METRICS.items():
        sender.emit(name, 2.0, **{label: f"some-{label}" for label in metric.labels})
    sender.answer(200)
    tables = sent(sender)

    assert {row["Name"] for row in tables["AppMetrics"]} == METRICS.keys()
    for file in KQL:
        rows = run_kql(file.read_text(), tables, time.time())
        if file.read_text().count("AppMetrics") and file.stem not in NEEDS_MORE:
            assert rows, file.name


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("Nothing | project Sum", "no table Nothing"),
        ("AppMetrics | project Sum, Other", "no column Other"),
        ("AppMetrics | explode Sum", "no operator explode"),
        ("AppMetrics | summarize median(Sum)", "no aggregate median"),
        ("AppMetrics | extend x = strlen(Name)", "no function strlen"),
    ],
)
def test_the_engine_refuses_what_it_does_not_know(query: str, says: str) -> None:
    with pytest.raises(KqlError, match=says):
        run_kql(query, {"AppMetrics": [{"Sum": 1.0, "Name": "x"}]}, 0.0)
