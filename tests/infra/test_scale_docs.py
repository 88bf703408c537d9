"""docs/evidence.md is arithmetic, and says what the arithmetic says."""

import json
import re
from itertools import pairwise

import pytest

from benchmarks.capacity import (
    MEASURED,
    SERVERLESS_UNITS,
    SIZES,
    WAITING,
    capacity_table,
    credits_of_an_event,
    per_message_table,
    search_tier,
)
from shared.models.containers import CONTAINERS
from tests.infra.conftest import ROOT

DOCS = (ROOT / "docs/evidence.md").read_text()


@pytest.mark.requirement("R-1006")
def test_the_tables_are_those_that_the_model_prints() -> None:
    assert per_message_table() in DOCS
    assert capacity_table() in DOCS


def test_every_container_and_its_key_are_in_the_partition_table() -> None:
    table = DOCS.partition("### Partitions")[2].partition("\n###")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| ")][1:]
    listed = {name.strip(): row[2].strip() for row in rows for name in row[1].split(",")}

    assert listed == {name: spec.partition_path.strip("/") for name, spec in CONTAINERS.items()}


def test_the_counts_that_the_text_names_are_ours() -> None:
    filters = credits_of_an_event() - 3

    assert f"each of the {filters} filters" in DOCS
    assert f"An event costs {credits_of_an_event()} credits" in DOCS
    assert f"{1000 // credits_of_an_event()} events a second" in DOCS
    assert len(CONTAINERS) <= 25  # the most that may share the throughput of one database


def test_the_instances_that_fit_are_worked_out_from_what_a_message_costs() -> None:
    units, seconds = MEASURED.busiest_container_units, MEASURED.cpu_ms / 1000 * WAITING
    each = units / seconds

    assert f"{units} RU / {seconds:.4f} s = {each:.0f} RU/s" in DOCS
    assert f"{SERVERLESS_UNITS:,} / {each:.0f}: {SERVERLESS_UNITS // each:.0f} busy instances" in DOCS


@pytest.mark.requirement("R-1006")
def test_what_is_ten_times_as_much_costs_ten_times_as_much() -> None:
    rows = [re.findall(r"[\d,.]+", line.split("|")[4])[0] for line in capacity_table().splitlines()[2:]]
    units = [float(row.replace(",", "")) for row in rows]

    assert len(units) == len(SIZES)
    for smaller, larger in pairwise(units[2:]):
        assert larger == pytest.approx(10 * smaller, rel=0.05)


def test_the_search_tier_grows_with_the_vectors() -> None:
    tiers = [search_tier(messages, MEASURED) for messages in SIZES]

    assert tiers[0] == "Basic x 1"
    assert tiers[-1].endswith("services of S3 x 12")
    kinds = [tier.split()[0] for tier in tiers[:-1]]
    assert kinds == sorted(kinds, key=("Basic", "S1", "S2", "S3").index)
    assert "services" in search_tier(10**11, MEASURED)


def test_the_rules_that_an_event_is_held_against_are_those_of_the_topic() -> None:
    config = json.loads((ROOT / "infra/servicebus/Config.json").read_text())
    (topic,) = config["UserConfig"]["Namespaces"][0]["Topics"]

    assert credits_of_an_event() == 3 + sum(
        len(subscription["Rules"]) for subscription in topic["Subscriptions"]
    )
