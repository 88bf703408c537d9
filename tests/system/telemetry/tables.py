"""The receiver's data, as the tables that Azure Monitor would build from it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.infra.kql_engine import Rows

__all__ = ["azure_metric", "tables_of"]


def tables_of(folder: Path, *, later: float = 0.0) -> dict[str, Rows]:
    """Return the tables. `later` shifts all times, as if the data had arrived at another time."""
    with closing(sqlite3.connect(folder / "telemetry.db")) as database:
        database.row_factory = sqlite3.Row
        return {
            "AppMetrics": _metrics(database, later),
            "AppRequests": _spans(database, "request", later),
            "AppDependencies": _spans(database, "dependency", later),
            "AppExceptions": _exceptions(database, later),
            "AppTraces": _traces(database, later),
            "AzureMetrics": [],
            "Usage": [],
        }


def azure_metric(provider: str, name: str, value: float, time: float) -> dict[str, object]:
    """Return a row of a service's own metrics, which only Azure can send."""
    return {
        "TimeGenerated": time, "ResourceProvider": provider, "MetricName": name,
        "Maximum": value, "Minimum": value, "Total": value,
    }  # fmt: skip


def _metrics(database: sqlite3.Connection, later: float) -> Rows:
    found = database.execute(
        "SELECT metrics.*, series.name, series.labels FROM metrics JOIN series ON series.number = metrics.series"
        " ORDER BY metrics.time, metrics.number"
    )
    return [
        {
            "TimeGenerated": row["time"] + later,
            "Name": row["name"],
            "Properties": json.loads(row["labels"]),
            "Sum": row["value"],
            "ItemCount": row["count"],
            "Min": row["least"],
            "Max": row["most"],
        }
        for row in found
    ]


def _spans(database: sqlite3.Connection, kind: str, later: float) -> Rows:
    return [
        {
            "TimeGenerated": row["start"] + later,
            "Name": row["name"],
            "Properties": json.loads(row["attributes"]),
            "ResultCode": row["result"],
            "Success": bool(row["success"]),
            "DurationMs": row["duration_ms"],
            "ItemCount": 1,
            "OperationId": row["trace_id"],
        }
        for row in database.execute("SELECT * FROM spans WHERE kind = ? ORDER BY start", (kind,))
    ]


def _exceptions(database: sqlite3.Connection, later: float) -> Rows:
    return [
        {
            "TimeGenerated": row["time"] + later,
            "ExceptionType": json.loads(row["exception"])["type"],
            "OuterMessage": row["message"],
            "SeverityLevel": row["level"],
            "OperationId": row["trace_id"],
            "Properties": json.loads(row["attributes"]),
        }
        for row in database.execute("SELECT * FROM logs WHERE exception IS NOT NULL ORDER BY time")
    ]


def _traces(database: sqlite3.Connection, later: float) -> Rows:
    return [
        {
            "TimeGenerated": row["time"] + later,
            "Message": row["message"],
            "SeverityLevel": row["level"],
            "OperationId": row["trace_id"],
            "Properties": json.loads(row["attributes"]),
        }
        for row in database.execute("SELECT * FROM logs WHERE exception IS NULL ORDER BY time")
    ]
