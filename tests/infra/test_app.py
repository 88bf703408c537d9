"""The function app in Azure: its plan, its scaling, and settings that the code understands."""

import pytest
import yaml

from shared.clients.blobs import ARCHIVES_CONTAINER
from shared.ingestion.uploads import FOLDER
from shared.settings.app import Settings, load_settings
from tests.infra.conftest import ROOT
from tests.infra.plans import WAYS, of_type, the
from tests.support.functions import app_functions
from tools.bicepcheck.evaluate import plan

# What the platform reads; everything else is the app's.
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
MODEL = {"SUMMARY_BACKEND", "SUMMARY_ENDPOINT", "SUMMARY_MODEL"}

# Settings of other plans that Flex Consumption refuses or ignores: functionAppConfig says it instead.
NOT_ON_FLEX = {
    "ENABLE_ORYX_BUILD", "FUNCTIONS_EXTENSION_VERSION", "FUNCTIONS_WORKER_RUNTIME",
    "FUNCTIONS_WORKER_RUNTIME_VERSION", "SCM_DO_BUILD_DURING_DEPLOYMENT",
    "WEBSITE_CONTENTAZUREFILECONNECTIONSTRING",
    "WEBSITE_CONTENTSHARE", "WEBSITE_RUN_FROM_PACKAGE", "WEBSITE_VNET_ROUTE_ALL", "linuxFxVersion",
}  # fmt: skip


def settings_of(way: str) -> dict[str, str]:
    """The app's settings, with an address wherever only Azure knows which."""
    given: dict[str, str] = the(way, "Microsoft.Web/sites/config").properties
    return {
        name: "https://known.in.azure/" if name.endswith("_ENDPOINT") and value.startswith("[") else value
        for name, value in given.items()
    }


@pytest.mark.parametrize("way", WAYS)
def test_the_code_can_start_with_the_settings_of_the_deployment(way: str) -> None:
    loaded = load_settings(settings_of(way))

    assert loaded.SERVICEBUS_CONNECTION is None
    assert loaded.COSMOS_KEY is None
    assert loaded.SEARCH_KEY is None
    assert loaded.STORAGE_CONNECTION is None
    assert loaded.AZURE_CLIENT_ID is not None
    assert loaded.COSMOS_DATABASE == "consensus"


@pytest.mark.parametrize("way", WAYS)
def test_every_setting_is_one_that_somebody_reads(way: str) -> None:
    names = the(way, "Microsoft.Web/sites/config").properties.keys()

    assert names <= Settings.model_fields.keys() | PLATFORM
    assert names.isdisjoint(NOT_ON_FLEX)
    assert (names & MODEL == MODEL) is (way != "plain")


def test_the_app_runs_a_python_that_the_suite_ran_on() -> None:
    runtime = the("plain", "Microsoft.Web/sites").properties["functionAppConfig"]["runtime"]
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]

    assert runtime["name"] == "python"
    assert runtime["version"] in jobs["test"]["strategy"]["matrix"]["python"]


def test_the_app_runs_on_a_flex_consumption_plan_of_its_own() -> None:
    plan, app = the("plain", "Microsoft.Web/serverfarms"), the("plain", "Microsoft.Web/sites")

    assert plan.body["sku"] == {"name": "FC1", "tier": "FlexConsumption"}
    assert plan.properties["reserved"] is True
    assert app.properties["serverFarmId"] == plan.id
    assert app.body["tags"]["azd-service-name"] == "app"


def test_the_embedding_function_stays_warm_unless_it_is_told_not_to() -> None:
    def always_ready(way: str) -> object:
        config = the(way, "Microsoft.Web/sites").properties["functionAppConfig"]
        return config["scaleAndConcurrency"]["alwaysReady"]

    assert always_ready("plain") == [{"name": "function:embedding", "instanceCount": 1}]
    assert always_ready("full") == []


def test_the_package_is_deployed_by_identity_to_a_container_that_exists() -> None:
    storage = the("plain", "Microsoft.Web/sites").properties["functionAppConfig"]["deployment"]["storage"]
    containers = of_type("plain", "Microsoft.Storage/storageAccounts/blobServices/containers")

    assert storage["type"] == "blobContainer"
    assert storage["value"] == "[stfuncabcdefghijklm.properties.primaryEndpoints.blob]app-package"
    assert storage["authentication"]["type"] == "UserAssignedIdentity"
    assert "app-package" in {container.name for container in containers}


def test_uploads_go_to_a_container_that_the_deployment_makes() -> None:
    containers = of_type("plain", "Microsoft.Storage/storageAccounts/blobServices/containers")

    assert ARCHIVES_CONTAINER in {container.name for container in containers}


def test_a_stages_function_has_the_name_of_its_queue() -> None:
    """So that function:embedding keeps the right one warm."""
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
