"""Hostile input causes a client error, never a 500 or a hang."""

import json
import random
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote, urlsplit

import pytest
from azure.cosmos import ContainerProxy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcloud.cosmos.errors import CosmosError
from localcloud.cosmos.sql_compiler import compile_query
from localcloud.cosmos.sql_like import like_matcher
from localcloud.cosmos.sql_parser import parse_query
from tests.cosmos.conftest import control, query
from tests.cosmos.raw import RawClient
from tests.support.services import RunningService

QUICK = 10.0  # seconds: far above a response time, far below a hang
common = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.fixture(scope="module")
def raw(cosmos: RunningService) -> Iterator[RawClient]:
    with RawClient(cosmos.addresses["endpoint"]) as client:
        yield client


@pytest.fixture(scope="module")
def docs(raw: RawClient) -> str:
    name = uuid.uuid4().hex
    assert raw.send("POST", "/dbs", {"id": name})[0] == 201
    definition = {"id": "c", "partitionKey": {"paths": ["/pk"]}}
    assert raw.send("POST", f"/dbs/{name}/colls", definition)[0] == 201
    path = f"/dbs/{name}/colls/c/docs"
    for number in range(50):
        document = {"id": str(number), "pk": "p", "text": "a" * 2000, "list": list(range(30)), "n": number}
        assert raw.send("POST", path, document, {"x-ms-documentdb-partitionkey": '["p"]'})[0] == 201
    return path


def answered(status: int, started: float) -> None:
    assert 200 <= status < 500 or status == 501
    assert time.monotonic() - started < QUICK


WORDS = [
    "SELECT",
    "VALUE",
    "*",
    "FROM",
    "c",
    "c.x",
    "c['y']",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "IN",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "=",
    "<",
    "??",
    "?",
    ":",
    "'text'",
    '"q"',
    "1",
    "-2.5e3",
    "@p",
    "ORDER BY",
    "GROUP BY",
    "JOIN",
    "t IN c.list",
    "EXISTS",
    "ARRAY",
    "COUNT(1)",
    "SUM(c.n)",
    "LIKE",
    "BETWEEN",
    "TOP 3",
    "DISTINCT",
    "OFFSET 1 LIMIT 2",
    "UPPER(",
    "ARRAY_CONTAINS(",
    "undefined",
    "null",
    "||",
    "+",
    "AS",
    "udf.f()",
    "--",
    "\\",
    "'",
    "$1",
    "\x00",
    "é",
    "(SELECT VALUE 1)",
]


