"""Frames that the SDKs would never send: malformed, truncated, huge or wrongly typed, and odd requests."""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcloud.servicebus.amqp import codec, decoding
from localcloud.servicebus.amqp.codec import NULL
from localcloud.servicebus.amqp.decoding import DecodeError, Described
from localcloud.servicebus.amqp.performatives import (
    ATTACH,
    BEGIN,
    CLOSE,
    DETACH,
    DISPOSITION,
    FLOW,
    OPEN,
    TRANSFER,
    encode_frame,
    encode_performative,
    parse_performative,
    parse_plain_transfer,
)
from localcloud.servicebus.errors import DecodeFailed
from localcloud.servicebus.messages import BATCH_FORMAT, parse_batch, parse_message
from tests.servicebus.conftest import Bus
from tests.support.raw_amqp import (
    AMQP_HEADER,
    PLAIN_LOGIN,
    SASL_HEADER,
    RawClient,
    message,
    request,
    sas_token,
)


@pytest.fixture
def raw(bus: Bus) -> Iterator[RawClient]:
    with RawClient(bus.port) as client:
        yield client


def is_alive(bus: Bus) -> bool:
    """Return whether a new client is served normally."""
    with RawClient(bus.port) as client:
        client.login()
        client.attach_sender("raw")
        client.send_bytes(client.transfer(0, message(b"alive", "m")))
        fields, _ = client.expect(DISPOSITION)
        assert fields[4].descriptor == 0x24
    bus.purge("raw")
    return True


def close_error(client: RawClient) -> str:
    fields, _ = client.expect(CLOSE)
    assert isinstance(fields[0], Described)
    assert len(fields[0].value) == 3
    return str(fields[0].value[0])


def frame(body: bytes, *, kind: int = 0, channel: int = 0, offset: int = 2, size: int | None = None) -> bytes:
    return struct.pack(">IBBH", len(body) + 8 if size is None else size, offset, kind, channel) + body


