"""Limits: requests of a caller, waits after wrong keys, and sizes of bodies."""

import logging

import azure.functions as func
import pytest
from pydantic import SecretStr, ValidationError

from shared.settings.app import RATE_LIMITS, Settings
from web.access import check_key
from web.limits import (
    FREE_TRIES,
    LOCKS,
    LONGEST_LOCK_SECONDS,
    Limited,
    LockOut,
    RateLimits,
    check_body,
    client_address,
)
from web.problems import Problem
from web.routes import _with_headers

KEY = "correct horse battery staple"


def settings(limits: str = "") -> Settings:
    return Settings(COSMOS_ENDPOINT="c", SEARCH_ENDPOINT="s", OPERATOR_KEY=SecretStr(KEY), RATE_LIMITS=limits)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def taken(limits: RateLimits, kind: Limited, caller: str, known: Settings) -> str | None:
    """Return None, or the Retry-After of the refusal."""
    try:
        limits.take(kind, caller, known)
    except Problem as problem:
        return problem.headers["Retry-After"] if problem.status == 429 else str(problem.status)
    return None


def test_a_caller_has_so_many_requests_a_minute_and_is_told_when_to_come_again() -> None:
    clock, known = Clock(), settings("search=6")
    limits = RateLimits(clock)
    assert [taken(limits, Limited.SEARCH, "a", known) for _ in range(7)] == [None] * 6 + ["10"]
    assert taken(limits, Limited.SEARCH, "b", known) is None
    assert taken(limits, Limited.RAW, "a", known) is None
    clock.now += 10
    assert [taken(limits, Limited.SEARCH, "a", known) for _ in range(2)] == [None, "10"]
    clock.now += 3600
    assert [taken(limits, Limited.SEARCH, "a", known) for _ in range(7)] == [None] * 6 + ["10"]


def test_zero_is_no_limit_and_each_kind_has_a_default() -> None:
    limits, known = RateLimits(Clock()), settings("search=0")
    assert {taken(limits, Limited.SEARCH, "a", known) for _ in range(1000)} == {None}
    assert set(RATE_LIMITS) == {kind.value for kind in Limited}
    assert known.rate_limits == {**RATE_LIMITS, "search": 0}
    with pytest.raises(ValidationError):
        settings("serch=3")


def test_many_callers_take_bounded_memory() -> None:
    limits, locks = RateLimits(Clock()), LockOut(Clock())
    for number in range(12_000):
        taken(limits, Limited.SEARCH, str(number), settings())
    logging.disable(logging.WARNING)
    try:
        for number in range(12_000):
            locks.failed(str(number))
    finally:
        logging.disable(logging.NOTSET)
    assert len(limits._buckets) == len(locks._failed) == 10_000


def test_each_wrong_key_after_the_first_few_doubles_the_wait(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    locks, waits = LockOut(clock), []
    for _ in range(FREE_TRIES + 12):
        locks.failed("a")
        started = clock.now
        while True:
            try:
                locks.check("a")
                break
            except Problem as problem:
                clock.now += float(problem.headers["Retry-After"])
        waits.append(clock.now - started)
    assert (
        waits == [0] * (FREE_TRIES - 1) + [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] + [LONGEST_LOCK_SECONDS] * 3
    )
    assert len(caplog.records) == len(waits)
    assert "wrong operator key from a, 6 in a row: locked out for 2 s" in caplog.text
    locks.check("b")
    locks.passed("a")
    locks.failed("a")
    locks.check("a")


def test_the_right_key_is_not_compared_while_a_client_is_locked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("web.access.LOCKS", LockOut(clock))
    asked = func.HttpRequest("GET", "http://x/", body=b"")
    assert [check_key("wrong", asked, settings()) for _ in range(FREE_TRIES)] == [False] * FREE_TRIES
    with pytest.raises(Problem, match="Too many wrong keys"):
        check_key(KEY, asked, settings())
    clock.now += 2
    assert check_key(KEY, asked, settings())
    assert LOCKS._failed == {}


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7:4711", "203.0.113.7"),  # the client claims the first
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:4711", "2001:db8:1:2::/64"),
        ("", "unknown"),
        ("not an address", "unknown"),
    ],
)
def test_a_client_is_known_by_the_hop_that_azure_adds(
    monkeypatch: pytest.MonkeyPatch, forwarded: str, client: str
) -> None:
    monkeypatch.setenv("WEBSITE_SITE_NAME", "site")
    assert client_address({"x-forwarded-for": forwarded}) == client


def test_outside_azure_nobody_chooses_the_client_they_are_counted_as(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEBSITE_SITE_NAME", raising=False)
    assert client_address({"x-forwarded-for": "203.0.113.7"}) == "local"


def test_a_body_that_is_too_large_is_refused_by_its_length_alone() -> None:
    def body() -> bytes:
        raise AssertionError

    check_body({"content-length": "10"}, body, 10)
    with pytest.raises(Problem, match="at most 10 bytes"):
        check_body({"content-length": "11"}, body, 10)
    with pytest.raises(Problem, match="at most 10 bytes"):
        check_body({}, lambda: b"x" * 11, 10)


@pytest.mark.parametrize(
    ("url", "kept"), [("https://lists.example/", True), ("http://localhost:7071/", False)]
)
def test_a_browser_that_came_by_tls_is_told_to_come_by_tls(
    monkeypatch: pytest.MonkeyPatch, url: str, kept: bool
) -> None:
    for name in ("WEBSITE_INSTANCE_ID", "WEBSITE_SITE_NAME"):
        monkeypatch.delenv(name, raising=False)

    answer = _with_headers(func.HttpRequest("GET", url, body=b""), func.HttpResponse("here"))
    assert (answer.headers.get("Strict-Transport-Security") == "max-age=31536000") is kept
