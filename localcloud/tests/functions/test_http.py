"""HTTP functions over a socket, in a dev host process."""

import copy
import json
import pickle
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import azure.functions as func
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localcloud.functions.http_values import (
    decode_request,
    encode_by_converter,
    encode_response,
    parse_query,
)
from localcloud.httpd import Request
from tests.functions.support import Host, wait_for


def test_a_function_answers_with_its_response(host: Host) -> None:
    answer = host.get("/api/hello/ada")
    assert (answer.status, answer.text) == (200, "hello ada")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:7071"}, 200),
        ({"Host": "[::1]:7071"}, 200),
        ({"Host": "functions:80", "Origin": "http://localhost:3000"}, 200),
        ({"Host": "rebound.example:7071"}, 403),
        ({"Host": "127.0.0.1.rebound.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_a_host_without_keys_answers_to_no_page_of_another_site(
    host: Host, headers: dict[str, str], status: int
) -> None:
    assert host.get("/api/hello/ada", **headers).status == status
    assert host.ask("POST", "/admin/functions/unknown", "{}", 20, **headers).status == (
        404 if status == 200 else 403
    )


def test_an_optional_parameter_may_be_left_out(host: Host) -> None:
    assert host.get("/api/hello").text == "hello nobody"
    assert host.get("/API/HELLO/").text == "hello nobody"


def test_the_request_arrives_whole(host: Host) -> None:
    answer = host.ask(
        "POST",
        "/api/echo/5?a=1&a=2&b=&c=x%20y&A=3",
        "bödy".encode(),
        X_Test="yes",
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    seen = answer.json()
    assert answer.headers["x-echo"] == "yes"
    assert answer.headers["content-type"] == "application/json"
    assert seen["method"] == "POST"
    assert seen["url"] == f"{host.url}/api/echo/5?a=1&a=2&b=&c=x%20y&A=3"
    # Joined and without empty values, as in the real host.
    assert seen["params"] == {"a": "1,2,3", "c": "x y"}
    assert seen["route_params"] == {"id": "5"}
    assert seen["header"] == "yes"
    assert seen["body"] == "bödy"
    assert seen["function_name"] == "echo"
    assert seen["trace_parent"] == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert len(seen["invocation_id"]) == 36


def test_a_chunked_body_arrives_whole(host: Host) -> None:
    parts = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (b"one ", b"two ", b"three"))
    request = b"POST /api/size HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    answer = raw(host, request + parts + b"0\r\n\r\n")
    assert answer.endswith(b"\r\n\r\n13")


def test_json_and_forms_are_read_by_the_functions_library(host: Host) -> None:
    answer = host.ask("POST", "/api/json", json.dumps({"number": 41}), Content_Type="application/json")
    assert (answer.status, answer.text) == (201, "42")
    form = host.ask("POST", "/api/form", "b=2&a=1", Content_Type="application/x-www-form-urlencoded")
    assert form.text == "a=1,b=2"


def test_a_string_is_answered_as_plain_text(host: Host) -> None:
    answer = host.get("/api/text")
    assert (answer.status, answer.text) == (200, "plain text")
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(("path", "kind"), [("nothing", "NoneType"), ("a-dict", "dict")])
def test_a_value_that_http_cannot_represent_fails_as_in_the_real_worker(
    host: Host, path: str, kind: str
) -> None:
    answer = host.get(f"/api/{path}")
    assert (answer.status, answer.body) == (500, b"")
    assert f'unsupported type "http" for Python type "{kind}"' in host.log


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("fails", "RuntimeError: this function always fails"),
        ("fails-async", "RuntimeError: this async function always fails"),
        ("exits", "SystemExit: 3"),
    ],
)
def test_a_function_that_raises_is_answered_500_and_logged(host: Host, path: str, reason: str) -> None:
    answer = host.get(f"/api/{path}")
    assert (answer.status, answer.body) == (500, b"")
    assert reason in host.log
    assert host.get("/api/text").status == 200


def test_an_empty_answer_has_no_body(host: Host) -> None:
    answer = host.ask("DELETE", "/api/empty")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["content-length"] is None


def test_several_cookies_are_several_headers(host: Host) -> None:
    assert host.get("/api/cookies").headers.get_all("set-cookie") == ["a=1; HttpOnly; Path=/", "b=2"]


def test_a_header_with_a_line_break_is_not_sent(host: Host) -> None:
    answer = host.get("/api/split?value=x%0d%0aInjected:%20yes")
    assert answer.status == 500
    assert answer.headers["injected"] is None


def test_an_unknown_path_is_404(host: Host) -> None:
    for path in ("/api/unknown", "/hello", "/api", "/api/echo/x", "/api/hello/a/b"):
        assert host.ask("POST", path).status == 404, path


