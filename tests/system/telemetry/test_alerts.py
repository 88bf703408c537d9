"""Each alert's query, on data that the real exporter sent to the receiver: it is quiet, and then it fires."""

import re
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from shared.azure.calls import Calls
from shared.azure.telemetry.metrics import METRICS, SweepMetrics
from shared.pipeline.topology import STAGES
from tests.infra.kql_engine import KqlError, Rows, run_kql
from tests.infra.plans import of_type
from tests.infra.test_dashboards import KQL, condition, query_alerts
from tests.operations.sweep.environment import SweepPlace, sweep_place
from tests.support.cloud import AppCloud
from tests.support.services import RunningService
from tests.system.telemetry.conftest import Sender
from tests.system.telemetry.tables import azure_metric, tables_of

UNITS = {"D": 86_400, "H": 3600, "M": 60}
STUCK = "retry_job_stuck_documents"
MINUTE, HOUR = 60, 3600
NEEDS_MORE = {
    "alert-report-burn-fast",
    "alert-report-burn-slow",
    "alert-stage-no-progress",
    "alert-retry-rate",
    "alert-service-refuses",
    "alert-service-silent",
    "alert-stuck-documents",  # reports nothing before most of an hour of data exists
    "pipeline-index",  # nor does this without one of two errors
}


def window_seconds(rule: Any) -> int:
    """Return how far back the query looks: its own range, if it has one."""
    written = rule.properties["overrideQueryTimeRange"] or rule.properties["windowSize"]
    found = re.fullmatch(r"PT?(\d+)([DHM])", written)
    assert found is not None
    return int(found[1]) * UNITS[found[2]]


def fires(alert: str, tables: Mapping[str, Rows], now: float | None = None) -> set[tuple[str, ...]]:
    """Return the dimension values of the alerts that fire, () without dimensions."""
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


@pytest.mark.requirement("R-808", "R-907")
def test_documents_that_stay_stuck_for_an_hour_fire_and_a_short_peak_does_not(sender: Sender) -> None:
    name = "retry_job_stuck_documents"
    sender.emit(name, 51, collection="chunks")
    sender.emit(name, 50, collection="messages")
    early = sent(sender, later=-50 * 60)["AppMetrics"]
    late = sent(sender)["AppMetrics"]

    assert fires("stuck-documents", {"AppMetrics": late}) == set()  # not yet for an hour
    assert fires("stuck-documents", {"AppMetrics": early + late}) == {("chunks",)}

    sender.emit(name, 3, collection="chunks")  # fell within the hour
    assert fires("stuck-documents", {"AppMetrics": early + sent(sender)["AppMetrics"]}) == set()


@pytest.mark.requirement("R-808", "R-907")
def test_more_than_ten_documents_out_of_attempts_in_an_hour_fire(sender: Sender) -> None:
    name = "retry_job_documents_max_retries_exceeded_total"
    sender.emit(name, 10, collection="chunks")
    assert fires("max-retries-exceeded", sent(sender)) == set()

    sender.emit(name, 1, collection="chunks")
    assert fires("max-retries-exceeded", sent(sender)) == {("chunks",)}
    assert fires("max-retries-exceeded", sent(sender, later=-7200)) == set()  # long ago


@pytest.mark.requirement("R-808", "R-907")
def test_more_than_a_thousand_failed_documents_fire_by_the_newest_count(sender: Sender) -> None:
    sender.emit("retry_job_failed_documents", 1001, collection="threads")
    assert fires("many-failed-documents", sent(sender)) == {("threads",)}

    sender.emit("retry_job_failed_documents", 5, collection="threads")
    assert fires("many-failed-documents", sent(sender)) == set()


@pytest.mark.requirement("R-808", "R-907")
def test_a_sweep_that_fails_fires_and_one_that_is_silent_fires_too(sender: Sender) -> None:
    nothing: dict[str, Rows] = {"AppMetrics": []}
    assert fires("sweep-silent", nothing) == set()  # the rule is deployed before the app
    sender.emit("events_processed_total", 1, service="parsing", event_type="ArchiveIngested")
    assert fires("sweep-silent", sent(sender)) == set()  # an app that has just started
    started = sent(sender, later=-2 * 3600)["AppMetrics"]
    assert fires("sweep-silent", {"AppMetrics": started + sent(sender)["AppMetrics"]}) == {()}
    assert fires("sweep-silent", {"AppMetrics": started}) == {()}  # and an app that no longer reports

    sender.emit("retry_job_runs_total", 1, status="success")
    assert fires("sweep-silent", {"AppMetrics": started + sent(sender)["AppMetrics"]}) == set()
    assert fires("sweep-failed", sent(sender)) == set()

    sender.emit("retry_job_runs_total", 1, status="failure")
    assert fires("sweep-failed", sent(sender)) == {()}