MALFORMED = {
    "a frame that is larger than allowed": (frame(b"", size=0xFFFFFFFF), "framing-error"),
    "a frame that is smaller than its header": (frame(b"", size=4), "framing-error"),
    "a data offset beyond the frame": (frame(b"\x00\x53\x18\x45", offset=200), "framing-error"),
    "a data offset inside the header": (frame(b"\x00\x53\x18\x45", offset=1), "framing-error"),
    "an unknown frame type": (frame(b"\x00\x53\x18\x45", kind=9), "framing-error"),
    "a body that is no performative": (frame(b"\x41"), "decode-error"),
    "an unknown performative": (frame(b"\x00\x53\x77\x45"), "decode-error"),
    "a performative that is no list": (frame(b"\x00\x53\x11\x41"), "decode-error"),
    "a truncated list": (frame(b"\x00\x53\x11\xc0\x20\x05\x40"), "decode-error"),
    "a list that counts more than it has": (
        frame(b"\x00\x53\x11\xd0\x00\x00\x00\x05\xff\xff\xff\xff\x40"),
        "decode-error",
    ),
    "an attach without a name": (
        frame(encode_performative(ATTACH, NULL, codec.uint(0), codec.TRUE)),
        "decode-error",
    ),
    "a handle that is a string": (
        frame(encode_performative(ATTACH, codec.string("x"), codec.string("0"), codec.TRUE)),
        "decode-error",
    ),
    "a transfer with a negative handle": (
        frame(encode_performative(TRANSFER, codec.string("-1"))),
        "decode-error",
    ),
    "a nest of lists": (frame(b"\x00\x53\x11" + b"\x00\x53\x00" * 2000 + b"\x40"), "decode-error"),
    "a transfer on no session": (
        frame(encode_performative(TRANSFER, codec.uint(0)), channel=7),
        "not-allowed",
    ),
    "a session on a channel that is too high": (
        frame(encode_performative(BEGIN, NULL, codec.uint(0), codec.uint(1), codec.uint(1)), channel=999),
        "not-allowed",
    ),
    "a second open": (frame(encode_performative(OPEN, codec.string("again"))), "not-allowed"),
    "a handle above the limit": (
        frame(encode_performative(ATTACH, codec.string("x"), codec.uint(70_000), codec.TRUE)),
        "resource-limit-exceeded",
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_the_peer_gets_an_error_and_others_are_served(bus: Bus, raw: RawClient, case: str) -> None:
    data, condition = MALFORMED[case]
    raw.login()
    raw.send_bytes(data)
    assert condition in close_error(raw)
    assert is_alive(bus)


@pytest.mark.parametrize(
    "greeting", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01", b"AMQP\x01\x01\x00\x00"]
)
def test_a_peer_with_another_protocol_gets_the_supported_header(
    bus: Bus, raw: RawClient, greeting: bytes
) -> None:
    raw.send_bytes(greeting)
    assert raw.read_exactly(8) == AMQP_HEADER
    with pytest.raises(ConnectionError):
        raw.read_exactly(1)
    assert is_alive(bus)


def test_frames_that_arrive_byte_by_byte_are_understood(raw: RawClient) -> None:
    data = AMQP_HEADER + encode_frame(0, encode_performative(OPEN, codec.string("slow")))
    for byte in data:
        raw.send_bytes(bytes((byte,)))
    assert raw.read_exactly(8) == AMQP_HEADER
    raw.expect(OPEN)


def test_a_wrong_password_is_refused_in_sasl(raw: RawClient) -> None:
    raw.send_bytes(SASL_HEADER)
    init = encode_performative(0x41, codec.symbol("PLAIN"), codec.binary(b"\0RootManageSharedAccessKey\0no"))
    raw.send_bytes(encode_frame(0, init, 1))
    raw.read_exactly(8)
    raw.read_frame()
    outcome, _ = decoding.decode(raw.read_frame())
    assert outcome.value == [1]
    with pytest.raises(ConnectionError):
        raw.read_exactly(1)


def refusal(raw: RawClient, attach: list[Any]) -> str:
    """Return the condition of a refused link."""
    assert attach[5:7] == [None, None]
    fields, _ = raw.expect(DETACH)
    assert fields[1] is True
    return str(fields[2].value[0])


def test_without_a_token_nothing_can_be_attached(raw: RawClient) -> None:
    raw.open()
    assert refusal(raw, raw.attach_sender("raw")) == "amqp:unauthorized-access"


def put_token(raw: RawClient, token: str, audience: str) -> int:
    raw.attach_sender("$cbs", 10)
    raw.attach_receiver("$cbs", 11)
    raw.flow(1, handle=11)
    pairs = {"operation": "put-token", "type": "servicebus.windows.net:sastoken", "name": audience}
    properties = codec.map_((codec.string(key), codec.string(value)) for key, value in pairs.items())
    payload = (
        codec.described(0x73, codec.list_([codec.ulong(7)]))
        + codec.described(0x74, properties)
        + codec.described(0x77, codec.string(token))
    )
    raw.send_bytes(raw.transfer(0, payload, handle=10))
    _, reply = raw.expect(TRANSFER)
    section, position = decoding.decode(reply)
    assert section.value[5] == 7, "the correlation id comes back with its type"
    section, _ = decoding.decode(reply, position)
    return int(section.value["status-code"])


def test_a_token_grants_access_only_to_its_audience(raw: RawClient) -> None:
    raw.open()
    assert put_token(raw, sas_token("sb://localhost/raw"), "sb://localhost/raw") == 202
    assert refusal(raw, raw.attach_sender("work", 1)) == "amqp:unauthorized-access"
    assert raw.attach_sender("RAW", 2)[6] is not None
    assert raw.attach_receiver("raw/$DeadLetterQueue", 3)[5] is not None
    assert raw.attach_sender("raw/$management", 4)[6] is not None


@pytest.mark.parametrize(
    "token",
    [
        "",
        "Bearer eyJhbGciOi",
        "SharedAccessSignature sr=x",
        sas_token("sb://localhost/raw", key="WRONG"),
        sas_token("sb://localhost/raw", name="Somebody"),
        sas_token("sb://localhost/raw", expiry=1_000_000),
        sas_token("sb://localhost/other"),
    ],
)
def test_other_tokens_are_refused(raw: RawClient, token: str) -> None:
    raw.open()
    assert put_token(raw, token, "sb://localhost/raw") == 401
    assert refusal(raw, raw.attach_sender("raw", 1)) == "amqp:unauthorized-access"


@pytest.mark.parametrize(
    ("address", "condition"),
    [
        ("nowhere", "amqp:not-found"),
        ("nowhere/$management", "amqp:not-found"),
        ("raw/$DeadLetterQueue", "amqp:not-allowed"),
        ("news/Subscriptions/all", "amqp:not-allowed"),
    ],
)
def test_a_sender_is_refused_where_nothing_can_be_sent(raw: RawClient, address: str, condition: str) -> None:
    raw.login()
    assert refusal(raw, raw.attach_sender(address)) == condition


def test_transactions_are_refused(raw: RawClient) -> None:
    raw.login()
    coordinator = codec.described(0x30, b"\x45")
    raw.send(ATTACH, codec.string("tx"), codec.uint(0), codec.FALSE, NULL, NULL, NULL, coordinator)
    attach, _ = raw.expect(ATTACH)
    assert refusal(raw, attach) == "amqp:not-implemented"


def outcome(
    raw: RawClient, payload: bytes, *, number: int = 0, message_format: int = 0
) -> tuple[int, str | None]:
    raw.send_bytes(raw.transfer(number, payload, message_format=message_format))
    fields, _ = raw.expect(DISPOSITION)
    state = fields[4]
    return state.descriptor, state.value[0].value[0] if state.value else None


BAD_MESSAGES = {
    "nothing": b"",
    "no body": codec.described(0x73, codec.list_([codec.string("x")])),
    "no sections": b"\x41\x41",
    "an unknown section": codec.described(0x60, b"\x45") + message(b""),
    "properties that are a map": codec.described(0x73, codec.map_([])) + message(b""),
    "application properties that are a list": codec.described(0x74, codec.list_([NULL])) + message(b""),
    "application properties with a number for a key": codec.described(
        0x74, codec.map_([(codec.uint(1), NULL)])
    )
    + message(b""),
    "application properties that name a key twice": codec.described(
        0x74, codec.map_([(codec.string("a"), NULL), (codec.string("a"), NULL)])
    )
    + message(b""),
    "a time to live that is a string": codec.described(0x70, codec.list_([NULL, NULL, codec.string("soon")]))
    + message(b""),
    "a time to live beyond its type": codec.described(0x70, codec.list_([NULL, NULL, codec.ulong(2**60)]))
    + message(b""),
    "a schedule beyond the calendar": codec.described(
        0x72, codec.map_([(codec.symbol("x-opt-scheduled-enqueue-time"), codec.timestamp(2**62))])
    )
    + message(b""),
    "a truncated body": message(b"hello")[:-1],
    "a map that does not fit": b"\x00\x53\x74\xc1\xff\x02\xa1",
}


@pytest.mark.parametrize("case", BAD_MESSAGES)
def test_a_malformed_message_is_rejected_and_the_link_stays_open(bus: Bus, raw: RawClient, case: str) -> None:
    raw.login()
    raw.attach_sender("raw")
    assert outcome(raw, BAD_MESSAGES[case]) == (0x25, "amqp:decode-error")
    assert outcome(raw, message(b"fine", "m"), number=1) == (0x24, None)
    assert bus.purge("raw") == 1


def test_a_batch_is_taken_whole_or_not_at_all(bus: Bus, raw: RawClient) -> None:
    raw.login()
    raw.attach_sender("raw")

    def batch(*messages: bytes) -> bytes:
        return b"".join(codec.described(0x75, codec.binary(item)) for item in messages)

    good = message(b"good", "g")
    mixed = outcome(raw, batch(good, b"\x41bad", good), message_format=BATCH_FORMAT)
    assert mixed == (0x25, "amqp:decode-error")
    assert bus.purge("raw") == 0
    assert outcome(raw, batch(good, good), number=1, message_format=BATCH_FORMAT) == (0x24, None)
    assert bus.purge("raw") == 2


def test_a_message_over_the_limit_is_rejected_however_many_frames_it_takes(bus: Bus, raw: RawClient) -> None:
    raw.login()
    raw.attach_sender("raw")
    part = b"x" * 60_000
    for number in range(40):
        head = (codec.uint(0), codec.uint(0) if number == 0 else NULL, codec.binary(b"t"), NULL, NULL)
        raw.send(TRANSFER, *head, codec.TRUE if number < 39 else codec.FALSE, payload=part)
    fields, _ = raw.expect(DISPOSITION)
    assert fields[4].value[0].value[0] == "amqp:link:message-size-exceeded"
    assert outcome(raw, message(b"small", "m"), number=1) == (0x24, None)
    bus.purge("raw")


def test_unfinished_deliveries_on_many_links_are_bounded(bus: Bus, raw: RawClient) -> None:
    raw.login()
    part = b"x" * 60_000
    with pytest.raises(ConnectionError):  # noqa: PT012 - the server can disconnect at any of these
        for handle in range(200):
            raw.attach_sender("raw", handle)
            for number in range(4):
                fields = (codec.uint(handle), codec.uint(handle) if number == 0 else NULL, codec.binary(b"t"))
                raw.send(TRANSFER, *fields, NULL, NULL, codec.TRUE, payload=part)
        raw.read_exactly(1_000_000)
    assert is_alive(bus)


def test_a_peer_that_reads_nothing_does_not_fill_the_servers_memory(bus: Bus) -> None:
    """The peer sends requests with large replies and never reads, so the server must stop reading too."""
    process = psutil.Process(bus.service.process.pid)
    with RawClient(bus.port) as filler:
        filler.login()
        filler.attach_sender("raw")
        for number in range(40):
            assert outcome(filler, message(b"x" * 50_000, "m"), number=number) == (0x24, None)
    before = process.memory_info().rss
    with RawClient(bus.port, timeout=1) as raw:
        raw.login()
        raw.attach_sender("raw/$management")
        raw.attach_receiver("raw/$management")
        raw.flow(1_000_000)
        fields = {"from-sequence-number": codec.long(1), "message-count": codec.int_(1000)}
        peek = request("peek-message", **fields)
        requests = b"".join(raw.transfer(number, peek) for number in range(1000))
        with pytest.raises(TimeoutError):  # noqa: PT012 - the server must stop reading
            for _ in range(400):
                raw.send_bytes(requests)
        assert process.memory_info().rss - before < 64 * 1024 * 1024
    bus.purge("raw")
    assert is_alive(bus)


def test_a_receiver_that_reads_slowly_gets_everything_in_the_end(bus: Bus) -> None:
    """More data waits for the receiver than the server buffers for a connection."""
    with RawClient(bus.port) as sender, RawClient(bus.port) as receiver:
        sender.login()
        sender.attach_sender("raw")
        for number in range(300):
            assert outcome(sender, message(b"x" * 60_000, f"m{number}"), number=number) == (0x24, None)
        receiver.login()
        receiver.attach_receiver("raw", presettled=True)
        receiver.flow(1000)
        whole = 0
        while whole < 300:
            fields, _ = receiver.expect(TRANSFER)
            whole += not fields[5]
    assert bus.purge("raw") == 0


def test_a_drain_ends_only_when_nothing_is_left(bus: Bus) -> None:
    """More data waits than the server buffers for a connection."""
    fill(bus, "raw", *(message(b"x" * 60_000, f"m{number}") for number in range(200)))
    assert bus.purge("raw") == 200


@pytest.fixture
def narrow(bus: Bus) -> Iterator[RawClient]:
    """A client that accepts frames of 512 bytes, two at a time."""
    with RawClient(bus.port) as client:
        client.login(max_frame=512, window=2)
        yield client
    bus.purge("raw-windows")


def open_window(client: RawClient, frames: int, *link: bytes) -> None:
    """Open the window for two frames beyond the received `frames`. `link` has the fields of a link's flow."""
    client.send(FLOW, codec.uint(frames), codec.uint(2), codec.uint(0), codec.uint(100), *link)


def until_drained(client: RawClient) -> int:
    """Return the number of frames before the server ends the drain."""
    frames = 0
    for descriptor, fields, _ in client.performatives():
        if descriptor == TRANSFER:
            frames += 1
            if frames % 2 == 0:
                open_window(client, frames)
        elif descriptor == FLOW and fields[8]:
            break
    return frames


def test_a_drain_waits_for_room_in_the_peers_window(bus: Bus, narrow: RawClient) -> None:
    fill(bus, "raw-windows", *(message(b"x", f"m{number}") for number in range(9)))
    narrow.attach_receiver("raw-windows", presettled=True)
    open_window(narrow, 0, codec.uint(1), codec.uint(0), codec.uint(50), NULL, codec.TRUE)
    assert until_drained(narrow) == 9
    assert bus.purge("raw-windows") == 0


def test_a_drain_is_over_after_the_last_frame_of_a_message_not_before(bus: Bus, narrow: RawClient) -> None:
    """The message has used up the credit, but most of its frames still wait for the window."""
    fill(bus, "raw-windows", message(b"y" * 3000, "m"))
    narrow.attach_receiver("raw-windows", presettled=True)
    open_window(narrow, 0, codec.uint(1), codec.uint(0), codec.uint(1), NULL, codec.TRUE)
    assert until_drained(narrow) > 6


def test_a_window_that_one_link_opens_serves_the_others_too(bus: Bus, narrow: RawClient) -> None:
    fill(bus, "raw-windows", *(message(b"x", f"m{number}") for number in range(4)))
    narrow.attach_receiver("raw-windows", 1, presettled=True)
    narrow.attach_receiver("raw", 2, presettled=True)
    open_window(narrow, 0, codec.uint(1), codec.uint(0), codec.uint(50))
    narrow.expect(TRANSFER)
    narrow.expect(TRANSFER)
    open_window(narrow, 2, codec.uint(2), codec.uint(0), codec.uint(0))
    narrow.expect(TRANSFER)
    narrow.expect(TRANSFER)


def fill(bus: Bus, queue: str, *payloads: bytes) -> None:
    with RawClient(bus.port) as sender:
        sender.login()
        sender.attach_sender(queue)
        for number, payload in enumerate(payloads):
            assert outcome(sender, payload, number=number) == (0x24, None)


def test_the_peers_session_window_is_kept_even_within_a_message(bus: Bus) -> None:
    body = b"y" * 3000
    fill(bus, "raw-windows", message(body, "m"))
    with RawClient(bus.port) as client:
        client.login(max_frame=512, window=2)
        client.attach_receiver("raw-windows")
        received, frames = b"", 0
        while True:
            windows = (codec.uint(frames), codec.uint(2), codec.uint(0), codec.uint(100))
            client.send(FLOW, *windows, codec.uint(1), codec.uint(0), codec.uint(1))
            for _ in range(2):
                fields, payload = client.expect(TRANSFER)
                assert len(payload) < 512
                received += payload
                frames += 1
                if not fields[5]:
                    assert received.endswith(body)
                    return


def test_a_disposition_of_four_billion_deliveries_is_answered_at_once(bus: Bus, raw: RawClient) -> None:
    raw.login()
    raw.attach_sender("raw")
    raw.attach_receiver("raw")
    assert outcome(raw, message(b"x", "m")) == (0x24, None)
    raw.flow(1)
    raw.expect(TRANSFER)
    started = time.monotonic()
    raw.complete(0, 0xFFFFFFFF)
    fields, _ = raw.expect(DISPOSITION)
    assert (fields[1], fields[2]) == (0, 0)
    assert time.monotonic() - started < 5
    assert bus.purge("raw") == 0


BAD_ARGUMENT = "com.microsoft:argument-error"
NOT_FOUND = "com.microsoft:message-not-found"
NO_LOCKS = codec.array(0x98, [b"0" * 16])
NO_NUMBERS = codec.list_([codec.long(5)])


@pytest.mark.parametrize(
    ("operation", "fields", "status", "condition"),
    [
        ("renew-session-lock", {}, 501, "amqp:not-implemented"),
        ("get-message-sessions", {}, 501, "amqp:not-implemented"),
        ("add-rule", {}, 501, "amqp:not-implemented"),
        ("remove-rule", {}, 501, "amqp:not-implemented"),
        ("enumerate-rules", {"skip": codec.int_(0), "top": codec.int_(9)}, 400, "amqp:not-allowed"),
        ("dance", {}, 501, "amqp:not-implemented"),
        ("peek-message", {}, 400, BAD_ARGUMENT),
        ("peek-message", {"from-sequence-number": codec.string("1")}, 400, BAD_ARGUMENT),
        ("renew-lock", {"lock-tokens": codec.list_([codec.uint(1)])}, 400, BAD_ARGUMENT),
        ("renew-lock", {"lock-tokens": NO_LOCKS}, 410, "com.microsoft:message-lock-lost"),
        ("schedule-message", {"messages": codec.list_([codec.map_([])])}, 400, BAD_ARGUMENT),
        (
            "cancel-scheduled-message",
            {"sequence-numbers": NO_NUMBERS},
            404,
            "com.microsoft:message-not-found",
        ),
        ("receive-by-sequence-number", {"sequence-numbers": NO_NUMBERS}, 400, BAD_ARGUMENT),
        (
            "update-disposition",
            {"disposition-status": codec.string("eaten"), "lock-tokens": NO_LOCKS},
            400,
            BAD_ARGUMENT,
        ),
    ],
)
def test_requests_that_cannot_be_served_say_why(
    raw: RawClient, operation: str, fields: dict[str, bytes], status: int, condition: str
) -> None:
    raw.login()
    raw.attach_sender("raw/$management")
    raw.attach_receiver("raw/$management")
    raw.flow(1)
    raw.send_bytes(raw.transfer(0, request(operation, **fields)))
    _, reply = raw.expect(TRANSFER)
    _, position = decoding.decode(reply)
    section, _ = decoding.decode(reply, position)
    assert (section.value["statusCode"], section.value["errorCondition"]) == (status, condition)


def test_a_reused_handle_and_a_vanished_peer_leave_no_trace(bus: Bus) -> None:
    process = psutil.Process(bus.service.process.pid)
    before = process.num_fds()
    for _ in range(20):
        with RawClient(bus.port) as client:
            client.login()
            client.attach_receiver("raw")
            client.flow(100)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    deadline = time.monotonic() + 10
    while process.num_fds() > before + 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.num_fds() <= before + 2
    assert is_alive(bus)


def attach(name: str, handle: int, *, receives: bool, address: str) -> bytes:
    ours = codec.described(0x28 if receives else 0x29, codec.list_([codec.string(address)]))
    theirs = codec.described(0x29 if receives else 0x28, codec.list_([codec.string("fuzz")]))
    source, target = (ours, theirs) if receives else (theirs, ours)
    fields = (codec.string(name), codec.uint(handle), codec.boolean(receives), NULL, NULL, source, target)
    return encode_frame(0, encode_performative(ATTACH, *fields))


LOGIN = encode_performative(0x41, codec.symbol("PLAIN"), codec.binary(PLAIN_LOGIN))
WINDOWS = (codec.uint(0), codec.uint(100), codec.uint(0), codec.uint(100))
CREDIT = encode_frame(
    0, encode_performative(FLOW, *WINDOWS, codec.uint(1), codec.uint(0), codec.uint(5), NULL, codec.TRUE)
)
SETUP = (
    SASL_HEADER
    + encode_frame(0, LOGIN, 1)
    + AMQP_HEADER
    + encode_frame(0, encode_performative(OPEN, codec.string("fuzz")))
    + encode_frame(0, encode_performative(BEGIN, NULL, codec.uint(0), codec.uint(100), codec.uint(100)))
    + attach("in", 0, receives=False, address="fuzz")
    + attach("out", 1, receives=True, address="fuzz")
    + attach("requests", 2, receives=False, address="fuzz/$management")
    + attach("replies", 3, receives=True, address="fuzz/$management")
)
PEEK = request("peek-message", **{"from-sequence-number": codec.long(1), "message-count": codec.int_(3)})
GOOD_FRAMES = [
    CREDIT,
    encode_frame(0, encode_performative(DISPOSITION, codec.TRUE, codec.uint(0), codec.uint(9), codec.TRUE)),
    encode_frame(0, encode_performative(DETACH, codec.uint(0), codec.TRUE)),
    attach("again", 4, receives=True, address="fuzz"),
    RawClient.transfer(0, message(b"fuzz", "f", key="value")),
    RawClient.transfer(1, PEEK, handle=2),
    RawClient.transfer(2, request("schedule-message", messages=codec.list_([])), handle=2),
]


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """Generate valid frames with bytes changed, cut or repeated."""
    data = bytearray(b"".join(draw(st.lists(st.sampled_from(GOOD_FRAMES), min_size=1, max_size=4))))
    for _ in range(draw(st.integers(0, 6))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(1, len(data)))])


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(data=st.one_of(mangled(), st.binary(max_size=200)))
def test_mangled_frames_never_stop_the_server(bus: Bus, data: bytes) -> None:
    """For any input, the server answers or disconnects, and keeps running."""
    with RawClient(bus.port, timeout=10) as client:
        client.send_bytes(SETUP + data)
        client.socket.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while client.socket.recv(65_536):
                pass
    assert bus.service.process.poll() is None


