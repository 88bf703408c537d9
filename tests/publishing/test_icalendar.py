"""The calendar of calls has lines, folds and escapes as in RFC 5545."""

from datetime import UTC, date, datetime

from shared.publishing.feeds import CallEnd, calendar_of


def call(**changed: object) -> CallEnd:
    values: dict[str, object] = {
        "scope": "0123456789abcdef",
        "title": "Adopt the draft",
        "question": "Shall we?",
        "ends": date(2026, 2, 28),
        "published": datetime(2026, 2, 1, 12, tzinfo=UTC),
        "address": "https://x.example/threads/0123456789abcdef",
    }
    return CallEnd(**{**values, **changed})  # type: ignore[arg-type]  # a test's shorthand


def unfolded(content: bytes) -> list[str]:
    return content.decode().replace("\r\n ", "").split("\r\n")


def test_a_call_is_a_day_that_keeps_its_id() -> None:
    lines = unfolded(calendar_of("Calls on tally", [call()]))
    assert lines[0] == "BEGIN:VCALENDAR"
    assert "DTSTART;VALUE=DATE:20260228" in lines
    assert "DTEND;VALUE=DATE:20260301" in lines
    assert "SUMMARY:Deadline: Adopt the draft" in lines
    again = unfolded(calendar_of("Calls on tally", [call(title="Adopt it", ends=date(2026, 3, 7))]))
    (first,) = [line for line in lines if line.startswith("UID:")]
    assert first in again


def test_a_title_adds_no_property_and_long_lines_are_folded_between_characters() -> None:
    hostile = call(title="x\r\nEND:VEVENT\r\nATTACH:http://evil/;,\\" + "ü€" * 90)
    content = calendar_of("a\nMETHOD:REQUEST", [hostile])
    assert all(len(line) <= 75 for line in content.split(b"\r\n"))
    lines = unfolded(content)
    assert not [line for line in lines if line.startswith(("ATTACH", "METHOD"))]
    assert lines.count("END:VEVENT") == 1
    (summary,) = [line for line in lines if line.startswith("SUMMARY:")]
    assert summary.endswith(r"http://evil/\;\,\\" + "ü€" * 90)