@pytest_asyncio.fixture
async def place(cloud: AppCloud, bus_service: RunningService, sender: Sender) -> AsyncIterator[SweepPlace]:
    async with sweep_place(cloud, bus_service) as ready:
        ready.metrics = SweepMetrics.on(sender.meter)
        yield ready


@pytest.mark.requirement("R-808", "R-907")
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


def report(sender: Sender, *, late: int, in_time: int, budget: float = 0.01) -> None:
    sender.emit("alert_bound", budget, name="report_error_budget")
    sender.emit("report_objective_total", in_time, met="true")
    sender.emit("report_objective_total", late, met="false")


@pytest.mark.requirement("R-910")
def test_late_reports_that_burn_the_budget_fire_fast_and_slow(sender: Sender) -> None:
    report(sender, late=13, in_time=87)
    assert fires("report-burn-fast", sent(sender)) == set()  # 13 times as fast as allowed
    assert fires("report-burn-slow", sent(sender)) == {()}

    report(sender, late=17, in_time=83)
    assert fires("report-burn-fast", sent(sender)) == {()}
    assert fires("report-burn-fast", sent(sender, later=-20 * MINUTE)) == set()  # it is over
    assert fires("report-burn-slow", sent(sender, later=-20 * MINUTE)) == {()}
    assert fires("report-burn-slow", sent(sender, later=-40 * MINUTE)) == set()

    count = len(sent(sender)["AppMetrics"])
    earlier = {minutes: sent(sender, later=-minutes * MINUTE)["AppMetrics"] for minutes in (20, 300)}
    report(sender, late=0, in_time=5)
    well = sent(sender)["AppMetrics"][count:]
    assert sum(row["Sum"] for row in well if row["Name"] == "report_objective_total") == 5
    for alert, minutes in (("report-burn-fast", 20), ("report-burn-slow", 300)):
        rows = earlier[minutes] + well
        # Earlier reports were late, and current ones are in time.
        assert fires(alert, {"AppMetrics": rows}) == set()


def test_a_few_late_reports_after_hours_of_good_ones_are_no_burn(sender: Sender) -> None:
    report(sender, late=0, in_time=1000)
    good = {minutes: sent(sender, later=-minutes * MINUTE)["AppMetrics"] for minutes in (40, 300)}
    count = len(good[40])
    report(sender, late=4, in_time=0)
    late = sent(sender)["AppMetrics"][count:]
    for alert, minutes in (("report-burn-fast", 40), ("report-burn-slow", 300)):
        assert fires(alert, {"AppMetrics": good[minutes] + late}) == set()
        assert fires(alert, {"AppMetrics": late}) == {()}


@pytest.mark.requirement("R-910")
def test_a_burn_is_measured_by_the_target_of_the_settings_and_two_reports_are_none(sender: Sender) -> None:
    report(sender, late=30, in_time=70, budget=0.05)
    assert fires("report-burn-fast", sent(sender)) == set()  # 6 times as fast
    sender.emit("alert_bound", 0.02, name="report_error_budget")
    assert fires("report-burn-fast", sent(sender)) == {()}


def test_two_late_reports_of_a_quiet_night_are_no_burn(sender: Sender) -> None:
    report(sender, late=2, in_time=0)
    assert fires("report-burn-fast", sent(sender)) == set()
    report(sender, late=1, in_time=0)
    assert fires("report-burn-fast", sent(sender)) == {()}


