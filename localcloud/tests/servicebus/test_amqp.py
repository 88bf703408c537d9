"""Guarantees of AMQP 1.0 that the Python and JavaScript SDKs do not rely on."""

import struct
from collections.abc import Iterator
from typing import Any

import pytest

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.amqp.links import remaining_grant
from localcloud.servicebus.amqp.performatives import DISPOSITION, FLOW, TRANSFER, encode_performative
from tests.servicebus.conftest import Bus
from tests.support.raw_amqp import RawClient, message, request

QUEUE = "raw-types"
MAX_UINT = 2**32 - 1


@pytest.fixture
def raw(bus: Bus) -> Iterator[RawClient]:
    """A client with a sender (handle 0) and a receiver (handle 1) on a separate queue."""
    with RawClient(bus.port) as client:
        client.login(window=MAX_UINT)
        client.attach_sender(QUEUE)
        client.attach_receiver(QUEUE)
        yield client
    bus.purge(QUEUE)
    bus.purge(f"{QUEUE}/$deadletterqueue")


def send(raw: RawClient, payload: bytes, number: int = 0) -> None:
    raw.send_bytes(raw.transfer(number, payload))
    fields, _ = raw.expect(DISPOSITION)
    assert fields[4].descriptor == 0x24


def grant(raw: RawClient, *, received: int, window: int, credit: int) -> None:
    """Send the flow of a peer that has received `received` messages of one frame each."""
    windows = (codec.uint(received), codec.uint(window), codec.uint(0), codec.uint(5000))
    raw.send(FLOW, *windows, codec.uint(1), codec.uint(received), codec.uint(credit))


@pytest.mark.parametrize(("window", "credit"), [(MAX_UINT, 10), (2**31, 10), (100, MAX_UINT), (100, 2**31)])
def test_windows_and_credit_use_all_32_bits(raw: RawClient, window: int, credit: int) -> None:
    """.NET clients announce an incoming window of 4,294,967,295."""
    send(raw, message(b"x", "m"))
    grant(raw, received=0, window=window, credit=credit)
    raw.expect(TRANSFER)
    grant(raw, received=1, window=window, credit=credit)
    raw.send_bytes(raw.transfer(1, message(b"x", "m")))
    raw.expect(TRANSFER)


@pytest.mark.parametrize(
    ("granted", "since", "sent", "expected"),
    [
        (10, 5, 5, 10),
        (10, 5, 8, 7),
        (10, 5, 20, 0),
        (10, MAX_UINT, 2, 7),
        (MAX_UINT, MAX_UINT, 2, MAX_UINT - 3),
        (MAX_UINT, 0, 0, MAX_UINT),
    ],
)
def test_outstanding_deliveries_count_against_a_grant(
    granted: int, since: int, sent: int, expected: int
) -> None:
    assert remaining_grant(granted, since=since, sent=sent) == expected


def test_a_window_that_outstanding_frames_fill_is_shut(raw: RawClient) -> None:
    """The peer sent its flow before it saw our transfers, so they count against its window."""
    for number in range(3):
        send(raw, message(b"x", f"m{number}"), number)
    grant(raw, received=0, window=3, credit=2)
    raw.expect(TRANSFER)
    raw.expect(TRANSFER)
    windows = (codec.uint(0), codec.uint(1), codec.uint(0), codec.uint(5000))
    raw.send(FLOW, *windows, codec.uint(1), codec.uint(2), codec.uint(9))
    send(raw, message(b"x", "m3"), 3)
    assert raw.transfers_seen == 2
    grant(raw, received=2, window=1, credit=9)
    raw.expect(TRANSFER)


def test_only_a_link_on_which_the_server_receives_has_a_maximum_message_size(raw: RawClient) -> None:
    """.NET clients detach from a link whose transfers exceed the announced size."""
    assert raw.attach_sender(QUEUE, 5)[10] == 256 * 1024
    for address in (QUEUE, f"{QUEUE}/$management"):
        assert raw.attach_receiver(address, 6 + len(address))[10:11] in ([], [None])


