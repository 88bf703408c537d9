"""azure.yaml, parameters, workflow, host.json and Config.json by the rules of their public schemas."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.infra.azd import DECLARED, WRITTEN, Provider, parameters_of, workflow_environment
from tests.infra.conftest import ROOT
from tests.infra.plans import WAYS, of_type, planned, the
from tools.azd_settings import rendered
from tools.bicepcheck.declarations import literal

AZURE: dict[str, Any] = yaml.safe_load((ROOT / "azure.yaml").read_text())
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/azure-dev.yml").read_text())
HOST: dict[str, Any] = json.loads((ROOT / "host.json").read_text())

TOP_LEVEL = {
    "name",
    "metadata",
    "requiredVersions",
    "infra",
    "services",
    "hooks",
    "pipeline",
    "resourceGroup",
}
SERVICE = {
    "project",
    "language",
    "host",
    "remoteBuild",
    "hooks",
    "resourceName",
    "resourceGroup",
    "dist",
    "module",
}


def test_azure_yaml_has_only_what_its_schema_has() -> None:
    assert AZURE.keys() <= TOP_LEVEL
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", AZURE["name"])
    assert AZURE["infra"].keys() <= {"provider", "path", "module"}
    for service in AZURE["services"].values():
        assert service.keys() <= SERVICE
        assert service["host"] == "function"
        assert (ROOT / service["project"] / "function_app.py").is_file()


@pytest.mark.requirement("R-1102")
def test_azd_finds_the_infrastructure_and_the_app() -> None:
    infra = AZURE["infra"]

    assert (ROOT / infra["path"] / f"{infra['module']}.bicep").is_file()
    assert (ROOT / infra["path"] / f"{infra['module']}.parameters.json").is_file()
    tags = {site.body["tags"]["azd-service-name"] for site in of_type("plain", "Microsoft.Web/sites")}
    assert tags == AZURE["services"].keys()
    assert the("plain", "Microsoft.Resources/resourceGroups").body["tags"]["azd-env-name"] == "demo"


def test_azd_says_which_version_it_needs_and_builds_in_azure() -> None:
    assert re.fullmatch(r">= \d+\.\d+\.\d+", AZURE["requiredVersions"]["azd"])
    assert {service["remoteBuild"] for service in AZURE["services"].values()} == {True}
    ignored = (ROOT / ".funcignore").read_text().splitlines()
    assert ".venv" in ignored  # a remote build with a local environment in the package fails
    assert not {"requirements.txt", "shared", "web", "host.json"} & set(ignored)


def test_every_parameter_can_be_set_and_has_its_own_default() -> None:
    assert WRITTEN.keys() == DECLARED.keys() - {"currentMonth"}
    given = parameters_of({"AZURE_ENV_NAME": "demo", "AZURE_LOCATION": "swedencentral"}, Provider())
    for name, value in given.items():
        default = DECLARED[name].default
        if default is not None and name not in ("appSettings", "deployerPrincipalId"):
            assert value == literal(default), name


def test_no_two_parameters_read_the_same_variable() -> None:
    names = re.findall(r"\$\{(\w+)", json.dumps(WRITTEN))

    assert len(names) == len(set(names)) > 80


def test_the_workflow_signs_in_without_a_secret() -> None:
    passed = workflow_environment({}, dict.fromkeys(AZURE["pipeline"]["secrets"], "hidden"))
    steps = WORKFLOW["jobs"]["deploy"]["steps"]

    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert WORKFLOW["jobs"]["deploy"]["permissions"] == {"contents": "read", "id-token": "write"}
    assert {name for name, value in passed.items() if value == "hidden"} == set(AZURE["pipeline"]["secrets"])
    assert any("--federated-credential-provider github" in step.get("run", "") for step in steps)
    assert not any("secrets." in json.dumps(step) for step in steps)


def test_actions_are_pinned_by_commit() -> None:
    for file in (ROOT / ".github/workflows").glob("*.yml"):
        for job in yaml.safe_load(file.read_text())["jobs"].values():
            for step in job.get("steps", []):
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step.get("uses", f"a/b@{'0' * 40}")), step


def test_what_azure_yaml_and_the_workflow_repeat_is_current() -> None:
    for file, text in rendered().items():
        assert file.read_text() == text, "run python -m tools.azd_settings"


def test_a_tag_deploys_after_the_whole_ci_and_an_approval_and_a_push_does_not() -> None:
    jobs, ci = WORKFLOW["jobs"], yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())

    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}  # YAML reads `on` as true
    assert "startsWith(github.ref, 'refs/tags/v')" in jobs["release"]["if"]
    assert jobs["ci"] == {"needs": "release", "uses": "./.github/workflows/ci.yml"}
    assert (jobs["deploy"]["needs"], jobs["deploy"]["environment"]) == ("ci", "production")
    assert "workflow_call" in ci[True]
    assert [name for name, job in jobs.items() if "azd deploy" in json.dumps(job)] == ["deploy"]


@pytest.mark.parametrize(
    ("tag", "on_main", "heading", "ends"),
    [
        ("v1.2.3", True, "## [1.2.3] - 2026-11-19", 0),
        ("v1.2.3", False, "## [1.2.3] - 2026-11-19", 1),
        ("v1.2.4", True, "## [1.2.4] - 2026-11-19", 1),
        ("v1.2.3", True, "## [1.2.3] - unreleased", 1),
    ],
)
def test_a_tag_is_refused_that_is_no_release_of_main(
    tag: str, on_main: bool, heading: str, ends: int, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('version = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"{heading}\n")
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    subprocess.run(["git", "update-ref", "refs/remotes/origin/main", "HEAD"], cwd=tmp_path, check=True)
    if not on_main:
        subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "y"], cwd=tmp_path, check=True)
    (check,) = [step["run"] for step in WORKFLOW["jobs"]["release"]["steps"] if "run" in step]
    done = subprocess.run(
        ["bash", "-e", "-c", check], cwd=tmp_path, env={**os.environ, "GITHUB_REF_NAME": tag}, check=False
    )

    assert done.returncode == ends


def test_the_template_has_the_version_of_the_app() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

    assert AZURE["metadata"]["template"] == f"{AZURE['name']}@{version}"


def test_host_json_keeps_to_its_schema() -> None:
    bus = HOST["extensions"]["serviceBus"]

    assert HOST.keys() <= {
        "version",
        "telemetryMode",
        "functionTimeout",
        "extensionBundle",
        "extensions",
        "logging",
        "concurrency",
    }
    assert HOST["version"] == "2.0"
    assert HOST["telemetryMode"] == "OpenTelemetry"
    assert HOST["extensionBundle"] == {
        "id": "Microsoft.Azure.Functions.ExtensionBundle",
        "version": "[4.*, 5.0.0)",
    }
    assert bus.keys() <= {
        "prefetchCount",
        "maxConcurrentCalls",
        "maxAutoLockRenewalDuration",
        "autoCompleteMessages",
    }
    for duration in (HOST["functionTimeout"], bus["maxAutoLockRenewalDuration"]):
        assert re.fullmatch(r"\d\d:[0-5]\d:[0-5]\d", duration)


def test_a_lock_is_renewed_for_as_long_as_a_function_may_run() -> None:
    assert HOST["extensions"]["serviceBus"]["maxAutoLockRenewalDuration"] >= HOST["functionTimeout"]


ENTITY = {"Name", "Properties"}
QUEUE_PROPERTIES = {
    "DeadLetteringOnMessageExpiration", "DefaultMessageTimeToLive", "DuplicateDetectionHistoryTimeWindow",
    "ForwardDeadLetteredMessagesTo", "ForwardTo", "LockDuration", "MaxDeliveryCount",
    "RequiresDuplicateDetection", "RequiresSession",
}  # fmt: skip
TOPIC_PROPERTIES = {
    "DefaultMessageTimeToLive",
    "DuplicateDetectionHistoryTimeWindow",
    "RequiresDuplicateDetection",
}


@pytest.fixture
def config() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "infra/servicebus/Config.json").read_text())
    return loaded


def test_config_json_keeps_to_the_emulators_rules(config: dict[str, Any]) -> None:
    (namespace,) = config["UserConfig"]["Namespaces"]

    assert config.keys() == {"UserConfig"}
    assert config["UserConfig"]["Logging"]["Type"] in ("File", "Console", "Console,File")
    assert len(namespace["Queues"]) + len(namespace["Topics"]) <= 50
    for queue in namespace["Queues"]:
        assert queue.keys() == ENTITY
        assert queue["Properties"].keys() <= QUEUE_PROPERTIES
    for topic in namespace["Topics"]:
        assert topic["Properties"].keys() <= TOPIC_PROPERTIES
        assert len(topic["Subscriptions"]) <= 50
        for subscription in topic["Subscriptions"]:
            assert subscription["Properties"].keys() <= QUEUE_PROPERTIES
            assert len(subscription["Rules"]) <= 1000


def test_config_json_forwards_only_to_queues_that_are_there(config: dict[str, Any]) -> None:
    (namespace,) = config["UserConfig"]["Namespaces"]
    queues = {queue["Name"] for queue in namespace["Queues"]}
    forwards = {
        subscription["Properties"]["ForwardTo"]
        for topic in namespace["Topics"]
        for subscription in topic["Subscriptions"]
    }

    assert forwards <= queues


@pytest.mark.parametrize("way", WAYS)
def test_a_lock_and_the_deliveries_are_within_what_service_bus_allows(way: str) -> None:
    for resource in planned(way)[0]:
        if resource.type == "Microsoft.ServiceBus/namespaces/queues":
            assert resource.properties["lockDuration"] in ("PT1M", "PT2M", "PT3M", "PT4M", "PT5M")
            assert 1 <= resource.properties["maxDeliveryCount"] <= 2000