def test_a_method_that_no_function_of_the_path_takes_is_404_as_in_azure(host: Host) -> None:
    assert host.ask("DELETE", "/api/hello").status == 404


def test_a_function_without_methods_takes_all(host: Host) -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert host.ask(method, "/api/any").text == method


def test_head_is_answered_without_a_body_where_it_is_taken(host: Host) -> None:
    answer = host.ask("HEAD", "/api/any")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "4")
    assert host.ask("HEAD", "/api/hello").status == 404


def test_the_page_at_the_root_says_that_the_host_runs(host: Host) -> None:
    answer = host.get("/")
    assert answer.status == 200
    assert "dev host" in answer.text


def test_the_server_sends_a_date_but_not_its_name(host: Host) -> None:
    for answer in (host.get("/api/text"), host.ask("POST", "/api/size", b"x"), host.get("/unknown")):
        assert answer.headers["server"] is None
        assert len(answer.headers.get_all("date") or ()) == 1


def test_a_sync_function_has_its_invocation_id_in_its_thread(host: Host) -> None:
    seen = host.get("/api/thread").json()
    assert seen["local"] == seen["id"]
    assert seen["name"].startswith("function-")


def test_a_megabyte_of_body_arrives_whole(host: Host) -> None:
    assert host.ask("POST", "/api/size", b"x" * 1_000_000).text == "1000000"