@pytest.mark.requirement("R-911")
def test_a_queue_whose_oldest_message_waits_too_long_fires(sender: Sender) -> None:
    for queue, bound in (("parsing", 1800.0), ("removal", 3600.0)):
        sender.emit("queue_age_bound_seconds", bound, service=queue)
        sender.emit("queue_oldest_message_seconds", 1801.0, service=queue)
    assert fires("queue-age", sent(sender)) == {("parsing",)}

    sender.emit("queue_oldest_message_seconds", 0.0, service="parsing")
    assert fires("queue-age", sent(sender)) == set()


@pytest.mark.requirement("R-911")
def test_one_stage_that_stands_still_while_others_work_fires(sender: Sender) -> None:
    for age in (900.0, 600.0, 300.0, 5.0):
        for queue in ("embedding", "parsing", "removal"):
            sender.emit("queue_oldest_message_seconds", age, service=queue)
    looks = [row for row in sent(sender)["AppMetrics"] if row["Sum"]]
    sender.emit("events_processed_total", 1, service="parsing", event_type="ArchiveIngested")
    assert fires("stage-no-progress", sent(sender)) == {("embedding",)}
    few = [row for row in looks if row["Sum"] < 900]
    assert fires("stage-no-progress", {"AppMetrics": few}) == set()  # it has just begun to wait

    sender.emit("queue_oldest_message_seconds", 0.0, service="embedding")
    assert fires("stage-no-progress", sent(sender)) == set()


def test_the_stages_that_are_watched_are_those_of_the_topology() -> None:
    query = condition(query_alerts()["stage-no-progress"])["query"]
    (named,) = re.findall(r"service in \(([^)]*)\)", query)

    assert tuple(re.findall(r'"(\w+)"', named)) == tuple(stage.name for stage in STAGES)


@pytest.mark.requirement("R-808", "R-907")
def test_documents_that_stay_late_fire_and_those_of_a_week_are_an_incident(sender: Sender) -> None:
    sender.emit("late_documents", 7, collection="chunks")
    assert fires("late-documents", sent(sender)) == {("chunks",)}
    sender.emit("late_documents", 0, collection="chunks")
    assert fires("late-documents", sent(sender)) == set()

    sender.emit("week_old_documents", 0, collection="chunks")
    sender.emit("week_old_documents", 1, collection="archives")
    assert fires("week-old-documents", sent(sender)) == {("archives",)}


@pytest.mark.requirement("R-808", "R-907")
def test_a_stage_whose_events_often_need_a_retry_fires(sender: Sender) -> None:
    sender.emit("events_processed_total", 100, service="embedding", event_type="ChunksPrepared")
    sender.emit("events_retried_total", 10, service="embedding", error_type="ServiceUnavailableError")
    assert fires("retry-rate", sent(sender)) == set()
    sender.emit("events_retried_total", 1, service="embedding", error_type="EncoderCrashError")
    assert fires("retry-rate", sent(sender)) == {("embedding",)}


def test_a_stage_in_which_everything_is_retried_and_nothing_done_fires(sender: Sender) -> None:
    sender.emit("events_retried_total", 9, service="parsing", error_type="ServiceUnavailableError")
    assert fires("retry-rate", sent(sender)) == set()  # a handful
    sender.emit("events_retried_total", 1, service="parsing", error_type="ServiceUnavailableError")
    assert fires("retry-rate", sent(sender)) == {("parsing",)}


def test_an_encoder_that_keeps_dying_fires(sender: Sender) -> None:
    sender.emit("encoder_restarts_total", 3)
    assert fires("encoder-restarts", sent(sender)) == set()
    sender.emit("encoder_restarts_total", 1)
    assert fires("encoder-restarts", sent(sender)) == {()}


@pytest.mark.requirement("R-808", "R-907")
def test_the_alerts_on_the_sweep_follow_its_interval(sender: Sender) -> None:
    """At an interval of two hours an hour of silence is normal, and five are not."""
    sender.emit("alert_bound", 2.0 * HOUR, name="sweep_interval_seconds")
    sender.emit("retry_job_runs_total", 1, status="success")
    sender.emit("retry_job_stuck_documents", 51, collection="chunks")
    sender.emit("retry_job_failed_documents", 1001, collection="chunks")
    first = sent(sender, later=-100 * MINUTE)
    assert fires("sweep-silent", first) == set()
    assert fires("sweep-silent", sent(sender, later=-4 * HOUR)) == set()
    assert fires("sweep-silent", sent(sender, later=-5 * HOUR)) == {()}
    assert fires("stuck-documents", first) == set()  # of one run alone
    assert fires("stuck-documents", sent(sender, later=-130 * MINUTE)) == {("chunks",)}
    assert fires("many-failed-documents", first) == {("chunks",)}


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


