import pytest

from localcloud.timespan import format_timespan, parse_timespan


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:05:00", 300),
        ("05:00", 5 * 3600),
        ("1.02:03:04", 86_400 + 2 * 3600 + 3 * 60 + 4),
        ("00:00:00.5", 0.5),
        ("00:00:01.2500000", 1.25),
        ("-00:00:01", -1),
        ("7", 7 * 86_400),
        (" 00:00:30 ", 30),
    ],
)
def test_a_time_span_is_read_as_dotnet_reads_it(text: str, seconds: float) -> None:
    assert parse_timespan(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "5 minutes", "24:00:00", "00:60:00", "00:00:60", "1:2:3:4", "PT5M", "1.5"]
)
def test_an_invalid_time_span_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="not a time span"):
        parse_timespan(text)


@pytest.mark.parametrize(("seconds", "text"), [(1800, "00:30:00"), (90_061, "1.01:01:01"), (0, "00:00:00")])
def test_a_time_span_is_written_as_dotnet_writes_it(seconds: float, text: str) -> None:
    assert format_timespan(seconds) == text
