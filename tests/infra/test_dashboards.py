"""Alerts, workbook and queries use only data that the code emits, and include those of the specification."""

import json
import re
from functools import lru_cache
from typing import Any

import pytest
from typer.testing import CliRunner

from ops.cli import app
from shared.azure.telemetry.metrics import METRICS
from tests.infra.conftest import ROOT
from tests.infra.kql import Judged, judge
from tests.infra.kql_engine import run_kql
from tests.infra.plans import WAYS, of_type, the
from tools.bicepcheck.evaluate import Planned

KQL = sorted((ROOT / "infra" / "kql").glob("*.kql"))


def query_alerts() -> dict[str, Planned]:
    rules = of_type("plain", "Microsoft.Insights/scheduledQueryRules")
    return {rule.name.removeprefix("demo-"): rule for rule in rules}


def condition(rule: Planned) -> dict[str, Any]:
    (found,) = rule.properties["criteria"]["allOf"]
    return dict(found)


def workbook() -> list[dict[str, Any]]:
    data = json.loads(the("plain", "Microsoft.Insights/workbooks").properties["serializedData"])
    return list(data["items"])


def panels() -> list[dict[str, Any]]:
    return [item for item in workbook() if item["type"] in (3, 10)]


PLANTED = [
    ("retry_job_stuck_documents", "retry_job_stuck", "no code emits the metric retry_job_stuck"),
    ("retry_job_stuck_documents", "queue_depth", "none of its metrics has the attribute collection"),
    ("Properties.collection", "Properties.container", "none of its metrics has the attribute container"),
    ("AppMetrics", "customMetrics", "The name 'customMetrics' does not refer to any known table"),
    ("min(Sum)", "min(Value)", "The name 'Value' does not refer to any known column"),
    ("min(Sum)", "min(Sum", "Expected: )"),
    ("min(Sum)", "avrg(Sum)", "The name 'avrg' does not refer to any known function"),
    ("min(Sum)", 'min(Name) + "1"', "The operator '+'"),
    ("Stuck", "last", "The name 'last' needs to be bracketed"),
    ('"retry_job', "retry_job", "The name 'retry_job_stuck_documents' does not refer to any known column"),
]


@lru_cache(maxsize=1)
def judged() -> dict[str, Judged]:
    """Check the queries of all panels and alerts, and the planted ones, in one run of the parser."""
    stuck = (ROOT / "infra/kql/alert-stuck-documents.kql").read_text()
    planted = {f"planted {wrong}": stuck.replace(right, wrong) for right, wrong, _ in PLANTED}
    shown = {panel["name"]: panel["content"]["query"] for panel in panels() if panel["type"] == 3}
    watched = {name: condition(rule)["query"] for name, rule in query_alerts().items()}
    return judge(shown | watched | planted)


def test_every_query_of_panels_and_alerts_asks_only_for_what_is_there() -> None:
    wrong = {name: found.problems for name, found in judged().items() if found.problems}

    assert {name: problems for name, problems in wrong.items() if not name.startswith("planted ")} == {}
    assert len(judged()) == len(KQL) + len(PLANTED)


@pytest.mark.parametrize(("right", "wrong", "problem"), PLANTED)
def test_a_planted_error_in_a_query_is_found(right: str, wrong: str, problem: str) -> None:
    assert right in (ROOT / "infra/kql/alert-stuck-documents.kql").read_text()
    assert any(problem in found for found in judged()[f"planted {wrong}"].problems)


def test_every_query_is_shown_or_watched() -> None:
    used = {panel["content"].get("query") for panel in panels()}
    used |= {condition(rule)["query"] for rule in query_alerts().values()}

    assert {file.name for file in KQL if file.read_text() not in used} == set()


def test_an_alert_measures_a_number_that_its_query_has_by_columns_of_text() -> None:
    for name, rule in query_alerts().items():
        asked, columns = condition(rule), judged()[name].columns
        assert columns[asked["metricMeasureColumn"]] in ("int", "long", "real"), name
        assert {columns[dimension["name"]] for dimension in asked["dimensions"]} <= {"string"}, name