def test_a_body_beyond_100_mb_is_refused_before_it_is_read(host: Host) -> None:
    head = f"POST /api/size HTTP/1.1\r\nHost: h\r\nContent-Length: {100 * 1024 * 1024 + 1}\r\n\r\n"
    answer = raw(host, head.encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.endswith(b"the body may have at most 104857600 bytes")


@pytest.mark.parametrize(
    "sent", ["Content-Length: 1025\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n401\r\n" + "x" * 1025]
)
def test_a_body_beyond_what_the_function_declares_is_refused_before_it_is_read(host: Host, sent: str) -> None:
    answer = raw(host, f"POST /api/form HTTP/1.1\r\nHost: h\r\n{sent}".encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.endswith(b"the body may have at most 1024 bytes")


def test_headers_without_end_are_refused(host: Host) -> None:
    answer = raw(host, b"GET /api/text HTTP/1.1\r\nX-Endless: " + b"x" * 200_000)
    assert answer.startswith(b"HTTP/1.1 431 ") or answer == b""


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00 tls", b"GET\r\n\r\n", b"NONSENSE / HTTP/9.9\r\n\r\n"]
)
def test_malformed_http_is_rejected_and_the_host_continues(host: Host, garbage: bytes) -> None:
    assert raw(host, garbage).startswith(b"HTTP/1.1 400 ")
    assert host.get("/api/text").status == 200


def test_an_async_function_that_blocks_holds_up_no_sync_function_and_no_ping(host: Host) -> None:
    with ThreadPoolExecutor(1) as pool:
        blocked = pool.submit(host.get, "/api/blocks?seconds=1.5")
        wait_for(lambda: "Executing 'Functions.blocks'" in host.log)
        started = time.monotonic()
        assert host.get("/api/text").status == 200
        assert host.get("/admin/host/ping").status == 200
        assert time.monotonic() - started < 1
        assert not blocked.done()
        assert blocked.result().text == "blocked"


def test_requests_are_served_side_by_side(host: Host) -> None:
    started = time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        paths = ["/api/slow?seconds=0.5", "/api/slow-sync?seconds=0.5"] * 3
        assert [answer.text for answer in pool.map(host.get, paths)] == ["slept"] * 6
    assert time.monotonic() - started < 2.5


def test_pipelined_requests_are_answered_in_order_however_many_they_are(host: Host) -> None:
    slow = b"GET /api/slow?seconds=0.2 HTTP/1.1\r\nHost: h\r\n\r\n"
    unknown = b"GET /unknown HTTP/1.1\r\nHost: h\r\n\r\n" * 3000
    posted = b"POST /api/size HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde"
    last = b"GET /api/text HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    answer = raw(host, slow + unknown + posted + last)
    statuses = [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200"] + [b"404"] * 3000 + [b"200", b"200"]
    assert b"\r\n\r\nslept" in answer
    assert b"\r\n\r\n5" in answer
    assert answer.endswith(b"\r\n\r\nplain text")


def test_a_peer_that_does_not_read_holds_up_its_own_answers_only(host: Host) -> None:
    address = urlsplit(host.url)
    request = b"GET /api/large HTTP/1.1\r\nHost: h\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(request * 20)
        wait_for(lambda: host.log.count("Executed 'Functions.large'") >= 2)
        assert host.get("/api/text").status == 200
        assert host.log.count("Executed 'Functions.large'") < 20  # the rest waits for the peer
        received = 0
        while received < 20 * 1_000_000:
            received += len(connection.recv(1_000_000))


def test_a_peer_that_leaves_before_its_answer_stops_nothing(host: Host) -> None:
    address = urlsplit(host.url)
    ended = host.log.count("Executed 'Functions.slow' (Succeeded")
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(b"GET /api/slow?seconds=0.3 HTTP/1.1\r\nHost: h\r\n\r\n")
        wait_for(lambda: "Executing 'Functions.slow'" in host.log)
    wait_for(lambda: host.log.count("Executed 'Functions.slow' (Succeeded") == ended + 1)
    assert host.get("/api/text").status == 200
    assert "Traceback" not in host.log.rpartition("Executing 'Functions.slow'")[2]


def test_a_response_that_cannot_be_encoded_is_answered_500(host: Host) -> None:
    answer = host.get("/api/broken-response")
    assert (answer.status, answer.body) == (500, b"")
    assert "'int' object has no attribute 'startswith'" in host.log
    assert host.get("/api/text").status == 200


def test_connection_close_and_http_1_0_are_heeded(host: Host) -> None:
    closing = raw(host, b"GET /api/text HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    assert closing.lower().count(b"connection: close") == 1
    old = raw(host, b"GET /api/text HTTP/1.0\r\n\r\n")
    assert old.endswith(b"\r\n\r\nplain text")


def raw(host: Host, request: bytes) -> bytes:
    """Return the complete response of the host to these bytes."""
    address = urlsplit(host.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        answer = b""
        try:
            connection.sendall(request)
            while part := connection.recv(65_536):
                answer += part
        except ConnectionResetError:
            pass  # the host closed before it had read everything
        return answer


RESPONSES = st.builds(
    func.HttpResponse,
    body=st.one_of(st.none(), st.text(), st.binary()),
    status_code=st.sampled_from([200, 201, 204, 304, 400, 418, 500]),
    mimetype=st.one_of(
        st.none(), st.sampled_from(["text/html", "application/json", "image/png", "text/plain"])
    ),
    charset=st.one_of(st.none(), st.sampled_from(["utf-8", "utf-16"])),
)


NAMES = st.text("abcXYZ-", min_size=1, max_size=8)
TEXTS = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=12)


@settings(max_examples=50, deadline=None)
@given(
    headers=st.lists(st.tuples(NAMES, TEXTS), max_size=5),
    body=st.binary(max_size=20),
    route_values=st.dictionaries(NAMES, TEXTS, max_size=3),
    query=st.sampled_from(["", "a=1&a=2&b=", "x=%C3%A9"]),
)
def test_a_request_equals_the_result_of_the_converter(
    headers: list[tuple[str, str]], body: bytes, route_values: dict[str, str], query: str
) -> None:
    joined = {"host": "here:1", **{name.lower(): text for name, text in headers}}
    request = Request("post", f"/api/x{'?' if query else ''}{query}", joined, body)
    seen = decode_request(request, route_values)
    assert isinstance(seen, func.HttpRequest)
    assert (seen.method, seen.get_body(), dict(seen.route_params)) == ("POST", body, route_values)
    assert dict(seen.headers) == joined
    assert dict(seen.params) == parse_query(query)
    assert seen.url == f"http://here:1/api/x{'?' if query else ''}{query}"
    assert not hasattr(seen, "something_else")
    assert copy.copy(decode_request(request, route_values)).url == seen.url
    assert pickle.loads(pickle.dumps(decode_request(request, route_values))).url == seen.url


@settings(max_examples=50, deadline=None)
@given(RESPONSES)
def test_the_short_way_to_encode_a_response_is_the_converters(response: func.HttpResponse) -> None:
    # The fast path is for responses without headers. The converter runs second, because it adds a header.
    assert encode_response(response) == encode_by_converter(response)


@pytest.mark.parametrize("status", [0, 99, 600, -1])
def test_a_status_that_http_does_not_have_is_refused(status: int) -> None:
    with pytest.raises(ValueError, match="is not an HTTP status"):
        encode_response(func.HttpResponse("x", status_code=status))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a=1&a=2", {"a": "1,2"}),
        ("a=&b", {}),
        ("a=%C3%A9+x", {"a": "é x"}),
        ("Code=1&code=2", {"Code": "1,2"}),
    ],
)
def test_a_query_is_read_as_the_real_host_hands_it_over(query: str, expected: dict[str, Any]) -> None:
    assert parse_query(query) == expected
