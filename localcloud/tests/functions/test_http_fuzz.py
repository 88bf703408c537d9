"""Requests in random mixtures and pieces, and bytes that are not requests."""

import socket
from itertools import pairwise
from urllib.parse import urlsplit

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.functions.support import Host

FIXTURE_IS_SHARED = (HealthCheck.function_scoped_fixture,)

# Requests, with the status and body of their responses.
REQUESTS = [
    (b"GET /api/text HTTP/1.1\r\nHost: h\r\n\r\n", b"200", b"plain text"),
    (b"GET /api/slow?seconds=0.001 HTTP/1.1\r\nHost: h\r\n\r\n", b"200", b"slept"),
    (b"HEAD /api/any HTTP/1.1\r\nHost: h\r\n\r\n", b"200", b""),
    (b"DELETE /api/empty HTTP/1.1\r\nHost: h\r\n\r\n", b"204", b""),
    (b"GET /unknown HTTP/1.1\r\nHost: h\r\n\r\n", b"404", b""),
    (b"GET /admin/host/ping HTTP/1.1\r\nHost: h\r\n\r\n", b"200", b""),
    (b"GET /api/fails-async HTTP/1.1\r\nHost: h\r\n\r\n", b"500", b""),
    (b"POST /api/size HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", b"200", b"3"),
    (b"POST /api/size HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", b"200", b"0"),
    (
        b"POST /api/size HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        b"200",
        b"2",
    ),
]
LAST = b"GET /api/text HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


def exchange(host: Host, pieces: list[bytes], *, leave: bool = False) -> bytes:
    """Return all responses until the host closes. It must also close if the peer closes first."""
    address = urlsplit(host.url)
    answer = b""
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                connection.sendall(piece)
            if leave:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65_536):
                answer += part
        except OSError:
            pass  # the host rejected it before the end of the request
    return answer


def cut(message: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(message), *(place % (len(message) + 1) for place in places)})
    return [message[start:end] for start, end in pairwise(edges)]


@settings(max_examples=30, deadline=None, suppress_health_check=FIXTURE_IS_SHARED)
@given(
    chosen=st.lists(st.sampled_from(REQUESTS), max_size=12), places=st.lists(st.integers(0, 2000), max_size=6)
)
def test_every_request_is_answered_in_its_turn_however_it_arrives(
    host: Host, chosen: list[tuple[bytes, bytes, bytes]], places: list[int]
) -> None:
    message = b"".join(request for request, _, _ in chosen) + LAST
    answers = exchange(host, cut(message, places)).split(b"HTTP/1.1 ")[1:]
    seen = [(answer[:3], answer.partition(b"\r\n\r\n")[2]) for answer in answers]
    assert seen == [(status, body) for _, status, body in chosen] + [(b"200", b"plain text")]


@settings(max_examples=40, deadline=None, suppress_health_check=FIXTURE_IS_SHARED)
@given(
    message=st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.sampled_from([request for request, _, _ in REQUESTS if b"fails" not in request]),
            st.sampled_from(
                [b"GET ", b"/", b" HTTP/1.1", b" HTTP/1.0", b"\r\n", b"Host: h\r\n", b"Content-Length: 9\r\n"]
            ),
            st.sampled_from([b"Transfer-Encoding: chunked\r\n", b"ffffffffff\r\n", b"\x00", b"a" * 70_000]),
        ),
        max_size=10,
    ).map(b"".join),
    places=st.lists(st.integers(0, 2000), max_size=3),
)
def test_bytes_that_are_no_request_never_break_the_host(
    host: Host, message: bytes, places: list[int]
) -> None:
    for answer in exchange(host, cut(message, places), leave=True).split(b"HTTP/1.1 ")[1:]:
        assert answer[:3] in {b"200", b"204", b"400", b"404", b"413", b"431", b"100"}, answer[:200]
    assert host.get("/api/text").text == "plain text"


def test_nothing_of_all_this_was_an_error_of_the_hosts(host: Host) -> None:
    for failure in (
        "a request failed in the host",
        "Exception in",
        "the handler is closed",
        "never retrieved",
    ):
        assert failure not in host.log