@pytest.mark.parametrize(
    ("name", "metric", "threshold", "window", "severity"),
    [
        ("stuck-documents", "retry_job_stuck_documents", 50, "PT1H", 2),
        ("max-retries-exceeded", "retry_job_documents_max_retries_exceeded_total", 10, "PT1H", 1),
        ("sweep-failed", "retry_job_runs_total", 0, "PT30M", 2),
        ("many-failed-documents", "retry_job_failed_documents", 1000, "PT1H", 0),
        ("no-progress", "events_processed_total", 0, "PT30M", 1),
        ("throttling", "dependency_throttled_total", 100, "PT15M", 3),
        ("races-given-up", "event_retry_dlq_total", 0, "PT15M", 2),
        ("week-old-documents", "week_old_documents", 0, "PT1H", 0),
        ("retry-rate", "events_retried_total", 10, "PT1H", 3),
    ],
)
def test_the_alerts_of_the_specification_are_there(
    name: str, metric: str, threshold: int, window: str, severity: int
) -> None:
    rule = query_alerts()[name]

    assert f'"{metric}"' in condition(rule)["query"]
    assert condition(rule)["operator"] == "GreaterThan"
    assert condition(rule)["threshold"] == threshold
    assert (rule.properties["windowSize"], rule.properties["severity"]) == (window, severity)


def test_a_trial_has_the_alerts_without_which_nobody_would_know() -> None:
    rules = of_type("trial", "Microsoft.Insights/scheduledQueryRules")
    everything = {rule.name for rule in of_type("plain", "Microsoft.Insights/scheduledQueryRules")}

    assert {"demo-no-progress", "demo-sweep-silent", "demo-stuck-documents"} < {rule.name for rule in rules}
    assert {rule.name for rule in rules} < everything
    assert {rule.properties["evaluationFrequency"] for rule in rules} == {"PT15M"}
    (metric,) = of_type("trial", "Microsoft.Insights/metricAlerts")
    assert metric.name == "demo-dead-letters"


def test_every_query_alert_looks_at_times_that_azure_allows() -> None:
    for name, rule in query_alerts().items():
        assert rule.properties["windowSize"] in (
            "PT5M",
            "PT10M",
            "PT15M",
            "PT30M",
            "PT45M",
            "PT1H",
            "PT2H",
            "PT6H",
        ), name
        assert rule.properties["evaluationFrequency"] in ("PT5M", "PT10M", "PT15M", "PT30M", "PT1H"), name


def test_every_metric_alert_watches_a_metric_of_its_own_resource() -> None:
    metrics = {
        "Microsoft.ServiceBus/namespaces": {"DeadletteredMessages", "ThrottledRequests"},
        "Microsoft.DocumentDB/databaseAccounts": {"TotalRequests"},
        "Microsoft.Insights/components": {"availabilityResults/availabilityPercentage"},
    }
    for rule in of_type("plain", "Microsoft.Insights/metricAlerts"):
        (scope,) = rule.properties["scopes"]
        (criterion,) = rule.properties["criteria"]["allOf"]
        assert scope.rpartition("/")[0] == f"/{criterion['metricNamespace']}"
        assert criterion["metricName"] in metrics[criterion["metricNamespace"]]


def test_each_service_sends_what_the_queries_and_the_operator_read() -> None:
    sent = {
        setting.scope.type: {
            log["category"]
            for kind in ("logs", "metrics")
            for log in setting.properties.get(kind, [])
            if log["enabled"]
        }
        for setting in of_type("plain", "Microsoft.Insights/diagnosticSettings")
    }

    assert sent == {
        "Microsoft.ServiceBus/namespaces": {"OperationalLogs", "AllMetrics"},
        "Microsoft.DocumentDB/databaseAccounts": {"ControlPlaneRequests", "Requests"},
        "Microsoft.Search/searchServices": {"OperationLogs", "AllMetrics"},
        "Microsoft.Web/sites": {"AllMetrics"},
        "Microsoft.KeyVault/vaults": {"AuditEvent"},
        "Microsoft.Storage/storageAccounts/blobServices": {"StorageDelete"},
    }


