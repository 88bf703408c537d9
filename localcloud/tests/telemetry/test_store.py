"""The receiver's storage is limited by number and age."""

from pathlib import Path

import pytest

from localcloud.telemetry.envelopes import Log, Received, Span, Value
from localcloud.telemetry.store import TRIM_EVERY, Limits, Store

NOW = 1_700_000_000.0


def span(number: int, start: float) -> Span:
    attributes = {"pipeline.event_id": f"e{number}"}
    return Span("t", f"s{number}", None, "n", "request", "", start, 1.0, True, "0", attributes)


def log(number: int, time: float) -> Log:
    return Log(time, "info", f"m{number}", None, None, None, {})


def value(number: int, time: float) -> Value:
    return Value(time, "m", {}, float(number), 1, 0.0, 1.0)


@pytest.mark.parametrize("limit", [1, 7])
def test_the_oldest_go_when_there_are_too_many(tmp_path: Path, limit: int) -> None:
    store = Store(tmp_path, Limits(spans=limit, logs=limit, metrics=limit))
    received = Received(
        spans=[span(n, NOW + n) for n in range(10)],
        logs=[log(n, NOW + n) for n in range(10)],
        values=[value(n, NOW + n) for n in range(10)],
    )
    store.add(received, NOW)
    store.trim(NOW)

    assert store.counts() == {"spans": limit, "logs": limit, "metrics": limit}
    assert [span["span_id"] for span in store.find("spans", {}, limit=1)] == ["s9"]
    assert store.find("spans", {}, limit=1, attributes={"pipeline.event_id": "e0"}) == []
    store.close()


def test_old_values_are_deleted_with_their_series(tmp_path: Path) -> None:
    store = Store(tmp_path, Limits(seconds=100))
    store.add(
        Received(
            spans=[span(1, NOW), span(2, NOW + 50)],
            logs=[log(1, NOW)],
            values=[value(1, NOW)],
        ),
        NOW,
    )
    store.trim(NOW + 120)

    assert store.counts() == {"spans": 1, "logs": 0, "metrics": 0}
    assert store.series(None, {}, start=NOW, now=NOW + 120) == []
    store.close()


def test_the_limits_hold_while_telemetry_arrives(tmp_path: Path) -> None:
    store = Store(tmp_path, Limits(metrics=10))
    for batch in range(3):
        store.add(Received(values=[value(1, NOW + batch)] * TRIM_EVERY), NOW + batch)

    assert store.counts()["metrics"] == 10
    store.close()
