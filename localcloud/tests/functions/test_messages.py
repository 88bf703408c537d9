"""The attributes of messages in a Service Bus function."""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from localcloud.functions.messages import message_argument, message_body, message_metadata, text_argument
from tests.functions.messages_support import received


def single(**fields: Any) -> Any:
    return message_argument(received(**fields))


def test_a_message_carries_everything_that_the_real_host_hands_over() -> None:
    message = single(
        body=b'{"a": 1}',
        deliveries=2,
        ttl=60_000,
        properties={b"routing_key": b"k", b"attempt": 3, b"flag": True, b"ratio": 0.5},
        message_id="m-1",
        content_type="application/json",
        correlation_id="c-1",
        subject="ArchiveIngested",
        to="there",
        reply_to="here",
        reply_to_group_id="rs",
        group_id="s-1",
        annotations={b"x-opt-partition-key": b"pk"},
    )
    assert message.get_body() == b'{"a": 1}'
    assert message.message_id == "m-1"
    assert message.delivery_count == 3  # the AMQP header counts previous deliveries
    assert message.sequence_number == 42
    assert message.enqueued_time_utc == datetime(2026, 1, 1, 0, 0, 0, 123000, tzinfo=UTC)
    assert message.expires_at_utc == datetime(2026, 1, 1, 0, 1, 0, 123000, tzinfo=UTC)
    assert message.content_type == "application/json"
    assert message.correlation_id == "c-1"
    assert (message.subject, message.label) == ("ArchiveIngested", "ArchiveIngested")
    assert (message.to, message.reply_to, message.reply_to_session_id) == ("there", "here", "rs")
    assert (message.session_id, message.partition_key) == ("s-1", "pk")
    expected = {"routing_key": "k", "attempt": 3, "flag": True, "ratio": 0.5}
    assert message.user_properties == expected
    assert message.application_properties == expected
    assert str(uuid.UUID(message.lock_token)) == message.lock_token


def test_values_that_the_real_host_does_not_pass_are_none() -> None:
    message = single()
    for name in ("time_to_live", "locked_until", "state", "enqueued_sequence_number", "dead_letter_reason"):
        assert getattr(message, name) is None, name


def test_a_message_without_anything_is_readable() -> None:
    message = single(body=b"")
    assert message.get_body() == b""
    assert message.delivery_count == 1
    assert message.user_properties == {}
    assert message.message_id is None
    assert message.expires_at_utc.year == 9999


def test_metadata_is_available_by_name() -> None:
    assert single(message_id="m-1").metadata["MessageId"] == "m-1"


@pytest.mark.parametrize("body", ["héllo".encode(), b"\xff\xfe binary \x00", b"", b"x" * 200_000])
def test_a_body_arrives_byte_for_byte(body: bytes) -> None:
    assert single(body=body).get_body() == body


@pytest.mark.parametrize(
    ("value", "expected"),
    [("text", b"text"), (b"bytes", b"bytes"), ({b"a": [1, b"x"]}, b'{"a": [1, "x"]}'), (5, b"5")],
)
def test_a_value_body_is_shown_as_text(value: Any, expected: bytes) -> None:
    assert message_body(received(value=value)) == expected


def test_properties_of_every_amqp_type_are_shown_as_json_shows_them() -> None:
    token = uuid.uuid4()
    properties: dict[str | bytes, Any] = {
        b"bytes": b"\xff\x00",
        b"when": datetime(2026, 1, 1, tzinfo=UTC),
        b"id": token,
        b"none": None,
        b"list": [1, b"x"],
    }
    assert message_metadata(received(properties=properties))["UserProperties"] == {
        "bytes": "/wA=",
        "when": "2026-01-01T00:00:00.000000Z",
        "id": str(token),
        "none": None,
        "list": [1, "x"],
    }


def test_a_function_called_without_a_message_gets_the_text_as_one() -> None:
    assert text_argument("hi").get_body() == b"hi"
