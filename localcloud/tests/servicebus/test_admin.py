"""The administration API through the real clients."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.servicebus import ServiceBusClient, ServiceBusMessage
from azure.servicebus.aio.management import ServiceBusAdministrationClient as AsyncAdministrationClient
from azure.servicebus.management import (
    CorrelationRuleFilter,
    ServiceBusAdministrationClient,
    SqlRuleFilter,
    TrueRuleFilter,
)

from tests.servicebus.conftest import Bus
from tests.servicebus.sdk import receive
from tests.servicebus.topology import TOPOLOGY
from tests.support.raw_amqp import sas_token

ATOM = "http://www.w3.org/2005/Atom"
NAMESPACE = TOPOLOGY["UserConfig"]["Namespaces"][0]


@pytest.fixture(scope="module")
def admin(bus: Bus) -> Iterator[ServiceBusAdministrationClient]:
    """A client as documented: the admin port in the endpoint, and the service's own certificate authority."""
    with ServiceBusAdministrationClient.from_connection_string(
        bus.admin_connection_string, connection_verify=str(bus.data / "ca.pem")
    ) as client:
        yield client


def test_queues_topics_and_subscriptions_are_listed(admin: ServiceBusAdministrationClient) -> None:
    assert [queue.name for queue in admin.list_queues()] == [queue["Name"] for queue in NAMESPACE["Queues"]]
    assert [topic.name for topic in admin.list_topics()] == ["news", "js-news"]
    names = [subscription.name for subscription in admin.list_subscriptions("news")]
    assert names == ["all", "sport", "every", "props", "paged", "forwarded"]


def test_long_lists_come_in_pages(admin: ServiceBusAdministrationClient) -> None:
    names = [queue.name for queue in admin.list_queues(max_page_size=5)]
    assert names == [queue["Name"] for queue in NAMESPACE["Queues"]]


def test_a_queue_says_how_it_is_configured(admin: ServiceBusAdministrationClient) -> None:
    queue = admin.get_queue("mortal")
    assert queue.lock_duration == timedelta(minutes=1)
    assert queue.default_message_time_to_live == timedelta(hours=1)
    assert queue.max_delivery_count == 3
    assert queue.dead_lettering_on_message_expiration is True
    assert queue.requires_session is False
    assert admin.get_queue("entrance").forward_to == "second"
    unique = admin.get_queue("unique")
    assert unique.requires_duplicate_detection is True
    assert unique.duplicate_detection_history_time_window == timedelta(minutes=1)
    assert admin.get_topic("news").requires_duplicate_detection is True
    assert admin.get_subscription("news", "forwarded").forward_to == "target"


def test_runtime_properties_count_messages_by_state(
    bus: Bus, client: ServiceBusClient, admin: ServiceBusAdministrationClient
) -> None:
    with client.get_queue_sender("patient") as sender, client.get_queue_receiver("patient") as receiver:
        sender.send_messages([ServiceBusMessage(name) for name in ("dead", "deferred", "active")])
        sender.schedule_messages(ServiceBusMessage("x"), datetime.now(UTC) + timedelta(hours=1))
        dead, deferred = receive(receiver, 2)
        receiver.dead_letter_message(dead)
        receiver.defer_message(deferred)
        counts = admin.get_queue_runtime_properties("patient")
    assert (counts.active_message_count, counts.dead_letter_message_count) == (1, 1)
    assert (counts.scheduled_message_count, counts.total_message_count) == (1, 4)
    assert (counts.size_in_bytes or 0) > 0
    topic = admin.get_topic_runtime_properties("news")
    assert topic.subscription_count == 6
    subscription = admin.get_subscription_runtime_properties("news", "props")
    assert subscription.active_message_count == 0


