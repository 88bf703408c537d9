"""The Cosmos DB in memory does what the local one does: a seed is the same schedule on both."""

import re

import pytest

from localcloud.cosmos.sql_values import UNDEFINED
from tests.simulation.memory_sql import compiled, meets
from tests.simulation.test_simulation import simulate

pytestmark = pytest.mark.timeout(900)  # each starts processes of its own

SEEDS = "40-44"


def test_a_seed_is_the_same_schedule_on_both_engines() -> None:
    traces = [
        re.findall(r"seed (\d+) of (\S+) (\w+) .*trace (\w+)", simulate(SEEDS, "--verbose", *engine).stdout)
        for engine in ([], ["--engine", "local"])
    ]
    assert len(traces[0]) == 5
    assert sorted(traces[0]) == sorted(traces[1])


@pytest.mark.slow
def test_schedules_hold_through_the_real_sdks() -> None:
    done = simulate("1-10", "--engine", "sdk")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 schedules" in done.stdout


def test_a_schedule_holds_through_the_real_sdks() -> None:
    done = simulate("17", "--scenario", "reembedding", "--engine", "sdk")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(call in done.stdout for call in ("cosmos.post", "search.post", "blobs.put", "blobs.get"))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("FROM c WHERE c.a = 1", True),
        ("FROM c WHERE c.a = '1'", False),
        ("FROM c WHERE c.b = 'no' OR c.a >= 1", True),
        ('FROM c WHERE c.t = "x y"', True),
        ("FROM c WHERE NOT IS_STRING(c.missing) AND c.a < 2", True),
        ("FROM c WHERE c.missing = 1 OR c.a = 2", False),
        ("FROM c WHERE NOT (c.missing = 1)", False),  # undefined is not false
        ("FROM c WHERE c.o.v = 'w'", True),
        ("FROM c WHERE IS_NULL(c.n) AND IS_DEFINED(c.n) AND NOT IS_DEFINED(c.missing)", True),
    ],
)
def test_conditions(condition: str, expected: bool) -> None:
    document = {"a": 1, "t": "x y", "n": None, "o": {"v": "w"}}
    assert meets(document, condition) is expected


def test_what_the_app_does_not_ask_for_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        compiled("SELECT VALUE SUM(c.a) FROM c")
    assert compiled("SELECT VALUE c.a FROM c").run([{"b": 1}], {}) == []
    assert UNDEFINED not in compiled("SELECT c.a, c.b FROM c").run([{"b": 1}], {})[0].values()
