import asyncio
from collections.abc import AsyncIterator, Awaitable

import pytest

from localcloud.httpd import HttpServer, Limits, Request, Response, encode_response, json_response

LIMITS = Limits(header_bytes=4096, body_bytes=10_000, pipelined=4, idle_seconds=0.4, request_seconds=0.4)


def handle(request: Request) -> Response | Awaitable[Response]:
    match request.path:
        case "/echo":
            return Response(200, request.body, [("X-Seen", request.headers.get("x-seen", ""))])
        case "/slow":
            return _slowly(request)
        case "/broken":
            raise RuntimeError("a handler's own fault")
        case "/drop":
            return Response(200, b"never seen", drop=True)
        case "/empty":
            return Response(204)
        case _:
            return json_response(404, {"path": request.path, "query": request.query})


async def _slowly(request: Request) -> Response:
    await asyncio.sleep(0)
    if request.query == "broken":
        raise RuntimeError("a handler's own fault")
    return Response(200, b"slow " + request.body)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    server = HttpServer(handle, limits=LIMITS)
    yield await server.start("127.0.0.1", 0)
    await server.stop(grace_seconds=0.2)


async def exchange(port: int, *pieces: bytes) -> bytes:
    """Send each piece in its own packet, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()


def post(path: str, body: bytes, *, close: bool = True, extra: str = "") -> bytes:
    connection = "close" if close else "keep-alive"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: {connection}\r\n{extra}"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def test_a_request_split_over_many_packets_is_answered_once(port: int) -> None:
    message = post("/echo", b"hello", extra="X-Seen: yes\r\n")
    answer = await exchange(port, *(message[i : i + 1] for i in range(len(message))))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"X-Seen: yes" in answer
    assert answer.endswith(b"\r\n\r\nhello")


async def test_pipelined_requests_are_answered_in_their_order_even_when_one_has_to_wait(port: int) -> None:
    paths = ["/echo", "/slow", "/echo", "/slow", "/echo", "/echo", "/slow", "/echo"]
    message = b"".join(post(path, str(i).encode(), close=i == len(paths) - 1) for i, path in enumerate(paths))
    answer = await exchange(port, message)
    bodies = [part.split(b"\r\n\r\n", 1)[1] for part in answer.split(b"HTTP/1.1 200 OK")[1:]]
    assert bodies == [
        (b"slow " if path == "/slow" else b"") + str(i).encode() for i, path in enumerate(paths)
    ]


async def test_a_chunked_body_is_put_together(port: int) -> None:
    head = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = await exchange(port, head + b"3\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n")
    assert answer.endswith(b"abcde")


async def test_a_client_that_expects_100_continue_gets_it(port: int) -> None:
    message = post("/echo", b"body", extra="Expect: 100-continue\r\n")
    answer = await exchange(port, message)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


async def test_an_answer_without_content_has_no_body_and_no_length(port: int) -> None:
    answer = await exchange(port, post("/empty", b""))
    assert answer == b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


async def test_head_gets_the_headers_alone(port: int) -> None:
    answer = await exchange(port, b"HEAD /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b"Content-Length: " in answer
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("path", ["/broken", "/slow?broken"])
async def test_a_handler_that_fails_gives_500_and_the_connection_lives_on(
    port: int, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await exchange(port, post(path, b"", close=False) + post("/echo", b"alive"))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert answer.endswith(b"alive")
    assert "a handler's own fault" in caplog.text


async def test_a_dropped_answer_breaks_the_connection(port: int) -> None:
    with pytest.raises(ConnectionResetError):
        assert await exchange(port, post("/drop", b"")) == b"never reached"


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost x\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 9000 + b"\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 2000, b"431"),
        (b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10001\r\n\r\n", b"413"),
        (b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", b"400"),
        (
            b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            + (b"1000\r\n" + b"a" * 4096 + b"\r\n") * 4,
            b"413",
        ),
        (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", b"400"),
    ],
)
async def test_a_request_that_breaks_a_rule_is_rejected_and_the_connection_closed(
    port: int, message: bytes, status: bytes
) -> None:
    answer = await exchange(port, message)
    assert answer.split()[1] == status


async def test_one_endless_header_is_cut_off(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nX: ")
    try:
        for _ in range(200):
            writer.write(b"a" * 1000)
            await writer.drain()
    except ConnectionError:
        return
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        # A response may come first, but the connection must end.
        await asyncio.wait_for(reader.readexactly(1_000_000), 10)
    writer.close()


@pytest.mark.parametrize("opening", [b"", b"GET /echo HTTP/1.1\r\n"])
async def test_a_peer_that_says_nothing_more_is_cut_off(port: int, opening: bytes) -> None:
    assert await exchange(port, opening) == b""


def test_a_value_with_a_line_break_cannot_become_a_header() -> None:
    response = Response(200, b"", [("X", "a\r\nSet-Cookie: b")])
    with pytest.raises(ValueError, match="line break"):
        encode_response(response, head=False, close=False)


async def test_a_stop_lets_a_request_under_way_end() -> None:
    arrived, release = asyncio.Event(), asyncio.Event()

    async def answer_late() -> Response:
        arrived.set()
        await release.wait()
        return Response(200, b"done")

    server = HttpServer(lambda _: answer_late())
    port = await server.start("127.0.0.1", 0)
    pending = asyncio.create_task(exchange(port, post("/", b"")))
    await arrived.wait()
    stopping = asyncio.create_task(server.stop())
    await asyncio.sleep(0)  # the stop has begun: the server no longer listens
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)
    release.set()
    assert (await pending).endswith(b"done")
    await stopping


async def test_answers_that_are_held_are_sent_in_order_when_they_are_released() -> None:
    def answer(request: Request) -> Response:
        server.hold()
        return Response(200, request.body)

    server = HttpServer(answer)
    port = await server.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in (post("/", b"first", close=False) + post("/", b"second", close=False), b"NONSENSE\r\n\r\n"):
        before = len(server.held or ())
        writer.write(piece)
        while len(server.held or ()) == before:  # noqa: ASYNC110 - a server has no event for it
            await asyncio.sleep(0)
    assert not reader._buffer  # type: ignore[attr-defined] # nothing has arrived
    server.release()
    answers = (await asyncio.wait_for(reader.read(), 10)).split(b"HTTP/1.1 ")[1:]
    assert [part[:3] for part in answers] == [b"200", b"200", b"400"]
    assert [part.rpartition(b"\r\n")[2] for part in answers[:2]] == [b"first", b"second"]
    writer.close()
    await server.stop()


async def test_answers_to_work_that_failed_are_errors_instead() -> None:
    def answer(request: Request) -> Response:
        server.hold()
        return Response(200, request.body, drop=request.path == "/drop")

    server = HttpServer(answer)
    port = await server.start("127.0.0.1", 0)
    answered = asyncio.create_task(exchange(port, post("/", b"never seen", close=False)))
    dropped = asyncio.create_task(exchange(port, post("/drop", b"")))
    while len(server.held or ()) < 2:  # noqa: ASYNC110 - a server has no event for it
        await asyncio.sleep(0)
    server.release(failed=True)
    assert (await answered).startswith(b"HTTP/1.1 500 ")
    with pytest.raises(ConnectionResetError):
        await dropped
    await server.stop()


async def test_reading_continues_after_more_pipelined_requests_than_the_limit(port: int) -> None:
    """Reading pauses at the limit, and no delayed response resumes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(2):
        writer.write(post("/echo", b"last", close=False) * 10)
        async with asyncio.timeout(5):
            for _ in range(10):
                await reader.readuntil(b"\r\n\r\nlast")
    writer.close()