def test_every_command_that_an_alert_names_exists() -> None:
    named = {
        rule.name: re.findall(r"\bops ((?:[a-z][a-z-]* ?)+(?:--[a-z]+)?)", rule.properties["description"])
        for type_ in ("scheduledQueryRules", "metricAlerts")
        for rule in of_type("plain", f"Microsoft.Insights/{type_}")
    }
    commands = {(alert, command) for alert, found in named.items() for command in found}
    assert len(commands) > 4
    assert not [(alert, command) for alert, command in sorted(commands) if not exists(command)]
    assert not exists("deadletters shows why")


def exists(command: str) -> bool:
    """Return whether `ops` knows the command and its option."""
    words, _, option = command.partition("--")
    for length in (3, 2, 1):
        asked = CliRunner().invoke(app, [*words.split()[:length], "--help"], env={"COLUMNS": "200"})
        if asked.exit_code == 0:
            return f"--{option}" in asked.output if option else True
    return False


def test_the_app_is_asked_from_outside_whether_it_can_work() -> None:
    test = the("plain", "Microsoft.Insights/webtests")
    assert test.properties["Request"]["RequestUrl"].endswith("/api/health")
    assert test.properties["ValidationRules"]["ExpectedHttpStatusCode"] == 200


@pytest.mark.requirement("R-909")
def test_dead_letters_are_told_for_each_queue() -> None:
    rules = {rule.name: rule for rule in of_type("plain", "Microsoft.Insights/metricAlerts")}
    (criterion,) = rules["demo-dead-letters"].properties["criteria"]["allOf"]

    assert criterion["metricName"] == "DeadletteredMessages"
    assert (criterion["operator"], criterion["threshold"]) == ("GreaterThan", 0)
    assert criterion["dimensions"] == [{"name": "EntityName", "operator": "Include", "values": ["*"]}]


@pytest.mark.parametrize("way", WAYS)
def test_every_alert_reaches_the_operators(way: str) -> None:
    group = the(way, "Microsoft.Insights/actionGroups")
    for rule in of_type(way, "Microsoft.Insights/scheduledQueryRules"):
        assert rule.properties["actions"]["actionGroups"] == [group.id]
    for rule in of_type(way, "Microsoft.Insights/metricAlerts"):
        assert [action["actionGroupId"] for action in rule.properties["actions"]] == [group.id]
    assert len(group.properties["emailReceivers"]) == (way == "full")
    assert len(group.properties["groupShortName"]) <= 12


def test_a_budget_warns_before_and_at_its_amount() -> None:
    notifications = the("full", "Microsoft.Consumption/budgets").properties["notifications"]

    assert {
        (notification["thresholdType"], notification["threshold"]) for notification in notifications.values()
    } == {
        ("Actual", 80),
        ("Forecasted", 100),
    }
    assert the("full", "Microsoft.Consumption/budgets").properties["timePeriod"] == {
        "startDate": "2026-11-01T00:00:00Z"
    }
    assert of_type("plain", "Microsoft.Consumption/budgets") == []


def test_the_workbook_has_a_tab_for_each_concern_and_panels_on_each() -> None:
    (strip,) = [item for item in workbook() if item["type"] == 11]
    tabs = [link["subTarget"] for link in strip["content"]["links"]]

    assert tabs == ["Pipeline", "Archive", "Retry policy", "Dead letters", "Cost"]
    assert {panel["conditionalVisibility"]["value"] for panel in panels()} == set(tabs)
    assert len({panel["name"] for panel in panels()}) == len(panels())