def test_the_server_is_alive_after_the_fuzzing_and_logged_no_failure(bus: Bus) -> None:
    assert is_alive(bus)
    log = bus.service.log.read_text()
    assert "a connection failed" not in log, log[-3000:]
    assert "Traceback" not in log, log[-3000:]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(data=st.one_of(st.binary(max_size=120), mangled()))
def test_the_codec_decodes_or_says_why_not(data: bytes) -> None:
    try:
        _, end = decoding.decode(data)
        assert end <= len(data)
        assert decoding.skip(data, 0) == end
    except DecodeError:
        pass
    for parse in (parse_message, parse_batch):
        with contextlib.suppress(DecodeFailed):
            parse(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x40",
        b"\xd0\x00\x00\x00\x04\xff\xff\xff\xff",
        b"\xd1\x00\x00\x00\x05\x00\x00\x00\x01\x40",
        b"\xb1\xff\xff\xff\xff",
        b"\xc1\x03\x02\x45\x40",
        b"\x00" * 5000,
        b"\xa1\x02\xff\xfe",
        b"\x56\x02",
        b"\x73\x00\x11\x00\x00",
        b"\x99",
        b"",
    ],
)
def test_values_that_lie_about_themselves_are_refused_without_memory(data: bytes) -> None:
    with pytest.raises(DecodeError):
        decoding.decode(data)


