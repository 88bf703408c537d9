"""Read the spans that the app sent, on the operator's machine. The packages are in the extra `ops`."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import aiohttp
from azure.core.exceptions import AzureError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.identity.aio import DefaultAzureCredential

from shared.core.errors import TransientError
from shared.core.lazy_import import lazy
from shared.settings.outgoing import LOOPBACK, connection_fields

if TYPE_CHECKING:
    from azure.monitor.query import aio as query_aio
else:
    query_aio = lazy("azure.monitor.query.aio")

ATTRIBUTES = {
    "archives": "pipeline.archive_id",
    "threads": "pipeline.thread_id",
    "messages": "pipeline.message_key",
    "chunks": "pipeline.chunk_id",
    "summaries": "pipeline.summary_id",
    "reports": "pipeline.report_id",
}
EVENT = "pipeline.event_id"
ENDPOINT = "https://api.loganalytics.io"
LOOKED_BACK = timedelta(days=90)
QUICKLY = {"connection_timeout": 5, "read_timeout": 60, "retry_total": 2}  # an operator waits
SECONDS = 5
OK = 200
TABLES = ("AppRequests", "AppDependencies")
MOST_TRACES = 50
MOST_SPANS = 5000
_TRACE = re.compile(r"[0-9a-f]{32}")
# The characters of our ids. A quote or a backslash would end the string literal of the query.
_SAFE = re.compile(r"[\w.:-]{1,200}", re.ASCII)


class NoSpansError(TransientError):
    """The store of the spans could not be queried."""


def _attributes(containers: Sequence[str]) -> list[str]:
    """Return the attributes that find a document of these containers, or an event if there are none."""
    return [ATTRIBUTES[container] for container in containers if container in ATTRIBUTES] or [EVENT]


@dataclass(frozen=True)
class ReceivedSpans:
    """The spans of the local telemetry receiver."""

    address: str

    async def about(self, id_: str, containers: Sequence[str]) -> list[dict[str, Any]]:
        """Return the whole traces that contain the id. Raise NoSpansError if they cannot be read."""
        questions = [f"/api/timeline?{urlencode({name: id_})}" for name in _attributes(containers)]
        if _TRACE.fullmatch(id_):
            questions = [f"/api/traces/{id_}"]
        found: list[dict[str, Any]] = []
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS)) as session:
            for path in questions:
                try:
                    async with session.get(self.address + path) as answer:
                        if answer.status == OK:
                            found += json.loads(await answer.read()).get("spans", [])
                except (aiohttp.ClientError, TimeoutError):
                    text = f"the telemetry receiver at {self.address} does not answer"
                    raise NoSpansError(text) from None
        return found


@dataclass(frozen=True)
class WorkspaceSpans:
    """The spans of a workspace (LOG_WORKSPACE_ID). One query finds the traces, another reads their spans."""

    id: str
    endpoint: str = ENDPOINT  # differs in clouds other than the public cloud

    async def about(self, id_: str, containers: Sequence[str]) -> list[dict[str, Any]]:
        if not _SAFE.fullmatch(id_):
            raise NoSpansError("spans have no ids with such characters")
        traces = [id_]
        if not _TRACE.fullmatch(id_):
            named = " or ".join(
                f'tostring(Properties["{name}"]) == "{id_}" or tostring(Properties["{name}s"]) has "{id_}"'
                for name in _attributes(containers)
            )
            rows = await self._ask(
                f"where {named} | summarize Last = max(TimeGenerated) by OperationId"
                f" | top {MOST_TRACES} by Last desc"
            )
            traces = sorted({str(row["OperationId"]) for row in rows})
        wanted = ", ".join(f'"{trace}"' for trace in traces if _TRACE.fullmatch(trace)) or '""'
        rows = await self._ask(
            f"where OperationId in ({wanted})"
            " | project TimeGenerated, Name, DurationMs, Success, OperationId, Properties"
            f" | top {MOST_SPANS} by TimeGenerated asc"
        )
        return [_span(row) for row in rows]

    async def _ask(self, query: str) -> list[dict[str, Any]]:
        async with AsyncExitStack() as exit_stack:
            try:
                client = await exit_stack.enter_async_context(await self._client(exit_stack))
                return [row for table in TABLES for row in await self._rows(client, f"{table} | {query}")]
            except ModuleNotFoundError as error:
                raise NoSpansError(f"{error.name} is not installed: pip install .[ops]") from error
            except AzureError as error:
                text = str(error).partition("\n")[0][:300]
                raise NoSpansError(f"Application Insights could not be asked: {text}") from error

    async def _client(self, exit_stack: AsyncExitStack) -> "query_aio.LogsQueryClient":
        identity = await exit_stack.enter_async_context(DefaultAzureCredential())
        options: dict[str, Any] = {"endpoint": self.endpoint, **QUICKLY}
        if urlsplit(self.endpoint).hostname in LOOPBACK:  # no sign-in on this machine
            options["authentication_policy"] = SansIOHTTPPolicy()
        return query_aio.LogsQueryClient(identity, **options)

    async def _rows(self, client: "query_aio.LogsQueryClient", query: str) -> list[dict[str, Any]]:
        answer: Any = await client.query_workspace(self.id, query, timespan=LOOKED_BACK)
        # A query that took too long has a partial result, which is better than none.
        tables = answer.partial_data if hasattr(answer, "partial_data") else answer.tables
        return [dict(zip(table.columns, row, strict=True)) for table in tables for row in table.rows]


def _span(row: dict[str, Any]) -> dict[str, Any]:
    start, attributes = row["TimeGenerated"], row["Properties"] or {}
    return {
        "start": start.isoformat() if isinstance(start, datetime) else str(start),
        "name": row["Name"],
        "duration_ms": row["DurationMs"] or 0,
        "success": row["Success"] in {True, "True", "true"},
        "trace_id": row["OperationId"],
        # A dynamic column is JSON text.
        "attributes": json.loads(attributes) if isinstance(attributes, str) else attributes,
    }


def span_store(settings: Mapping[str, str]) -> ReceivedSpans | WorkspaceSpans | None:
    """Return the local receiver if the app's connection string names this machine, else the workspace."""
    connection = settings.get("APPLICATIONINSIGHTS_CONNECTION_STRING", "")
    address = connection_fields(connection).get("IngestionEndpoint", "").rstrip("/")
    if urlsplit(address).hostname in LOOPBACK:
        return ReceivedSpans(address)
    workspace = settings.get("LOG_WORKSPACE_ID")
    return WorkspaceSpans(workspace, settings.get("LOG_QUERY_ENDPOINT") or ENDPOINT) if workspace else None
