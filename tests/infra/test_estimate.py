"""The estimate has computed quantities, dated prices and nothing invented."""

import json
from pathlib import Path

import pytest

from benchmarks.capacity import IDLE_UNITS, MEMORY_GB, MONTH, TIMER_RUNS
from tests.infra.conftest import ROOT
from tools.estimate import PRICES, PROFILES, Line, estimate, estimate_table


def lines(profile: str, messages: int = 0) -> dict[str, Line]:
    return {line.meter: line for line in estimate(profile, messages)}


def test_an_idle_month_counts_each_run_of_a_timer_for_a_second() -> None:
    idle = lines("standard")

    assert idle["functions.on-demand"].quantity == TIMER_RUNS * MEMORY_GB
    assert idle["functions.executions"].quantity == TIMER_RUNS
    assert idle["functions.always-ready"].quantity == MONTH * MEMORY_GB
    assert idle["cosmos.requests"].quantity == pytest.approx(IDLE_UNITS / 1e6)


def test_an_idle_month_of_functions_is_within_the_free_grant() -> None:
    """Seven timers ran 277,430 times, 554,860 GB-s in a month, and exceeded the grant."""
    for profile in PROFILES:
        idle = lines(profile)
        assert idle["functions.on-demand"].amount == idle["functions.executions"].amount == 0
        assert idle["functions.on-demand"].quantity < idle["functions.on-demand"].free / 4


def test_a_profile_costs_less_at_rest_than_the_one_before_it_and_a_trial_less_than_15_dollars() -> None:
    standard, low_cost, trial = (
        sum(line.amount or 0 for line in lines(profile).values()) for profile in PROFILES
    )

    assert standard > low_cost > 3 * trial
    assert trial < 15
    assert not [meter for meter, line in lines("trial").items() if line.amount is None]
    assert "functions.always-ready" not in lines("low-cost") | lines("trial")


def test_an_alert_is_priced_by_how_often_it_asks_and_by_the_series_that_it_watches() -> None:
    standard, trial = lines("standard"), lines("trial")

    assert standard["alerts.query.PT5M"].quantity + standard["alerts.query.PT15M"].quantity == 21
    assert "alerts.query.PT5M" not in trial
    assert trial["alerts.query.PT15M"].quantity < 6
    # Dead letters of each entity, two refusals, the web test.
    assert standard["alerts.metric"].quantity == 12 + 1 + 1 + 1


def test_a_free_grant_is_not_billed() -> None:
    assert Line("m", 90, "GB", 2.0, 100, "2026-01-01").amount == 0
    assert Line("m", 110, "GB", 2.0, 100, "2026-01-01").amount == 20


def test_a_price_that_nobody_looked_up_is_left_out_and_shown_as_such() -> None:
    busy = lines("standard", 100_000)

    assert busy["storage.Standard_ZRS"].amount is None
    row = next(row for row in estimate_table(100_000).splitlines() if "storage.Standard_ZRS" in row)
    assert ": ?" in row
    assert "not looked up" in row


def test_prices_of_ones_own_are_used(tmp_path: Path) -> None:
    prices = json.loads(PRICES.read_text())
    prices["prices"]["cosmos.requests"] |= {"price": 0.5, "day": "2027-01-01"}
    own = tmp_path / "prices.json"
    own.write_text(json.dumps(prices))

    found = {line.meter: line for line in estimate("standard", 100_000, own)}["cosmos.requests"]
    assert found.amount == pytest.approx(found.quantity * 0.5)


def test_every_price_has_its_region_and_its_day_or_is_none() -> None:
    for meter, entry in json.loads(PRICES.read_text())["prices"].items():
        assert entry.keys() == {"unit", "price", "free", "region", "day"}, meter
        assert (entry["price"] is None) is (entry["day"] is None) is (entry["region"] is None), meter


def test_the_table_in_the_docs_is_the_one_that_is_printed() -> None:
    assert estimate_table(0) in (ROOT / "docs/deploy.md").read_text()
    assert len(PROFILES) == 3
