"""What AMQP 1.0 promises to every client, beyond what the Python and JavaScript SDKs make use of."""

from collections.abc import Iterator
from typing import Any

import pytest

from localcloud.servicebus.amqp import codec
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.amqp.performatives import DISPOSITION, FLOW, TRANSFER, encode_performative
from tests.localcloud.servicebus.conftest import Bus
from tests.support.raw_amqp import RawClient, message

QUEUE = "raw-types"
MAX_UINT = 2**32 - 1


@pytest.fixture
def raw(bus: Bus) -> Iterator[RawClient]:
    """A client with a sender (handle 0) and a receiver (handle 1) on a queue of its own."""
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
    """A flow of a peer that has received `received` messages, of one frame each."""
    windows = (codec.uint(received), codec.uint(window), codec.uint(0), codec.uint(5000))
    raw.send(FLOW, *windows, codec.uint(1), codec.uint(received), codec.uint(credit))


@pytest.mark.parametrize(("window", "credit"), [(MAX_UINT, 10), (2**31, 10), (100, MAX_UINT), (100, 2**31)])
def test_windows_and_credit_use_all_32_bits(raw: RawClient, window: int, credit: int) -> None:
    """.NET clients announce an incoming-window of 4,294,967,295."""
    send(raw, message(b"x", "m"))
    grant(raw, received=0, window=window, credit=credit)
    raw.expect(TRANSFER)
    grant(raw, received=1, window=window, credit=credit)
    raw.send_bytes(raw.transfer(1, message(b"x", "m")))
    raw.expect(TRANSFER)


def test_a_window_that_outstanding_frames_fill_is_shut(raw: RawClient) -> None:
    """The peer wrote its flow before it saw our transfers: its window counts from there."""
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
    """.NET clients detach from a link whose transfers are larger than what its attach announced."""
    assert raw.attach_sender(QUEUE, 5)[10] == 256 * 1024
    for address in (QUEUE, f"{QUEUE}/$management"):
        assert raw.attach_receiver(address, 6 + len(address))[10:11] in ([], [None])


def received_sections(raw: RawClient, *, received: int = 0) -> dict[int, bytes]:
    """The encoded value of every section of the next message, by its descriptor."""
    grant(raw, received=received, window=1000, credit=1)
    _, payload = raw.expect(TRANSFER)
    return sections(payload)


def sections(payload: bytes) -> dict[int, bytes]:
    found, position = {}, 0
    while position < len(payload):
        end = codec.skip(payload, position)
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
    """The time to live is the shorter one, and first-acquirer and delivery-count are the broker's own."""
    send(raw, header(*sent) + message(b"x", "m"))
    fields, _ = codec.decode(received_sections(raw)[0x70])
    assert fields == [*expected, 3_600_000, None, 0]
    raw.send(DISPOSITION, codec.TRUE, codec.uint(0), NULL, codec.TRUE, modified())
    fields, _ = codec.decode(received_sections(raw, received=1)[0x70])
    assert fields == [*expected, 3_600_000, None, 1]


@pytest.mark.parametrize(
    "fields", [[codec.string("yes")], [NULL, codec.string("high")], [NULL, codec.uint(256)]]
)
def test_a_header_with_wrong_types_is_rejected(raw: RawClient, fields: list[bytes]) -> None:
    raw.send_bytes(raw.transfer(0, header(*fields) + message(b"x", "m")))
    state = raw.expect(DISPOSITION)[0][4]
    assert state.value[0].value[0] == "amqp:decode-error"


def modified(*, undeliverable: bool = False, changes: bytes = NULL) -> bytes:
    return encode_performative(0x27, codec.TRUE, codec.boolean(undeliverable), changes)