NUMBERS = st.integers(0, 2**32 - 1).map(codec.uint) | st.sampled_from([b"\x43", NULL, codec.ulong(7)])
FLAGS = st.sampled_from([codec.TRUE, codec.FALSE, NULL, b"\x56\x01", codec.uint(1)])
TRANSFER_FIELDS = st.tuples(
    NUMBERS, NUMBERS, st.binary(max_size=40).map(codec.binary), NUMBERS, FLAGS, FLAGS, FLAGS
)


@given(
    TRANSFER_FIELDS,
    st.integers(0, 7),
    st.binary(max_size=8),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 255)), max_size=2),
)
@settings(max_examples=400, deadline=None)
def test_the_short_way_to_read_a_transfer_agrees_with_the_general_one(
    fields: tuple[bytes, ...], count: int, payload: bytes, damage: list[tuple[int, int]]
) -> None:
    frame = bytearray(encode_frame(0, encode_performative(TRANSFER, *fields[:count]) + payload))
    for at, value in damage:
        if at + 8 < len(frame):
            frame[at + 8] = value
    short = parse_plain_transfer(bytes(frame), 8)
    if short is not None:
        assert short == parse_performative(bytes(frame), 8)


def test_the_transfers_of_known_senders_take_the_fast_path() -> None:
    frame = RawClient.transfer(1234, b"payload")
    short = parse_plain_transfer(frame, 8)
    assert short is not None
    assert (short[0].delivery_id, short[0].delivery_tag, frame[short[1] :]) == (1234, b"1234", b"payload")
