"""Reads our KQL files as far as to tell whether they ask for something that is there."""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from shared.clients.telemetry.metrics import METRICS, InstrumentSet
from tests.support.span_attributes import COUNT_PREFIX, SPAN_ATTRIBUTES

__all__ = ["TABLES", "emitted", "problems_of", "produced"]

# The columns of Azure Monitor's tables that we use.
TABLES = {
    "AppMetrics": {"TimeGenerated", "Name", "Properties", "Sum", "Min", "Max", "ItemCount"},
    "AppRequests": {
        "TimeGenerated", "Name", "Properties", "ResultCode", "Success", "DurationMs", "ItemCount",
        "OperationId",
    },
    "AppExceptions": {
        "TimeGenerated", "ExceptionType", "OuterMessage", "SeverityLevel", "OperationId", "Properties",
    },
    "AppTraces": {"TimeGenerated", "Message", "SeverityLevel", "OperationId", "Properties"},
    "AzureMetrics": {"TimeGenerated", "ResourceProvider", "MetricName", "Maximum", "Minimum", "Total"},
    "Usage": {"TimeGenerated", "IsBillable", "Quantity", "DataType"},
}  # fmt: skip
_WORDS = frozenset(
    {
        "let", "where", "extend", "summarize", "project", "away", "top", "by", "order", "desc", "asc",
        "render", "timechart", "and", "or", "not", "in", "has", "startswith", "between", "bin",
        "toscalar", "tostring",
        "toint", "sum", "sumif", "min", "max", "minif", "maxif", "arg_max", "iff", "coalesce", "ago",
    }
)  # fmt: skip
ROOT = Path(__file__).resolve().parents[2]
_DURATION = re.compile(r"\d+[mhd]")


@dataclass(frozen=True)
class _Asked:
    metrics: set[str]
    attributes: set[str]


@lru_cache(maxsize=1)
def emitted() -> set[str]:
    """The metrics that some code measures: `metrics.queue_depth.set(...)`."""
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


def problems_of(query: str) -> list[str]:
    bare = _without_comments(query)
    return [*_unbalanced(bare), *_unknown_columns(bare), *_unknown_names(bare)]


def produced(query: str) -> set[str]:
    """The columns that a query names itself, or groups by."""
    bare = _without_comments(query)
    named = set(re.findall(r"\b(\w+) = ", bare))
    grouped = {name.strip() for line in re.findall(r"\bby ([^|]+)", bare) for name in line.split(",")}
    return named | grouped


def _without_comments(query: str) -> str:
    return re.sub(r"//[^\n]*", "", query)


def _unbalanced(query: str) -> list[str]:
    pairs = (("(", ")"), ("[", "]"))
    found = [
        f"{left} and {right} do not match" for left, right in pairs if query.count(left) != query.count(right)
    ]
    return found + (["a quote is open"] if query.count('"') % 2 else [])


def _unknown_names(query: str) -> list[str]:
    asked = _asked(query)
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


def _unknown_columns(query: str) -> list[str]:
    """Words that are no column of the query's tables, none of its own names, and none of the language."""
    tables = {word for word in re.findall(r"\b[A-Z]\w+", query) if word in TABLES}
    if not tables:
        return ["it reads no table that we know"]
    own = produced(query) | set(re.findall(r"\blet (\w+)", query))
    columns = {column for table in tables for column in TABLES[table]}
    plain = re.sub(r'"[^"]*"|\.\w+', " ", query)
    words = set(re.findall(r"\b[A-Za-z_]\w*", plain)) - tables - own - columns - _WORDS
    words -= {word for word in words if _DURATION.fullmatch(word)}
    return [f"there is no column {word}" for word in sorted(words)]
