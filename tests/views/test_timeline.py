"""Months of a list, built from the query's rows."""

from shared.views.lists import MONTHS, months_of


def row(at: str, kind: str | None = None, tier: str = "said", messages: int = 2) -> dict[str, object]:
    return {"at": f"{at}-05T00:00:00Z", "messages": messages, "kind": kind, "tier": tier}


def test_threads_are_counted_by_month_and_by_what_is_said_to_have_come_of_them() -> None:
    months = months_of(
        [
            row("2026-03", "accepted"),
            row("2026-03", "revised"),
            row("2026-03", "contested", tier="remark"),
            row("2026-01", "rejected", messages=7),
            row("2026-01"),
        ]
    )
    assert [month.month for month in months] == ["2026-01", "2026-02", "2026-03"]
    assert dict(months[0].bands) == {"rejected": 1, "other": 1}
    assert (months[0].messages, months[1].threads) == (9, 0)
    assert dict(months[2].bands) == {"accepted": 2, "other": 1}


def test_two_years_at_most_and_none_of_nothing() -> None:
    assert months_of([]) == []
    months = months_of([row("2026-03"), row("1999-01")])
    assert len(months) == MONTHS
    assert months[0].month == "2024-04"