def test_a_service_that_refuses_most_calls_fires_and_one_that_sometimes_does_not(sender: Sender) -> None:
    for dependency, well in (("search", 0), ("cosmos", 100)):
        labels = {"dependency": dependency, "operation": "read"}
        sender.emit("dependency_calls_total", 21, **labels, outcome="error")
        if well:
            sender.emit("dependency_calls_total", well, **labels, outcome="ok")
    assert fires("service-refuses", sent(sender)) == {("search",)}


def test_an_open_circuit_fires_until_it_closes(sender: Sender) -> None:
    sender.emit("retry_job_circuit_open", 1, collection="chunks")
    sender.emit("retry_job_circuit_open", 0, collection="threads")
    assert fires("circuit-open", sent(sender)) == {("chunks",)}
    sender.emit("retry_job_circuit_open", 0, collection="chunks")
    assert fires("circuit-open", sent(sender)) == set()


def test_a_chunk_that_is_given_up_fires(sender: Sender) -> None:
    assert fires("chunks-given-up", sent(sender)) == set()

    sender.emit("chunks_given_up_total", 1, service="embedding", error_type="RejectedItemsError")
    assert fires("chunks-given-up", sent(sender)) == {("RejectedItemsError",)}


QUEUE_LOOKS = 4
IN_AN_OUTAGE = {
    "late-documents", "no-progress", "queue-age", "races-given-up", "report-burn-fast",
    "report-burn-slow", "retry-rate", "server-errors", "service-silent", "stage-no-progress", "sweep-failed",
}  # fmt: skip


def say_outage(sender: Sender) -> None:
    """Emit the app's telemetry of an outage, and of work that was late because of it."""
    sender.emit("alert_bound", 0.01, name="report_error_budget")
    sender.emit("queue_age_bound_seconds", 1800.0, service="parsing")
    for _ in range(QUEUE_LOOKS):
        sender.emit("queue_oldest_message_seconds", 1801.0, service="parsing")
    away = {"dependency": "cosmos", "operation": "read", "outcome": "deadline"}
    sender.emit("dependency_calls_total", 21, **away)
    sender.emit("events_retried_total", 10, service="parsing", error_type="ServiceUnavailableError")
    sender.emit("event_retry_dlq_total", 1, service="chunking", reason="ttl_exceeded")
    sender.emit("late_documents", 7, collection="archives")
    sender.emit("report_objective_total", 9, met="false")
    sender.emit("retry_job_runs_total", 1, status="failure")
    for _ in range(6):
        sender.answer(503)


def say_recovery(sender: Sender) -> None:
    """Emit the app's telemetry after recovery."""
    sender.emit("queue_oldest_message_seconds", 0.0, service="parsing")
    sender.emit("events_processed_total", 50, service="parsing", event_type="ArchiveIngested")
    sender.emit("late_documents", 0, collection="archives")
    sender.emit("report_objective_total", 50, met="true")
    sender.emit("retry_job_runs_total", 1, status="success")
    sender.answer(200)


def test_an_outage_lights_its_alerts_and_none_stays_lit_when_all_has_come_through(sender: Sender) -> None:
    say_outage(sender)
    ago, ended = 90 * MINUTE, time.time()
    before = sent(sender, later=-ago)
    waiting = azure_metric("MICROSOFT.SERVICEBUS", "ActiveMessages", 5.0, ended - ago)
    before["AzureMetrics"] = [waiting]
    lit = {alert for alert in query_alerts() if fires(alert, before, ended - ago + 1)}
    assert lit == IN_AN_OUTAGE

    say_recovery(sender)
    after = sent(sender)
    both = {
        name: rows + [row for row in after[name] if row["TimeGenerated"] > ended]
        for name, rows in before.items()
    }
    assert {alert for alert in query_alerts() if fires(alert, both)} == set()
    # Without the telemetry after recovery some alerts would still fire.
    assert "sweep-silent" in {alert for alert in query_alerts() if fires(alert, before)}


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


@pytest.mark.requirement("R-908")
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
