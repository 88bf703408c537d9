"""Spans about a document or an event: from the local telemetry receiver, or from Application Insights."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import aiohttp

from shared.clients.telemetry.workspace import ENDPOINT, LOOPBACK, LogsUnreadError, Workspace
from shared.core.errors import TransientError

ATTRIBUTES = {
    "archives": "pipeline.archive_id",
    "threads": "pipeline.thread_id",
    "messages": "pipeline.message_key",
    "chunks": "pipeline.chunk_id",
    "summaries": "pipeline.summary_id",
    "reports": "pipeline.report_id",
}
EVENT = "pipeline.event_id"
SECONDS = 5
OK = 200
_TRACE = re.compile(r"[0-9a-f]{32}")


class NoSpansError(TransientError):
    """Who keeps the spans could not be asked."""


class SpanStore(Protocol):
    async def about(self, id_: str, containers: Sequence[str]) -> list[dict[str, Any]]:
        """Whole traces that have to do with it; NoSpansError where they cannot be had."""
        ...


def span_store(settings: Mapping[str, str]) -> SpanStore | None:
    """By the app's connection string where that leads to this machine, else by LOG_WORKSPACE_ID."""
    address = receiver_address(settings.get("APPLICATIONINSIGHTS_CONNECTION_STRING"))
    if address is not None:
        return ReceivedSpans(address)
    workspace = settings.get("LOG_WORKSPACE_ID")
    if not workspace:
        return None
    return WorkspaceSpans(Workspace(workspace, settings.get("LOG_QUERY_ENDPOINT") or ENDPOINT))


def receiver_address(connection: str | None) -> str | None:
    """The receiver's address in APPLICATIONINSIGHTS_CONNECTION_STRING, if that is on this machine."""
    fields = dict(part.partition("=")[::2] for part in (connection or "").split(";") if part)
    address = fields.get("IngestionEndpoint", "").rstrip("/")
    return address if urlsplit(address).hostname in LOOPBACK else None


def _attributes(containers: Sequence[str]) -> list[str]:
    """By which attributes a document of these containers is found; an event, where it is in none."""
    return [ATTRIBUTES[container] for container in containers if container in ATTRIBUTES] or [EVENT]


class ReceivedSpans:
    """Those of the local telemetry receiver."""

    def __init__(self, address: str) -> None:
        self._address = address

    async def about(self, id_: str, containers: Sequence[str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session:
            for path in self._questions(id_, containers):
                try:
                    async with session.get(self._address + path) as answer:
                        if answer.status == OK:
                            found += json.loads(await answer.read()).get("spans", [])
                except (aiohttp.ClientError, TimeoutError):
                    said = f"the telemetry receiver at {self._address} does not answer"
                    raise NoSpansError(said) from None
        return found

    def _questions(self, id_: str, containers: Sequence[str]) -> list[str]:
        if _TRACE.fullmatch(id_):
            return [f"/api/traces/{id_}"]
        return [f"/api/timeline?{urlencode({name: id_})}" for name in _attributes(containers)]


class WorkspaceSpans:
    """Those of Application Insights, in its workspace: first the traces, then all spans of these."""

    TABLES = ("AppRequests", "AppDependencies")
    MOST_TRACES = 50
    MOST_SPANS = 5000
    # What our ids are made of. A quote or a backslash would end the text that they stand in.
    _SAFE = re.compile(r"[\w.:-]{1,200}", re.ASCII)

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def about(self, id_: str, containers: Sequence[str]) -> list[dict[str, Any]]:
        if not self._SAFE.fullmatch(id_):
            raise NoSpansError("spans have no ids with such characters")
        try:
            traces = [id_] if _TRACE.fullmatch(id_) else await self._traces(id_, containers)
            tables = await self._workspace.ask(*(self._spans(table, traces) for table in self.TABLES))
        except LogsUnreadError as error:
            raise NoSpansError(str(error)) from error
        return [_span(row) for rows in tables for row in rows]

    async def _traces(self, id_: str, containers: Sequence[str]) -> list[str]:
        named = " or ".join(
            f'tostring(Properties["{name}"]) == "{id_}" or tostring(Properties["{name}s"]) has "{id_}"'
            for name in _attributes(containers)
        )
        queries = [
            f"{table} | where {named} | summarize Last = max(TimeGenerated) by OperationId"
            f" | top {self.MOST_TRACES} by Last desc"
            for table in self.TABLES
        ]
        found = await self._workspace.ask(*queries)
        return sorted({str(row["OperationId"]) for rows in found for row in rows})

    def _spans(self, table: str, traces: Sequence[str]) -> str:
        wanted = ", ".join(f'"{trace}"' for trace in traces if _TRACE.fullmatch(trace)) or '""'
        return (
            f"{table} | where OperationId in ({wanted})"
            " | project TimeGenerated, Name, DurationMs, Success, OperationId, Properties"
            f" | top {self.MOST_SPANS} by TimeGenerated asc"
        )


def _span(row: dict[str, Any]) -> dict[str, Any]:
    start = row["TimeGenerated"]
    return {
        "start": start.isoformat() if isinstance(start, datetime) else str(start),
        "name": row["Name"],
        "duration_ms": row["DurationMs"] or 0,
        "success": row["Success"] in {True, "True", "true"},
        "trace_id": row["OperationId"],
        "attributes": row["Properties"] or {},
    }