def received_sections(raw: RawClient, *, received: int = 0) -> dict[int, bytes]:
    """Return the encoded value of each section of the next message, by descriptor."""
    grant(raw, received=received, window=1000, credit=1)
    _, payload = raw.expect(TRANSFER)
    return sections(payload)


def sections(payload: bytes) -> dict[int, bytes]:
    found, position = {}, 0
    while position < len(payload):
        end = decoding.skip(payload, position)
        found[payload[position + 2]] = payload[position + 3 : end]
        position = end
    return found


def header(*fields: bytes) -> bytes:
    return codec.described(0x70, codec.list_(fields))


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([], [None, None]),
        ([codec.TRUE], [True, None]),
        ([codec.FALSE, codec.ubyte(9)], [False, 9]),
        ([NULL, codec.ubyte(0), NULL, codec.TRUE, codec.uint(7)], [None, 0]),
    ],
)
def test_durable_and_priority_arrive_as_they_were_sent(
    raw: RawClient, sent: list[bytes], expected: list[Any]
) -> None:
    """The shorter time to live applies. The broker sets first-acquirer and delivery-count."""
    send(raw, header(*sent) + message(b"x", "m"))
    fields, _ = decoding.decode(received_sections(raw)[0x70])
    assert fields == [*expected, 3_600_000, None, 0]
    raw.send(DISPOSITION, codec.TRUE, codec.uint(0), NULL, codec.TRUE, modified())
    fields, _ = decoding.decode(received_sections(raw, received=1)[0x70])
    assert fields == [*expected, 3_600_000, None, 1]


@pytest.mark.parametrize(
    "fields", [[codec.string("yes")], [NULL, codec.string("high")], [NULL, codec.uint(256)]]
)
def test_a_header_with_wrong_types_is_rejected(raw: RawClient, fields: list[bytes]) -> None:
    raw.send_bytes(raw.transfer(0, header(*fields) + message(b"x", "m")))
    state = raw.expect(DISPOSITION)[0][4]
    assert state.value[0].value[0] == "amqp:decode-error"


def custom(name: str, value: bytes) -> bytes:
    """Encode a described value, as .NET clients do for types that AMQP does not have."""
    return b"\x00" + codec.symbol(f"com.microsoft:{name}") + value


VALUES = {
    "null": NULL,
    "boolean": b"\x56\x01",
    "byte": b"\x51\xff",
    "ubyte": codec.ubyte(7),
    "short": b"\x61\xff\xfe",
    "ushort": codec.ushort(7),
    "int": codec.int_(-5),
    "small int": b"\x54\xfb",
    "uint": codec.uint(500),
    "long": codec.long(-5),
    "small long": b"\x55\xfb",
    "ulong": codec.ulong(2**63),
    "float": b"\x72" + struct.pack(">f", 1.5),
    "double": b"\x82" + struct.pack(">d", 1.5),
    "decimal": b"\x94" + bytes(range(16)),
    "char": b"\x73\x00\x00\x00\x41",
    "timestamp": codec.timestamp(1_700_000_000_000),
    "uuid": b"\x98" + bytes(range(16)),
    "binary": codec.binary(b"\x00\xff"),
    "string": codec.string("text"),
    "symbol": codec.symbol("symbol"),
    "timespan": custom("timespan", codec.long(10_000_000)),
    "uri": custom("uri", codec.string("https://example.org/")),
    "datetime-offset": custom("datetime-offset", codec.long(638_000_000_000_000_000)),
}
CHANGES = codec.map_((codec.symbol(name), value) for name, value in VALUES.items())


def modified(*, undeliverable: bool = False, changes: bytes = NULL) -> bytes:
    return encode_performative(0x27, codec.TRUE, codec.boolean(undeliverable), changes)


def application_properties(raw_sections: dict[int, bytes]) -> dict[str, bytes]:
    """Return each encoded application property."""
    encoded = raw_sections[0x74]
    position, found = (3 if encoded[0] == 0xC1 else 9), {}
    while position < len(encoded):
        name, start = decoding.decode(encoded, position)
        position = decoding.skip(encoded, start)
        found[name] = encoded[start:position]
    return found


