"""azure.yaml, parameters, hooks, workflow, host.json and Config.json by the rules of their public schemas."""

import json
import os
import re
import socket
import subprocess
from typing import Any

import pytest
import yaml

from shared.settings.app import load_settings
from tests.infra.conftest import ROOT
from tests.infra.plans import WAYS, planned, the
from tools.bicepcheck.declarations import Parameter, read_file

AZURE: dict[str, Any] = yaml.safe_load((ROOT / "azure.yaml").read_text())
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/deploy.yml").read_text())
HOST: dict[str, Any] = json.loads((ROOT / "host.json").read_text())
PARAMETERS: dict[str, Any] = json.loads((ROOT / "infra/main.parameters.json").read_text())
DECLARED: dict[str, Parameter] = {
    each.name: each for each in read_file(ROOT / "infra/main.bicep").all(Parameter)
}

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


# azure.yaml


def test_azure_yaml_has_only_what_its_schema_has() -> None:
    assert AZURE.keys() <= TOP_LEVEL
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", AZURE["name"])
    assert AZURE["infra"].keys() <= {"provider", "path", "module"}
    for service in AZURE["services"].values():
        assert service.keys() <= SERVICE
        assert service["host"] == "function"
        assert (ROOT / service["project"] / "function_app.py").is_file()


def test_azd_finds_the_infrastructure_and_the_app() -> None:
    infra = AZURE["infra"]
    app = the("plain", "Microsoft.Web/sites")

    assert (ROOT / infra["path"] / f"{infra['module']}.bicep").is_file()
    assert (ROOT / infra["path"] / f"{infra['module']}.parameters.json").is_file()
    assert app.body["tags"]["azd-service-name"] in AZURE["services"]
    assert the("plain", "Microsoft.Resources/resourceGroups").body["tags"]["azd-env-name"] == "demo"


def test_azd_says_which_version_it_needs_and_builds_in_azure() -> None:
    assert re.fullmatch(r">= \d+\.\d+\.\d+", AZURE["requiredVersions"]["azd"])
    assert AZURE["services"]["app"]["remoteBuild"] is True
    ignored = (ROOT / ".funcignore").read_text().splitlines()
    assert ".venv" in ignored  # a remote build with a local environment in the package fails
    assert not {"requirements.txt", "shared", "web", "host.json"} & set(ignored)


def test_every_hook_is_a_file_for_both_kinds_of_machine() -> None:
    for hook in AZURE["hooks"].values():
        assert hook.keys() == {"posix", "windows"}
        for system, shell in (("posix", "sh"), ("windows", "pwsh")):
            assert hook[system]["shell"] == shell
            assert (ROOT / hook[system]["run"]).is_file()


def test_without_an_operator_the_index_hook_says_where_to_read_on() -> None:
    done = subprocess.run(
        ["sh", str(ROOT / "infra/hooks/postprovision.sh")],
        env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=20, check=False,
    )  # fmt: skip

    assert done.returncode == 0
    assert "docs/deploy.md" in done.stdout


def test_the_index_hook_has_the_settings_that_it_needs_from_the_outputs() -> None:
    _, outputs = planned("plain")

    found = load_settings(outputs).SEARCH_ENDPOINT

    assert found == outputs["SEARCH_ENDPOINT"]


def test_the_hook_says_so_when_the_app_is_not_well() -> None:
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        done = run_hook(f"http://127.0.0.1:{closed.getsockname()[1]}")

    assert done.returncode == 1
    assert "/api/health still answers" in done.stderr


def run_hook(uri: str) -> subprocess.CompletedProcess[str]:
    """The hook with one try in place of five minutes of them."""
    script = (ROOT / "infra/hooks/postdeploy.sh").read_text()
    impatient = script.replace("seq 1 30", "seq 1 1").replace("sleep 10", ":")
    environment = {"APP_URI": uri, "AZURE_FUNCTION_APP_NAME": "func", "PATH": os.environ["PATH"]}
    return subprocess.run(
        ["sh", "-c", impatient], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_hooks_read_only_what_the_deployment_puts_out() -> None:
    _, outputs = planned("plain")
    for hook in (ROOT / "infra/hooks").iterdir():
        read = set(re.findall(r"\$(?:env:|\{)?([A-Z][A-Z_]+)\b", hook.read_text()))
        assert read <= outputs.keys() | {"OPERATOR_PRINCIPAL_ID", "LASTEXITCODE"}, hook.name


# main.parameters.json


def test_every_parameter_can_be_set_and_has_its_own_default() -> None:
    assert PARAMETERS["parameters"].keys() == DECLARED.keys() - {"budgetStartDate"}
    for name, entry in PARAMETERS["parameters"].items():
        found = re.fullmatch(r"\$\{([A-Z_]+)(=(.*))?\}", entry["value"])
        assert found is not None, name
        assert (found[2] is None) is DECLARED[name].required, name


def test_the_defaults_of_the_file_are_those_of_the_bicep() -> None:
    for name, entry in PARAMETERS["parameters"].items():
        default = DECLARED[name].default
        if default is not None and default.text is not None:
            written = entry["value"].partition("=")[2].rstrip("}")
            assert written == default.text.decode().strip("'"), name


def test_no_two_parameters_read_the_same_variable() -> None:
    names = [entry["value"].strip("${}").partition("=")[0] for entry in PARAMETERS["parameters"].values()]

    assert len(names) == len(set(names))


# the workflow


def test_the_workflow_signs_in_without_a_secret() -> None:
    text = (ROOT / ".github/workflows/deploy.yml").read_text()

    assert WORKFLOW["permissions"] == {"contents": "read", "id-token": "write"}
    assert "secrets." not in text
    assert "--federated-credential-provider github" in text


def test_the_workflow_deploys_nothing_that_a_fork_proposes() -> None:
    condition = WORKFLOW["jobs"]["deploy"]["if"]

    assert "github.event.workflow_run.event == 'push'" in condition
    assert "github.event.workflow_run.head_repository.full_name == github.repository" in condition
    assert "github.event.workflow_run.conclusion == 'success'" in condition


def test_the_workflow_passes_on_what_azd_pipeline_config_sets() -> None:
    environment = WORKFLOW["jobs"]["deploy"]["env"]
    wanted = {
        "AZURE_CLIENT_ID",
        "AZURE_TENANT_ID",
        "AZURE_SUBSCRIPTION_ID",
        "AZURE_ENV_NAME",
        "AZURE_LOCATION",
    }

    assert environment.keys() == wanted | set(AZURE["pipeline"]["variables"])
    read = {entry["value"].strip("${}").partition("=")[0] for entry in PARAMETERS["parameters"].values()}
    assert set(AZURE["pipeline"]["variables"]) <= read


# host.json and Config.json


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
