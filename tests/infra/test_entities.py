"""Service Bus and Cosmos DB in Azure match the local cloud and the code."""

import json
from typing import Any

import pytest

from shared.models.containers import CONTAINERS
from shared.pipeline.events import STAGE_OF
from tests.infra.conftest import ROOT
from tests.infra.plans import WAYS, of_type, the
from tools import cosmos_containers

NAMESPACE = json.loads((ROOT / "infra/servicebus/Config.json").read_text())["UserConfig"]["Namespaces"][0]
BUS = "Microsoft.ServiceBus/namespaces"

# Azure gets other values than the emulator, which reduces both to what a test run needs.
MAPPED = {"DefaultMessageTimeToLive": "P14D", "DuplicateDetectionHistoryTimeWindow": "PT30M"}


def expected(entity: dict[str, Any]) -> dict[str, Any]:
    """Return Azure's properties of an entity of Config.json."""
    mapped = entity["Properties"] | {
        name: MAPPED[name] for name in entity["Properties"].keys() & MAPPED.keys()
    }
    return {name[0].lower() + name[1:]: value for name, value in mapped.items()}


def includes(properties: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return wanted.items() <= properties.items()


@pytest.mark.parametrize("way", WAYS)
def test_the_queues_are_those_of_the_local_cloud(way: str) -> None:
    queues = {queue.name: queue.properties for queue in of_type(way, f"{BUS}/queues")}

    assert queues.keys() == {queue["Name"] for queue in NAMESPACE["Queues"]}
    for queue in NAMESPACE["Queues"]:
        assert includes(queues[queue["Name"]], expected(queue)), queue["Name"]


def test_the_topic_and_its_subscriptions_are_those_of_the_local_cloud() -> None:
    (topic,) = NAMESPACE["Topics"]
    subscriptions = {resource.name: resource for resource in of_type("plain", f"{BUS}/topics/subscriptions")}

    assert includes(the("plain", f"{BUS}/topics").properties, expected(topic))
    assert subscriptions.keys() == {subscription["Name"] for subscription in topic["Subscriptions"]}
    for subscription in topic["Subscriptions"]:
        assert includes(subscriptions[subscription["Name"]].properties, expected(subscription)), subscription[
            "Name"
        ]
        assert subscriptions[subscription["Name"]].parent is not None


def test_the_rules_are_those_of_the_local_cloud() -> None:
    (topic,) = NAMESPACE["Topics"]
    wanted = {
        (subscription["Name"], rule["Name"], rule["Properties"]["CorrelationFilter"]["Label"])
        for subscription in topic["Subscriptions"]
        for rule in subscription["Rules"]
    }
    rules = of_type("plain", f"{BUS}/topics/subscriptions/rules")

    assert {
        (rule.parent.name, rule.name, rule.properties["correlationFilter"]["label"])
        for rule in rules
        if rule.parent is not None
    } == wanted
    assert {rule.properties["filterType"] for rule in rules} == {"CorrelationFilter"}


def test_config_json_has_only_rules_that_the_bicep_maps() -> None:
    """The mapping would lose a SQL filter or another correlation property."""
    for topic in NAMESPACE["Topics"]:
        for subscription in topic["Subscriptions"]:
            for rule in subscription["Rules"]:
                assert rule["Properties"]["FilterType"] == "Correlation"
                assert rule["Properties"]["CorrelationFilter"].keys() == {"Label"}


@pytest.mark.requirement("R-101")
def test_every_event_that_a_stage_takes_reaches_its_queue() -> None:
    rules = of_type("plain", f"{BUS}/topics/subscriptions/rules")
    forwards = {
        rule.properties["correlationFilter"]["label"]: rule.parent.properties["forwardTo"]
        for rule in rules
        if rule.parent is not None
    }

    assert {event: forwards[event] for event in STAGE_OF} == STAGE_OF


def test_a_message_can_wait_two_weeks_for_a_repair() -> None:
    for type_ in ("queues", "topics", "topics/subscriptions"):
        for entity in of_type("plain", f"{BUS}/{type_}"):
            assert entity.properties["defaultMessageTimeToLive"] == "P14D"


@pytest.mark.requirement("R-210")
def test_the_containers_file_is_current() -> None:
    assert cosmos_containers.FILE.read_text() == cosmos_containers.rendered(), (
        "run python -m tools.cosmos_containers"
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.requirement("R-201")
def test_the_containers_are_those_of_the_code(way: str) -> None:
    containers = {
        resource.name: resource.properties["resource"]
        for resource in of_type(way, "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers")
    }

    assert containers.keys() == CONTAINERS.keys()
    for name, spec in CONTAINERS.items():
        assert containers[name]["id"] == name
        assert containers[name]["partitionKey"]["paths"] == [spec.partition_path]
        assert containers[name]["indexingPolicy"] == spec.indexing_policy()
        assert containers[name].get("defaultTtl") == spec.default_ttl


def test_serverless_has_no_throughput_and_autoscale_has_a_maximum() -> None:
    account, database = (
        "Microsoft.DocumentDB/databaseAccounts",
        "Microsoft.DocumentDB/databaseAccounts/sqlDatabases",
    )

    assert the("plain", account).properties["capabilities"] == [{"name": "EnableServerless"}]
    assert the("plain", database).properties["options"] == {}
    assert the("full", account).properties["capabilities"] == []
    assert the("full", database).properties["options"] == {"autoscaleSettings": {"maxThroughput": 1000}}