def settle(raw: RawClient, state: bytes) -> None:
    """Settle the first delivery, and check that the outcome is confirmed."""
    raw.send(DISPOSITION, codec.TRUE, codec.uint(0), NULL, codec.FALSE, state)
    confirmed = raw.expect(DISPOSITION)[0][4]
    assert confirmed.descriptor == state[2]
    assert confirmed.descriptor != 0x25 or not confirmed.value


def test_properties_modified_on_abandon_keep_their_types(raw: RawClient) -> None:
    send(raw, message(b"x", "m", old="kept", text="replaced"))
    received_sections(raw)
    settle(raw, modified(changes=CHANGES))
    properties = application_properties(received_sections(raw, received=1))
    assert properties == {"old": codec.string("kept"), "text": codec.string("replaced"), **VALUES}


def test_properties_modified_on_defer_keep_their_types(raw: RawClient) -> None:
    send(raw, message(b"x", "m"))
    received_sections(raw)
    settle(raw, modified(undeliverable=True, changes=CHANGES))
    assert application_properties(sections(peek_last(raw))) == VALUES


def peek_last(raw: RawClient, address: str = QUEUE) -> bytes:
    fields = {"from-sequence-number": codec.long(1), "message-count": codec.int_(100)}
    messages = manage(raw, address, request("peek-message", **fields))["messages"]
    assert isinstance(messages[-1]["message"], bytes)
    return messages[-1]["message"]


def manage(raw: RawClient, address: str, payload: bytes) -> dict[str, Any]:
    """Return the body of the reply to a $management request on a separate connection."""
    with RawClient(raw.socket.getpeername()[1]) as client:
        client.login()
        client.attach_sender(f"{address}/$management")
        client.attach_receiver(f"{address}/$management")
        client.flow(1)
        client.send_bytes(client.transfer(0, payload))
        found = sections(client.expect(TRANSFER)[1])
    status = decoding.decode(found[0x74])[0]
    assert status["statusCode"] == 200, status
    return decoding.decode(found[0x77])[0] or {}


def test_properties_modified_on_dead_lettering_keep_their_types(raw: RawClient) -> None:
    send(raw, message(b"x", "m"))
    received_sections(raw)
    reason = (codec.symbol("DeadLetterReason"), codec.string("why"))
    info = codec.map_([reason, *((codec.symbol(name), value) for name, value in VALUES.items())])
    error = encode_performative(0x1D, codec.symbol("com.microsoft:dead-letter"), NULL, info)
    settle(raw, encode_performative(0x25, error))
    properties = application_properties(sections(peek_last(raw, f"{QUEUE}/$deadletterqueue")))
    assert properties == {"DeadLetterReason": codec.string("why"), **VALUES}


@pytest.mark.parametrize("status", ["abandoned", "defered", "suspended"])
def test_properties_modified_through_management_keep_their_types(raw: RawClient, status: str) -> None:
    send(raw, message(b"x", "m"))
    grant(raw, received=0, window=1000, credit=1)
    tag = raw.expect(TRANSFER)[0][2]
    token = tag[3::-1] + tag[5:3:-1] + tag[7:5:-1] + tag[8:]
    body = {
        "disposition-status": codec.string(status),
        "lock-tokens": codec.array(0x98, [token]),
        "properties-to-modify": CHANGES,
    }
    manage(raw, QUEUE, request("update-disposition", **body))
    address = f"{QUEUE}/$deadletterqueue" if status == "suspended" else QUEUE
    assert application_properties(sections(peek_last(raw, address))) == VALUES


@pytest.mark.parametrize("value", [codec.list_([]), codec.map_([]), custom("list", codec.list_([NULL]))])
def test_a_property_to_modify_is_a_simple_value(raw: RawClient, value: bytes) -> None:
    """Application properties cannot have lists or maps, so the message would be malformed."""
    send(raw, message(b"x", "m"))
    received_sections(raw)
    changes = codec.map_([(codec.symbol("bad"), value)])
    raw.send(DISPOSITION, codec.TRUE, codec.uint(0), NULL, codec.FALSE, modified(changes=changes))
    state = raw.expect(DISPOSITION)[0][4]
    assert state.value[0].value[0] == "com.microsoft:argument-error"