def test_rules_are_shown_as_they_were_configured(admin: ServiceBusAdministrationClient) -> None:
    (default,) = admin.list_rules("news", "all")
    assert default.name == "$Default"
    assert isinstance(default.filter, TrueRuleFilter)
    label = admin.get_rule("news", "sport", "label")
    assert isinstance(label.filter, CorrelationRuleFilter)
    assert label.filter.label == "sport"
    (every,) = admin.list_rules("news", "every")
    assert (every.name, type(every.filter)) == ("every", TrueRuleFilter)
    (properties,) = admin.list_rules("news", "props")
    assert isinstance(properties.filter, CorrelationRuleFilter)
    assert properties.filter.properties == {"colour": "red", "urgent": True}


@pytest.mark.parametrize(
    "path",
    [
        "NEWS/SUBSCRIPTIONS/SPORT/RULES/LABEL",
        "news/Subscriptions/sport/Rules/label",
        "news/subscriptions/sport/rules/label",
        "news/Subscriptions/sport/RULES",
        "News/SUBSCRIPTIONS",
        "$RESOURCES/Topics",
        "$NamespaceInfo",
        "Old/Rules/Book",
    ],
)
def test_paths_are_case_insensitive(bus: Bus, path: str) -> None:
    request = urllib.request.Request(f"{bus.admin}/{path}")
    request.add_header("Authorization", sas_token("sb://localhost/"))
    with urllib.request.urlopen(request, timeout=5) as response:
        root = ET.fromstring(response.read())
    assert root.tag in {f"{{{ATOM}}}{kind}" for kind in ("entry", "feed")}


def test_the_namespace_has_a_name(admin: ServiceBusAdministrationClient) -> None:
    assert admin.get_namespace_properties().name == "sbemulatorns"


def test_a_missing_entity_is_not_found(admin: ServiceBusAdministrationClient) -> None:
    with pytest.raises(ResourceNotFoundError):
        admin.get_queue("nowhere")
    with pytest.raises(ResourceNotFoundError):
        admin.get_subscription("news", "nowhere")
    with pytest.raises(ResourceNotFoundError):
        admin.get_rule("news", "sport", "nowhere")


def test_the_topology_is_read_only(admin: ServiceBusAdministrationClient) -> None:
    with pytest.raises(HttpResponseError, match=r"Config\.json") as refused:
        admin.create_queue("new")
    assert refused.value.status_code == 405
    with pytest.raises(HttpResponseError, match=r"Config\.json"):
        admin.create_rule("news", "all", "new", filter=SqlRuleFilter("1=1"))
    with pytest.raises(HttpResponseError, match=r"Config\.json"):
        admin.delete_queue("work")


def test_a_wrong_key_is_refused(bus: Bus) -> None:
    wrong = bus.admin_connection_string.replace("SAS_KEY_VALUE", "WRONG")
    with (
        ServiceBusAdministrationClient.from_connection_string(
            wrong, connection_verify=str(bus.data / "ca.pem")
        ) as admin,
        pytest.raises(HttpResponseError, match="InvalidSignature") as refused,
    ):
        admin.get_queue("work")
    assert refused.value.status_code == 401


async def test_the_asynchronous_client_reads_the_same(bus: Bus) -> None:
    async with AsyncAdministrationClient.from_connection_string(
        bus.admin_connection_string, connection_verify=str(bus.data / "ca.pem")
    ) as admin:
        assert [topic.name async for topic in admin.list_topics()] == ["news", "js-news"]
        assert (await admin.get_queue("work")).max_delivery_count == 3
        counts = await admin.get_queue_runtime_properties("renewable")
        assert counts.active_message_count is not None
        assert [rule.name async for rule in admin.list_rules("news", "sport")] == ["label"]
        with pytest.raises(ResourceNotFoundError):
            await admin.get_topic("nowhere")


def test_health_is_served_over_plain_http_without_a_key(bus: Bus) -> None:
    with urllib.request.urlopen(f"{bus.admin}/health", timeout=5) as response:
        assert json.loads(response.read())["status"] == "healthy"
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{bus.admin}/$Resources/queues", timeout=5)
