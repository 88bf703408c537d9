"""From the message of a Functions trigger to a delivery, and its settlement."""

import sys
from datetime import UTC, datetime, timedelta, timezone
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import azure.functions as func
import pytest

from shared.pipeline.delivery import RaiseToAbandon
from shared.pipeline.stage import Stage, StageResult
from shared.pipeline.topology import CHUNKING
from stages.registration import (
    SETTLEMENT,
    PreviewSettlement,
    delivery_from_functions,
    delivery_from_sdk,
    register_stage,
)

if TYPE_CHECKING:
    from shared.azure.servicebus.bus import ReceivedMessage

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
EXTENSION = "azurefunctions.extensions.bindings.servicebus"


class HostMessage:
    """A message in the form that the host gives to a function."""

    def __init__(self, **fields: Any) -> None:
        self.message_id = "id1"
        self.delivery_count: int | None = 3
        self.enqueued_time_utc: datetime | None = NOON
        self.subject = "JSONParsed"
        self.correlation_id = "event1"
        self.application_properties: dict[Any, Any] | None = {"attempt": 2}
        vars(self).update(fields)

    def get_body(self) -> bytes:
        return b"body"

    @property
    def body(self) -> list[bytes]:
        return [b"bo", b"dy"]


def from_host(**fields: Any) -> Any:
    return delivery_from_functions(cast("func.ServiceBusMessage", HostMessage(**fields)))


def from_sdk(**fields: Any) -> Any:
    return delivery_from_sdk(cast("ReceivedMessage", HostMessage(**fields)))


@pytest.mark.parametrize("make", [from_host, from_sdk])
def test_a_delivery_has_what_the_message_says(make: Any) -> None:
    delivery = make()
    assert (delivery.body, delivery.message_id, delivery.enqueued_at) == (b"body", "id1", NOON)
    assert delivery.properties == {"attempt": 2}
    assert (delivery.subject, delivery.correlation_id) == ("JSONParsed", "event1")
    assert isinstance(delivery.settlement, RaiseToAbandon)
    assert make(application_properties=None).properties == {}


@pytest.mark.parametrize(("count", "by_host", "by_sdk"), [(None, 1, 1), (0, 1, 1), (1, 1, 2), (9, 9, 10)])
def test_the_host_counts_this_delivery_and_the_sdk_those_before(
    count: int | None, by_host: int, by_sdk: int
) -> None:
    assert from_host(delivery_count=count).delivery_count == by_host
    assert from_sdk(delivery_count=count).delivery_count == by_sdk


@pytest.mark.parametrize("make", [from_host, from_sdk])
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (NOON.replace(tzinfo=None), NOON),  # the host may omit the zone
        (None, None),
        (NOON.astimezone(timezone(timedelta(hours=2))), NOON),
    ],
)
def test_a_time_without_a_zone_is_utc(make: Any, said: datetime | None, meant: datetime | None) -> None:
    assert make(enqueued_time_utc=said).enqueued_at == meant


def test_the_sdks_properties_become_text() -> None:
    assert from_sdk(application_properties={b"name": b"value", "n": 1}).properties == {
        "name": "value",
        "n": 1,
    }


def test_a_settlement_that_is_given_is_used() -> None:
    settlement = PreviewSettlement(None, None)
    assert delivery_from_sdk(cast("ReceivedMessage", HostMessage()), settlement).settlement is settlement


def function_of(stage: Stage[Any]) -> tuple[str, dict[str, Any]]:
    blueprint = func.Blueprint()
    register_stage(blueprint, stage)
    (builder,) = blueprint._function_builders
    function: Any = builder.build(func.AuthLevel.ANONYMOUS)
    return function.get_function_name(), function.get_trigger().get_dict_repr()


async def _work(*_: Any) -> StageResult:
    return StageResult()


STAGE: Stage[Any] = Stage(CHUNKING, _work, lambda _: [])


@pytest.mark.parametrize("setting", [None, "", "preview2"])
def test_by_default_the_host_settles_the_messages_of_the_stages_own_queue(
    monkeypatch: pytest.MonkeyPatch, setting: str | None
) -> None:
    monkeypatch.delenv(SETTLEMENT, raising=False)
    if setting is not None:
        monkeypatch.setenv(SETTLEMENT, setting)
    name, trigger = function_of(STAGE)
    assert name == "chunking"
    assert (trigger["name"], trigger["queueName"]) == ("msg", "chunking")
    assert (trigger["connection"], trigger["autoCompleteMessages"]) == ("SERVICEBUS_CONNECTION", True)


def test_with_the_preview_setting_the_stage_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    extension: Any = ModuleType(EXTENSION)
    extension.ServiceBusReceivedMessage = extension.ServiceBusMessageActions = object
    parts = EXTENSION.split(".")
    for length in range(1, len(parts)):
        package: Any = ModuleType(".".join(parts[:length]))
        package.__path__ = []
        monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setitem(sys.modules, EXTENSION, extension)
    monkeypatch.setattr(
        sys.modules["azurefunctions.extensions.bindings"], "servicebus", extension, raising=False
    )
    for parent, child in (("azurefunctions", "extensions"), ("azurefunctions.extensions", "bindings")):
        monkeypatch.setattr(sys.modules[parent], child, sys.modules[f"{parent}.{child}"], raising=False)
    monkeypatch.setenv("SERVICEBUS_SETTLEMENT", "preview")
    _, trigger = function_of(STAGE)
    assert trigger["autoCompleteMessages"] is False
