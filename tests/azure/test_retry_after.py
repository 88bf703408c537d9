"""Every form of Retry-After that a service sends."""

from datetime import UTC, datetime

import pytest

from shared.azure.classify import retry_after_seconds

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "12"}, 12.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"RETRY-AFTER": " 7 "}, 7.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"x-ms-retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"x-ms-retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "999999"}, 3600.0),
        ({"retry-after": "1" * 400}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Mon, 01 Mar 2027 12:00:00 GMT"}, 3600.0),
    ],
)
def test_the_wait_that_the_headers_ask_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, now=NOW) == seconds


def test_a_date_says_nothing_to_who_has_no_clock() -> None:
    assert retry_after_seconds({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}) is None
