"""NCRONTAB and intervals."""

from datetime import UTC, datetime, timedelta

import pytest

from localcloud.functions.schedule import ScheduleError, parse_schedule

NOW = datetime(2026, 3, 11, 10, 7, 30, tzinfo=UTC)  # a Wednesday


def occurrences(text: str, count: int, zone: str | None = None) -> list[str]:
    schedule, moment, found = parse_schedule(text, zone), NOW, []
    for _ in range(count):
        moment = schedule.next_after(moment)
        found.append(moment.strftime("%m-%d %H:%M:%S"))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 */5 * * * *", ["03-11 10:10:00", "03-11 10:15:00"]),
        ("*/20 * * * * *", ["03-11 10:07:40", "03-11 10:08:00"]),
        ("30 7 10 * * *", ["03-12 10:07:30", "03-13 10:07:30"]),
        ("0 0 9-17 * * *", ["03-11 11:00:00", "03-11 12:00:00"]),
        ("0 30 9 * * Mon-Fri", ["03-12 09:30:00", "03-13 09:30:00", "03-16 09:30:00"]),
        ("0 30 9 * * Monday", ["03-16 09:30:00", "03-23 09:30:00"]),
        ("0 0 0 * Jan,July *", ["07-01 00:00:00", "07-02 00:00:00"]),
        ("0 0 12 13 * 5", ["03-13 12:00:00", "11-13 12:00:00"]),  # both: Friday the 13th
        ("0 5/20 * * * *", ["03-11 10:25:00", "03-11 10:45:00", "03-11 11:05:00"]),
        ("0 1,2-4 11 * * *", ["03-11 11:01:00", "03-11 11:02:00", "03-11 11:03:00", "03-11 11:04:00"]),
        ("*/5 * * * *", ["03-11 10:10:00", "03-11 10:15:00"]),  # five fields: no seconds
        ("0 0 0 * * 0", ["03-15 00:00:00"]),
    ],
)
def test_a_cron_expression_occurs_when_ncrontab_says(text: str, expected: list[str]) -> None:
    assert occurrences(text, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "interval"),
    [("00:05:00", timedelta(minutes=5)), ("1.00:00:00", timedelta(days=1)), ("2", timedelta(days=2))],
)
def test_a_time_span_occurs_at_that_interval(text: str, interval: timedelta) -> None:
    assert parse_schedule(text).next_after(NOW) == NOW + interval


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@hourly",
        "0 * * *",
        "0 0 0 0 * * *",
        "60 * * * * *",
        "0 0 24 * * *",
        "0 0 0 0 * *",
        "0 0 0 * 13 *",
        "0 0 0 * * 7",
        "0 0 0 L * *",
        "0 0 0 ? * 1",
        "0 0 0 * * 1#2",
        "0 */0 * * * *",
        "0 5-1 * * * *",
        "0 0 0 * Foo *",
        "0 0 0 30 2 *",
        "00:00:00",
        "-00:01:00",
        "soon",
        "0 x * * * *",
    ],
)
def test_input_that_the_real_host_rejects_is_rejected(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(text)


@pytest.mark.parametrize(
    ("text", "sub_minute"),
    [
        ("*/20 * * * * *", True),
        ("0,30 * * * * *", True),
        ("0 * * * * *", False),
        ("00:00:59", True),
        ("00:01:00", False),
    ],
)
def test_a_schedule_that_occurs_more_than_once_a_minute_is_known(text: str, sub_minute: bool) -> None:
    assert parse_schedule(text).is_sub_minute(NOW) is sub_minute


def test_a_time_zone_moves_the_occurrences_and_follows_daylight_saving() -> None:
    # Berlin is one hour ahead of UTC until March 29, 2026, then two hours.
    found = [
        text for text in occurrences("0 0 9 * * *", 20, "Europe/Berlin") if text[:5] in {"03-28", "03-29"}
    ]
    assert found == ["03-28 08:00:00", "03-29 07:00:00"]


def test_a_time_zone_that_is_no_iana_name_is_refused() -> None:
    with pytest.raises(ScheduleError, match="is not an IANA zone"):
        parse_schedule("0 * * * * *", "Eastern Standard Time")
