"""Config.json in the official emulator's format, and the messages that filters select."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from localcloud.servicebus.config import ConfigError, parse_config, parse_duration
from localcloud.servicebus.filters import CorrelationFilter
from localcloud.servicebus.messages import MessageView, parse_message
from tests.servicebus.topology import correlation, entity, sql, topic, topology
from tests.support.raw_amqp import message as encoded
from tests.support.services import start_service


def test_all_problems_of_a_file_are_reported_together() -> None:
    document = topology(
        [
            entity("q", LockDuration="PT10M", MaxDeliveryCount=11, DefaultMessageTimeToLive="PT2H"),
            entity("Q", ForwardTo="nowhere"),
            entity("sessions", RequiresSession=True),
            entity("odd", Colour="red", LockDuration="soon", MaxDeliveryCount="3"),
            entity("/bad name"),
        ],
        [
            topic("empty", DuplicateDetectionHistoryTimeWindow="PT1S"),
            topic("t", entity("s", [sql("r", "a = "), correlation("c")], LockDuration="PT5S")),
        ],
    )
    with pytest.raises(ConfigError) as refused:
        parse_config(document)
    text = str(refused.value)
    for problem in (
        "queue q: LockDuration is PT10M",
        "queue q: MaxDeliveryCount is 11",
        "queue q: DefaultMessageTimeToLive is PT2H",
        "q: two queues or topics have this name",
        "Q: forwards to nowhere",
        "queue sessions: RequiresSession",
        "queue odd: Colour is unknown",
        "queue odd: LockDuration: 'soon' is not an ISO 8601 duration",
        "queue odd: MaxDeliveryCount is a int",
        "queue '/bad name'",
        "topic empty: a topic has 1 to 50 subscriptions",
        "topic empty: DuplicateDetectionHistoryTimeWindow is PT1S",
        "subscription t/s: LockDuration is PT5S",
        "subscription t/s, rule r: SqlFilter supports only 1=1",
        "subscription t/s, rule c: a correlation filter names at least one property",
    ):
        assert problem in text


@pytest.mark.parametrize("document", [None, [], {}, {"UserConfig": {"Namespaces": []}}, {"UserConfig": 3}])
def test_an_invalid_configuration_is_rejected(document: Any) -> None:
    with pytest.raises(ConfigError, match="exactly one namespace"):
        parse_config(document)


def test_rule_actions_are_refused_rather_than_ignored() -> None:
    rule = sql("r", "1=1")
    rule["Properties"]["Action"] = {"SqlExpression": "SET a = 1"}
    with pytest.raises(ConfigError, match="no rule actions"):
        parse_config(topology([], [topic("t", entity("s", [rule]))]))


def test_limits_can_be_lifted_but_not_sense() -> None:
    document = topology([entity("q", LockDuration="PT0.5S", MaxDeliveryCount=100)], [])
    config = parse_config(document, clamp=False)
    assert config.queues[0].options.lock_duration == 500
    broken = copy.deepcopy(document)
    broken["UserConfig"]["Namespaces"][0]["Queues"][0]["Properties"]["LockDuration"] = "PT0S"
    with pytest.raises(ConfigError):
        parse_config(broken, clamp=False)


def test_the_service_reports_the_problem_and_exits(tmp_path: Path) -> None:
    config = tmp_path / "Config.json"
    config.write_text(json.dumps(topology([entity("q", LockDuration="PT10M")], [])))
    with pytest.raises(RuntimeError, match="queue q: LockDuration is PT10M"):
        start_service("servicebus", "--config", str(config), data=tmp_path / "data")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("PT1M", 60_000), ("PT0.5S", 500), ("P1DT2H", 93_600_000), ("PT1H30M", 5_400_000)],
)
def test_durations_are_iso_8601(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", "P", "PT", "1M", "PT1X", "P1Y", "PT-1S"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ISO 8601"):
        parse_duration(text)


def view(**application: Any) -> MessageView:
    seen = MessageView(parse_message(encoded(b"", "m-1")))
    seen.application = application
    seen.properties["subject"] = "sport"
    return seen


def test_correlation_filters_compare_values_with_their_types() -> None:
    red = CorrelationFilter({"subject": "sport"}, {"n": 1})
    assert red.matches(view(n=1))
    assert not red.matches(view(n=True))
    assert not red.matches(view(n="1"))
    assert not red.matches(view())
    assert not CorrelationFilter({"correlation_id": "c"}).matches(view())
