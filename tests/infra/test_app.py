"""The function app in Azure: its plan, its scaling, and settings that the code accepts."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.ingestion.fetcher import SECRET_PREFIX
from shared.ingestion.uploads import FOLDER
from shared.settings.app import Settings, SettingsError, app_part, load_settings
from tests.infra.conftest import ROOT
from tests.infra.plans import PARTS, WAYS, app, app_settings, of_type, the
from tests.support.functions import app_functions
from tools.bicepcheck.evaluate import plan

# The platform reads these settings. The app reads all others.
PLATFORM = {
    "APPLICATIONINSIGHTS_AUTHENTICATION_STRING",
    "APPLICATIONINSIGHTS_CONNECTION_STRING",
    "AzureWebJobsDisableHomepage",
    "AzureWebJobsStorage__accountName",
    "AzureWebJobsStorage__clientId",
    "AzureWebJobsStorage__credential",
    "DEPLOYED_SETTINGS",
    "PYTHON_ENABLE_OPENTELEMETRY",
    "SERVICEBUS_CONNECTION__clientId",
    "SERVICEBUS_CONNECTION__credential",
}
LOCK = (ROOT / "requirements.txt").read_text()
MODEL = {"SUMMARY_BACKEND", "SUMMARY_ENDPOINT", "SUMMARY_MODEL"}

# Settings of other plans that Flex Consumption refuses or ignores. functionAppConfig replaces them.
NOT_ON_FLEX = {
    "ENABLE_ORYX_BUILD", "FUNCTIONS_EXTENSION_VERSION", "FUNCTIONS_WORKER_RUNTIME",
    "FUNCTIONS_WORKER_RUNTIME_VERSION", "SCM_DO_BUILD_DURING_DEPLOYMENT",
    "WEBSITE_CONTENTAZUREFILECONNECTIONSTRING",
    "WEBSITE_CONTENTSHARE", "WEBSITE_RUN_FROM_PACKAGE", "WEBSITE_VNET_ROUTE_ALL", "linuxFxVersion",
}  # fmt: skip


def settings_of(way: str, part: str = "worker") -> dict[str, str]:
    """Return the settings of an app, with placeholders for the addresses that only Azure knows."""
    return {
        name: "https://known.in.azure/" if name.endswith("_ENDPOINT") and value.startswith("[") else value
        for name, value in app_settings(way, part).items()
    }


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.requirement("R-1102")
def test_the_code_can_start_with_the_settings_of_the_deployment(way: str, part: str) -> None:
    loaded = load_settings(settings_of(way, part))

    assert part == loaded.APP_PART
    assert loaded.SERVICEBUS_CONNECTION is None
    assert loaded.COSMOS_KEY is None
    assert loaded.SEARCH_KEY is None
    assert loaded.STORAGE_CONNECTION is None
    assert loaded.AZURE_CLIENT_ID is not None
    assert loaded.COSMOS_DATABASE == "consensus"


@pytest.mark.parametrize("way", WAYS)
def test_every_setting_is_one_that_somebody_reads(way: str) -> None:
    given = app_settings(way, "web").keys() | app_settings(way, "worker").keys()
    names = {name for name in given if not name.startswith(SECRET_PREFIX)}

    assert names <= Settings.model_fields.keys() | PLATFORM
    assert names.isdisjoint(NOT_ON_FLEX)
    assert (names & MODEL == MODEL) is (way != "plain")


def test_the_app_runs_a_python_that_the_suite_ran_on() -> None:
    (runtime,) = {
        tuple(app("plain", part).properties["functionAppConfig"]["runtime"].items()) for part in PARTS
    }
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]

    assert dict(runtime)["name"] == "python"
    version = dict(runtime)["version"]
    assert version in jobs["test"]["strategy"]["matrix"]["python"]
    for name in ("browser", "localcloud", "long"):
        used = [
            step["with"]["python-version"]
            for step in jobs[name]["steps"]
            if "python-version" in step.get("with", {})
        ]
        assert used == [version]
    assert re.search(
        r"^azure-functions-runtime==\d+\.\d+\.\d+ ; python_full_version >= '3.13'( \\)?$", LOCK, re.MULTILINE
    )


@pytest.mark.parametrize("part", PARTS)
def test_each_app_runs_on_a_flex_consumption_plan_and_an_identity_of_its_own(part: str) -> None:
    site, plans = app("plain", part), of_type("plain", "Microsoft.Web/serverfarms")
    (own,) = [plan for plan in plans if plan.id == site.properties["serverFarmId"]]

    assert len(plans) == 2
    assert own.name == f"plan-{part}-abcdefghijklm"
    assert own.body["sku"] == {"name": "FC1", "tier": "FlexConsumption"}
    assert own.properties["reserved"] is True
    assert app_settings("plain", part)["AZURE_CLIENT_ID"] == f"[id-{part}-abcdefghijklm.properties.clientId]"


@pytest.mark.parametrize("part", PARTS)
def test_an_app_registers_the_functions_of_its_part_and_loads_nothing_of_the_other(part: str) -> None:
    code = (
        "import json, sys, function_app as it; import azure.functions as func;"
        "kinds = {b['type'] for f in it.app.get_functions() for b in f.get_dict_repr()['bindings']};"
        "print(json.dumps([sorted(kinds), [m for m in ('stages', 'web.routes') if m in sys.modules]]))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env={**os.environ, "APP_PART": part, "RETRY_JOB_INTERVAL_SECONDS": "900"},
        capture_output=True, text=True, check=True, timeout=100,
    ).stdout  # fmt: skip
    kinds, loaded = json.loads(said)

    assert {kind for kind in kinds if kind.endswith("Trigger")} == (
        {"httpTrigger", "mcpResourceTrigger", "mcpToolTrigger"}
        if part == "web"
        else {"serviceBusTrigger", "timerTrigger"}
    )
    assert loaded == (["web.routes"] if part == "web" else ["stages"])


def test_a_part_that_nobody_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_PART", "wep")

    with pytest.raises(SettingsError, match="APP_PART: wep is none of all, web, worker"):
        app_part()


def test_the_embedding_function_stays_warm_unless_it_is_told_not_to() -> None:
    def always_ready(way: str) -> object:
        config = app(way, "worker").properties["functionAppConfig"]
        return config["scaleAndConcurrency"]["alwaysReady"]

    assert always_ready("plain") == [{"name": "function:embedding", "instanceCount": 1}]
    assert always_ready("full") == []


def test_the_package_is_deployed_by_identity_to_a_container_that_exists() -> None:
    containers = of_type("plain", "Microsoft.Storage/storageAccounts/blobServices/containers")
    for part, account in (("web", "stweb"), ("worker", "stwork")):
        storage = app("plain", part).properties["functionAppConfig"]["deployment"]["storage"]
        assert storage["type"] == "blobContainer"
        assert storage["value"] == f"[{account}abcdefghijklm.properties.primaryEndpoints.blob]app-package"
        assert storage["authentication"]["type"] == "UserAssignedIdentity"
        assert "app-package" in {
            container.name
            for container in containers
            if account in str(container.parent and container.parent.id)
        }


def test_uploads_go_to_a_container_that_the_deployment_makes() -> None:
    containers = of_type("plain", "Microsoft.Storage/storageAccounts/blobServices/containers")

    assert ARCHIVES_CONTAINER in {container.name for container in containers}


def test_a_stages_function_has_the_name_of_its_queue() -> None:
    """The name lets function:embedding keep the right function warm."""
    queues = {queue.name for queue in of_type("plain", "Microsoft.ServiceBus/namespaces/queues")}
    bindings = [
        (function.get_function_name(), binding["queueName"])
        for function in app_functions()
        for binding in function.get_dict_repr()["bindings"]
        if binding["type"] == "serviceBusTrigger"
    ]

    assert all(name == queue for name, queue in bindings)
    assert {queue for _, queue in bindings} <= queues
    assert "embedding" in queues


def test_the_archives_have_an_account_of_their_own_with_a_lifecycle() -> None:
    policy = the("plain", "Microsoft.Storage/storageAccounts/managementPolicies")
    forgets, rule = policy.properties["policy"]["rules"]

    assert policy.parent is not None
    assert policy.parent.name == "stabcdefghijklm"
    assert rule["definition"]["actions"]["baseBlob"]["tierToCool"] == {
        "daysAfterLastAccessTimeGreaterThan": 30
    }
    assert forgets["definition"]["filters"]["prefixMatch"] == [f"{ARCHIVES_CONTAINER}/{FOLDER}/"]
    assert forgets["definition"]["actions"] == {
        "baseBlob": {"delete": {"daysAfterModificationGreaterThan": 7}}
    }


@pytest.mark.parametrize("way", WAYS)
def test_telemetry_is_set_up_once_and_by_the_app(way: str) -> None:
    settings = settings_of(way)

    assert "PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY" not in settings
    assert settings["PYTHON_ENABLE_OPENTELEMETRY"] == "true"
    assert load_settings(settings).TELEMETRY_SAMPLING_RATIO == 1.0


def test_with_a_model_the_app_can_ask_it() -> None:
    loaded = load_settings(settings_of("full"))

    assert loaded.SUMMARY_BACKEND == "azureopenai"
    assert the("full", "Microsoft.CognitiveServices/accounts/deployments").name == loaded.SUMMARY_MODEL


def test_service_bus_and_search_can_be_given_more() -> None:
    wished = {"serviceBusPremium": True, "serviceBusUnits": 4, "searchPartitions": 6, "searchSku": "standard"}
    resources, _ = plan(ROOT / "infra/main.bicep", {**dict(WAYS["plain"]), **wished})
    (bus,) = [resource for resource in resources if resource.type == "Microsoft.ServiceBus/namespaces"]
    (search,) = [resource for resource in resources if resource.type == "Microsoft.Search/searchServices"]

    assert bus.body["sku"] == {"name": "Premium", "tier": "Premium", "capacity": 4}
    assert search.properties["partitionCount"] == 6
    assert the("plain", "Microsoft.ServiceBus/namespaces").body["sku"]["name"] == "Standard"
