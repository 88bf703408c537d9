"""Rate limits for callers, and lockouts after wrong keys.

Counters are kept in the process, so the limits grow with the number of instances and a restart clears the
counters.
"""

import ipaddress
import logging
import math
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

from shared.settings.app import Settings
from web.problems import Problem

log = logging.getLogger(__name__)
MOST_CALLERS = 10_000
IPV6_COLONS = 2
FREE_TRIES, LONGEST_LOCK_SECONDS = 5, 900.0
TOO_MANY = 429


class Limited(StrEnum):
    """The limited actions, with their names in RATE_LIMITS."""

    SEARCH = "search"
    ASK = "ask"
    RAW = "raw"
    UPLOAD = "upload"
    SIGN_IN = "signin"
    REPORT = "report"


def client_address(headers: Mapping[str, str]) -> str:
    """Return the client address from Azure's front end. A client cannot forge the last hop."""
    if not os.environ.get("WEBSITE_SITE_NAME"):
        return "local"
    hop = headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    is_bare = hop.count(":") >= IPV6_COLONS and not hop.startswith("[")  # an IPv6 address without a port
    try:
        address = ipaddress.ip_address(urlsplit(f"//[{hop}]" if is_bare else f"//{hop}").hostname or "")
    except ValueError:
        return "unknown"
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network(f"{address}/64", strict=False))  # one subscriber has a whole /64 network


@dataclass
class _Bucket:
    tokens: float
    at: float


@dataclass
class RateLimits:
    """Token buckets for each caller and action, full at first and refilled at the allowed rate."""

    now: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[tuple[str, str], _Bucket] = field(default_factory=OrderedDict)

    def take(self, kind: Limited, caller: str, settings: Settings) -> None:
        """Take a token, or raise a 429 problem with the waiting time."""
        a_minute = settings.rate_limits.get(kind.value, 0)
        if not a_minute:
            return
        now, key = self.now(), (kind.value, caller)
        bucket = self._buckets.pop(key, None) or _Bucket(a_minute, now)
        bucket.tokens = min(a_minute, bucket.tokens + (now - bucket.at) * a_minute / 60)
        bucket.at = now
        self._buckets[key] = bucket
        while len(self._buckets) > MOST_CALLERS:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1:
            wait = (1 - bucket.tokens) * 60 / a_minute
            raise too_many(wait, f"At most {a_minute} requests per minute here.")
        bucket.tokens -= 1


@dataclass
class LockOut:
    """Wrong keys in a row by client. After a few, each wrong key doubles the wait, and no key is compared."""

    now: Callable[[], float] = time.monotonic
    _failed: OrderedDict[str, tuple[int, float]] = field(default_factory=OrderedDict)

    def check(self, client: str) -> None:
        _, until = self._failed.get(client, (0, 0.0))
        if (wait := until - self.now()) > 0:
            raise too_many(wait, "Too many wrong keys.")

    def failed(self, client: str) -> None:
        count = self._failed.pop(client, (0, 0.0))[0] + 1
        over = count - FREE_TRIES
        wait = min(2.0**over, LONGEST_LOCK_SECONDS) if over >= 0 else 0.0
        self._failed[client] = (count, self.now() + wait)
        while len(self._failed) > MOST_CALLERS:
            self._failed.popitem(last=False)
        log.warning("wrong operator key from %s, %d in a row: locked out for %d s", client, count, wait)

    def passed(self, client: str) -> None:
        self._failed.pop(client, None)


def too_many(wait_seconds: float, detail: str) -> Problem:
    seconds = max(1, math.ceil(wait_seconds))
    problem = Problem(TOO_MANY, f"{detail} Try again in {seconds} s.")
    problem.headers["Retry-After"] = str(seconds)
    return problem


RATES, LOCKS = RateLimits(), LockOut()


def check_body(headers: Mapping[str, str], body: Callable[[], bytes], largest: int) -> None:
    """Raise a 413 problem if the body is too large. An announced length is checked before it is read."""
    announced = headers.get("content-length", "")
    length = int(announced) if announced.isdecimal() else len(body())
    if length > largest:
        raise Problem(413, f"The body can have at most {largest} bytes.")
