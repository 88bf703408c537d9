"""The list of metrics matches the code: names, kinds and labels."""

import ast
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Gauge, Histogram, InMemoryMetricReader, Sum

from shared.azure.calls import Calls
from shared.azure.telemetry.metrics import METRICS, MetricKind, Metrics, SweepMetrics
from shared.pipeline import runner
from shared.pipeline.event_types import EventData
from tests.infra.kql import emitted
from tests.support.span_attributes import COUNT_PREFIX, SPAN_ATTRIBUTES

KINDS: dict[type[Any], MetricKind] = {
    Sum: MetricKind.COUNTER,
    Histogram: MetricKind.HISTOGRAM,
    Gauge: MetricKind.GAUGE,
}
ROOT = Path(__file__).resolve().parents[3]
CODE = ("shared", "stages", "web")
# Registration connects stages with their triggers. The runner behind them continues the trace.
PUBLISHES_NOTHING = {"registration"}


@pytest.fixture
def reader() -> InMemoryMetricReader:
    return InMemoryMetricReader()


@pytest.fixture
def metrics(reader: InMemoryMetricReader) -> Metrics:
    return Metrics.on(MeterProvider([reader]).get_meter("test"))


def recorded(reader: InMemoryMetricReader) -> dict[str, Any]:
    data = reader.get_metrics_data()
    assert data is not None
    found = data.resource_metrics[0].scope_metrics[0].metrics
    return {metric.name: metric for metric in found}


@pytest.mark.parametrize("family", [Metrics, SweepMetrics])
@pytest.mark.requirement("R-901")
def test_every_instrument_is_in_the_list_with_its_kind(
    family: type[Metrics] | type[SweepMetrics], reader: InMemoryMetricReader
) -> None:
    metrics = family.on(MeterProvider([reader]).get_meter("test"))
    for attribute in family.declared:
        _measure(getattr(metrics, attribute))(1)

    found = recorded(reader)

    assert len(found) == len(family.declared)
    assert {name: METRICS[name].kind for name in found} == {
        name: KINDS[type(metric.data)] for name, metric in found.items()
    }


def test_every_metric_of_the_list_is_measured_somewhere() -> None:
    assert emitted() == METRICS.keys()


@pytest.mark.parametrize("file", sorted((ROOT / "stages").glob("*.py")), ids=lambda file: file.stem)
def test_what_starts_work_by_a_timer_or_a_queue_starts_or_continues_a_trace(file: Path) -> None:
    code = file.read_text()

    if ("timer_trigger(" in code or "queue_trigger(" in code) and file.stem not in PUBLISHES_NOTHING:
        assert "span(" in code


async def test_a_call_is_measured_with_the_labels_of_the_list(
    metrics: Metrics, reader: InMemoryMetricReader
) -> None:
    calls = Calls("cosmos", metrics)
    async with calls.measured("read"):
        calls.throttled()
        calls.request_units(2.5, "messages")

    for name, metric in recorded(reader).items():
        (point,) = metric.data.data_points
        assert frozenset(point.attributes) == METRICS[name].labels, name


@pytest.mark.requirement("R-901")
def test_the_runner_uses_the_labels_of_the_list(metrics: Metrics) -> None:
    names = {attribute: metric.name for attribute, metric in metrics.declared.items()}
    uses = list(_uses(ast.parse(Path(runner.__file__).read_text())))

    assert len(uses) >= 8
    for instrument, labels in uses:
        assert labels == METRICS[names[instrument]].labels, instrument


def test_the_code_names_no_other_span_attributes_than_those_of_the_list() -> None:
    named = {
        node.value
        for folder in CODE
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("pipeline.")
        and node.value.count(" ") == 0
    }
    # `set_ids` sets these. An event may have several chunks, messages and threads.
    by_ids = {f"pipeline.{name}" for name in EventData.trace_ids(_NoIds())}
    by_ids |= {"pipeline.chunk_ids", "pipeline.message_keys", "pipeline.thread_ids"}

    assert (named - {"pipeline.", COUNT_PREFIX}) | by_ids == SPAN_ATTRIBUTES


class _NoIds(EventData):
    routing_key = "none"
    identity = ()
    ids_field = "none"


def _measure(instrument: Any) -> Any:
    return next(getattr(instrument, name) for name in ("add", "record", "set") if hasattr(instrument, name))


def _uses(tree: ast.AST) -> Any:
    """Return (instrument, labels) of each metric that the code counts or records."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        instrument = call.func.value
        if call.func.attr in ("add", "record") and isinstance(instrument, ast.Attribute):
            yield instrument.attr, _labels(call.args[1])


def _labels(node: ast.expr) -> frozenset[str]:
    if isinstance(node, ast.Dict):
        named = {key.value for key in node.keys if isinstance(key, ast.Constant)}
        return frozenset(map(str, named)) | ({"service"} if None in node.keys else frozenset())
    return frozenset({"service"})  # self._labels