def test_one_archive_can_be_watched_by_its_id() -> None:
    (parameter,) = [
        parameter
        for item in workbook()
        if item["type"] == 9
        for parameter in item["content"]["parameters"]
        if parameter["name"] == "archive"
    ]
    asking = [panel for panel in panels() if "{archive}" in panel["content"].get("query", "")]
    rows = {
        "AppRequests": [
            run_of("one", "e1", 1, "Broken"),
            run_of("one", "e1", 2),
            run_of("one", "e2", 3, "Down"),
        ]
    }
    rows["AppRequests"].append(run_of("other", "e3", 4, "Broken"))

    shown = {
        panel["name"]: run_kql(panel["content"]["query"].replace("{archive}", "one"), rows, 9.0)
        for panel in asking
    }
    why, stages, stuck, errors = shown.values()

    assert parameter["type"] == 1
    assert [panel["conditionalVisibility"]["value"] for panel in asking] == ["Archive"] * 4
    assert [(row["stage"], row["GivenUp"]) for row in why] == [("parsing", 1)]
    assert why[0]["Next"].startswith("the sweep tries its documents again")
    assert [(row["stage"], row["Runs"], row["Failed"], row["Messages"]) for row in stages] == [
        ("parsing", 3, 2, 15)
    ]
    assert [(row["event"], row["error_type"], row["deliveries"]) for row in stuck] == [("e2", "Down", 3)]
    assert {row["error_type"]: row["Failures"] for row in errors} == {"Broken": 1, "Down": 1}


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("IndexMissingError", "postprovision.py"),
        ("IndexMismatchError", "python -m ops reembed"),
        ("TransientError", None),
    ],
)
def test_an_index_that_is_missing_or_wrong_is_said_in_one_line(error: str, remedy: str | None) -> None:
    row = {
        "TimeGenerated": 1.0,
        "Name": "failures_total",
        "Properties": {"service": "embedding", "error_type": error},
        "Sum": 2.0,
    }
    (panel,) = [panel for panel in panels() if "IndexMissingError" in panel["content"].get("query", "")]
    found = run_kql(panel["content"]["query"], {"AppMetrics": [row]}, 9.0)

    assert [remedy in row["Remedy"] for row in found if remedy] == ([True] if remedy else [])
    assert len(found) == (remedy is not None)


def run_of(archive: str, event: str, at: int, error: str | None = None) -> dict[str, Any]:
    """Return a row of AppRequests for one run of a stage."""
    properties = {
        "pipeline.archive_id": archive, "pipeline.stage": "parsing", "pipeline.event_id": event,
        "pipeline.error_type": error, "pipeline.delivery_count": at, "pipeline.count.messages": 5,
    }  # fmt: skip
    return {
        "TimeGenerated": float(at), "Name": "stage parsing", "Properties": properties, "ItemCount": 1,
        "DurationMs": 10.0, "OperationId": "t",
    }  # fmt: skip


@pytest.mark.requirement("R-908")
def test_stuck_documents_turn_orange_at_50_and_red_at_200() -> None:
    (panel,) = [
        panel for panel in panels() if "retry_job_stuck_documents" in panel["content"].get("query", "")
    ]
    (formatter,) = panel["content"]["gridSettings"]["formatters"]
    levels = {
        level.get("thresholdValue"): level["representation"]
        for level in formatter["formatOptions"]["thresholdsGrid"]
    }

    assert levels == {"200": "redBright", "50": "orange", None: "green"}
    assert formatter["columnMatch"] in judged()[panel["name"]].columns


@pytest.mark.parametrize(
    "metric", [name for name, metric in METRICS.items() if metric.requirement in ("R-903", "R-904")]
)
@pytest.mark.requirement("R-908")
def test_every_metric_of_the_retry_policies_has_a_panel(metric: str) -> None:
    assert any(f'"{metric}"' in panel["content"].get("query", "") for panel in panels())