@common
@given(words=st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_words_in_any_order_parse_or_are_refused(words: list[str]) -> None:
    with suppress(CosmosError):  # any other exception is a bug
        compile_query(parse_query("SELECT " + " ".join(words)), {"@p": 1})


def test_random_mixes_of_sql_words_never_break_the_server(raw: RawClient, docs: str) -> None:
    dice = random.Random(7)
    for _ in range(400):
        text = "SELECT * FROM c WHERE " + " ".join(dice.choices(WORDS, k=dice.randint(1, 12)))
        started = time.monotonic()
        answered(raw.query(docs, text, p=1)[0], started)


def nested(opening: str, inside: str, closing: str, depth: int) -> str:
    return opening * depth + inside + closing * depth


MONSTERS = {
    "parentheses": f"SELECT * FROM c WHERE {nested('(', 'true', ')', 5000)}",
    "brackets": f"SELECT VALUE {nested('[', '1', ']', 5000)} FROM c",
    "not": f"SELECT * FROM c WHERE {'NOT ' * 5000} true",
    "minus": f"SELECT VALUE {'- ' * 5000} 1",
    "functions": f"SELECT VALUE {nested('UPPER(', 'c.text', ')', 60)} FROM c",
    "ternaries": f"SELECT VALUE {'c.n > 1 ? ' * 60} 1 {': 2' * 60} FROM c",
    "coalesce": f"SELECT VALUE {' ?? '.join(['c.x'] * 3000)} FROM c",
    "comparisons": f"SELECT * FROM c WHERE {nested('(', 'c.x', ' = c.y)', 60)}",
    "constant comparisons": f"SELECT * FROM c WHERE {nested('(', 'c.x', ' != 1)', 60)}",
    "additions": f"SELECT VALUE {' + '.join(['c.n'] * 5000)} FROM c",
    "and chain": "SELECT * FROM c WHERE " + " AND ".join(["c.n != 1"] * 3000),
    "or chain": "SELECT * FROM c WHERE " + " OR ".join([f"c.n = {n}" for n in range(3000)]),
    "long path": "SELECT * FROM c WHERE c" + ".a" * 5000,
    "subqueries": "SELECT VALUE " + nested("(SELECT VALUE ", "1", ")", 60),
    "many columns": "SELECT " + ", ".join(f"c.n AS c{n}" for n in range(2000)) + " FROM c",
    "many joins": "SELECT VALUE COUNT(1) FROM c " + " ".join(f"JOIN j{n} IN c.list" for n in range(12)),
    "like": "SELECT VALUE c.id FROM c WHERE c.text LIKE '" + "%a" * 60 + "%b'",
    "like sets": "SELECT VALUE c.id FROM c WHERE c.text LIKE '" + "%[a-c]_" * 60 + "b'",
    "regex": "SELECT VALUE c.id FROM c WHERE REGEXMATCH(c.text, '(a+)+(a|aa)+$b')",
    "replicate": "SELECT VALUE REPLICATE(c.text, 1e9) FROM c",
    "replace": "SELECT VALUE REPLACE(REPLACE(c.text, 'a', c.text), 'a', c.text) FROM c",
    "power": "SELECT VALUE POWER(10, 400) FROM c",
    "huge number": "SELECT VALUE 1e999",
    "huge integer": "SELECT VALUE " + "9" * 5000,
    "shift": "SELECT VALUE 1 << 1e300",
    "too long": "SELECT * FROM c WHERE c.x = '" + "x" * 600_000 + "'",
}


@pytest.mark.parametrize("name", MONSTERS)
def test_a_monstrous_query_is_answered_in_time(raw: RawClient, docs: str, name: str) -> None:
    headers = {"x-ms-documentdb-isquery": "true", "x-ms-documentdb-partitionkey": '["p"]'}
    started = time.monotonic()
    status, _, body = raw.send("POST", docs, {"query": MONSTERS[name]}, headers)
    assert 200 <= status < 500, body[:500]
    assert time.monotonic() - started < 2 * QUICK


def test_huge_lists_are_served(container: ContainerProxy) -> None:
    container.create_item({"id": "a", "pk": "p", "n": 77})
    wanted = ", ".join(str(number) for number in range(10_000))
    assert query(container, f"SELECT VALUE c.id FROM c WHERE c.n IN ({wanted})") == ["a"]
    assert query(
        container, "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(@l, c.n)", l=list(range(20_000))
    ) == ["a"]


def test_like_takes_time_in_proportion_to_the_text() -> None:
    started = time.monotonic()
    assert not like_matcher("%a" * 200 + "%b", None)("a" * 100_000)
    assert time.monotonic() - started < 2


DEEP = b'{"id":"deep","pk":"p","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
BODIES = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{",
    b"{}",
    b"\xff\xfe",
    DEEP,
    b'{"id":1,"pk":"p"}',
    b'{"id":"","pk":"p"}',
    b'{"id":"a","pk":"p","x":' + b"9" * 1000 + b"}",
    b'{"id":"a","pk":"p","x":1e999}',
    b'{"id":"\\ud800","pk":"p"}',
    b'[{"operationType":"Create"}]',
    b"[1]",
    b"[" * 1000,
    b'{"operations":[{"op":"set"}]}',
    b'{"operations":7}',
    b'{"query":7}',
    b'{"query":"SELECT 1","parameters":[7]}',
    b'{"query":"SELECT 1","parameters":{"a":1}}',
    b'{"condition":7,"operations":[{"op":"set","path":"/a","value":1}]}',
    b'{"id":"nul\\u0000","pk":"p"}',
    b'{"content":{"offerThroughput":"x"}}',
    b'{"id":"a","partitionKey":7}',
] + [
    json.dumps({"id": "a", "partitionKey": {"paths": paths}}).encode()
    for paths in ([], ["x"], [7], ["/"] * 9)
]
FLAGS = [
    "x-ms-documentdb-isquery",
    "x-ms-cosmos-is-query-plan-request",
    "x-ms-documentdb-is-upsert",
    "x-ms-cosmos-is-batch-request",
    "x-ms-cosmos-batch-atomic",
    "x-ms-documentdb-query-enablecrosspartition",
]
VALUES = [
    "",
    "garbage",
    "-1",
    "99999999999999999999",
    '["p"]',
    "[]",
    "[{}]",
    "[[1]]",
    "{",
    '"',
    "*",
    '["p","q"]',
    "0",
    "7",
    "0:-1#1",
    "Strong",
    "Incremental feed",
    "é",
]
HEADERS = [
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-session-token",
    "if-match",
    "if-none-match",
    "x-ms-continuation",
    "x-ms-max-item-count",
    "x-ms-start-epk",
    "x-ms-end-epk",
    "a-im",
    "if-modified-since",
    "x-ms-consistency-level",
    "x-ms-offer-throughput",
    "prefer",
    "x-ms-cosmos-offer-autopilot-settings",
    "x-ms-cosmos-intended-collection-rid",
]


def test_random_requests_never_break_the_server(raw: RawClient, docs: str) -> None:
    dice = random.Random(11)
    container = docs.removesuffix("/docs")
    database = container.rpartition("/colls/")[0]
    paths = [
        docs,
        f"{docs}/1",
        f"{docs}/{quote('é /?')}",
        container,
        f"{container}/pkranges",
        f"{container}/sprocs",
        f"{container}/operations/partitionkeydelete",
        f"{database}/colls",
        "/dbs",
        "/offers",
        "/offers/x",
        "/",
        "/dbs/none",
        "/dbs/none/colls/none/docs/none",
        "/nonsense",
        "//",
        f"{database}/users",
        "/dbs//colls",
        f"{container}/conflicts",
        f"{container}/docs/1/attachments",
    ]
    for _ in range(1500):
        method = dice.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
        path = dice.choice(paths)
        if method == "DELETE" and path in (container, database):
            continue
        headers = {
            dice.choice(HEADERS): dice.choice(VALUES).encode("utf-8").decode("latin-1") for _ in range(3)
        }
        headers |= {flag: "true" for flag in FLAGS if dice.random() < 0.2}
        if dice.random() < 0.6:
            headers["x-ms-documentdb-partitionkey"] = '["p"]'
        started = time.monotonic()
        status, _, body = raw.send(method, path, dice.choice(BODIES), headers)
        assert 200 <= status < 500 or status == 501, (method, path, headers, body[:300])
        assert time.monotonic() - started < QUICK


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /dbs HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST /dbs HTTP/1.1\r\nContent-Length: nonsense\r\n\r\n",
        b"POST /dbs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
        b"GET /%ff%fe HTTP/1.1\r\nauthorization: %ff%00\r\n\r\n",
        b"GET / HTTP/1.1\r\nauthorization: type%3Dmaster%26ver%3D1.0%26sig%3D\xff\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_are_refused(cosmos: RunningService, bytes_sent: bytes) -> None:
    host, _, port = urlsplit(cosmos.addresses["endpoint"]).netloc.partition(":")
    with socket.create_connection((host, int(port)), timeout=QUICK) as connection:
        connection.sendall(bytes_sent)
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 4") or answer == b""
    assert control(cosmos, "health")["status"] == "ok"


def test_nothing_of_all_this_was_an_internal_error(cosmos: RunningService) -> None:
    """The server logs internal errors. This test must be the last in the file."""
    assert "Traceback" not in cosmos.log.read_text()
