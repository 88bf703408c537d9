"""The history of a document or an event: from documents, failures, dead letters, audits and spans."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import aiohttp

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.telemetry.workspace import ENDPOINT, LOOPBACK, LogsUnreadError, Workspace
from shared.core.errors import TransientError
from shared.documents.queries.named_query import NamedQuery
from shared.documents.queries.operations import FAILURES_ABOUT
from shared.documents.queries.reports import REPORTS_OF_THREAD, SUMMARIES_OF_THREAD
from shared.documents.queries.threads import THREADS_WITH_ARCHIVE
from shared.pipeline.topology import QUEUES
from shared.upkeep.audit import last_audits
from shared.upkeep.deadletters.diagnosis import diagnosed_letters
from shared.upkeep.oversight.stuck_documents import find_anywhere

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


AUDITS_SEARCHED = 500
NOBODY_ASKED = "LOG_WORKSPACE_ID is not set; it names the workspace of Application Insights"

RELATED = {
    "archives": (THREADS_WITH_ARCHIVE,),
    "threads": (SUMMARIES_OF_THREAD, REPORTS_OF_THREAD),
}
# The times that a document keeps, and what happened then.
_TIMES = {
    "ingestion_date": "came in",
    "created_at": "stored",
    "lastAttemptTime": "last attempt",
    "requeued_at": "asked for again by the sweep or an operator",
    "generated_at": "generated",
    "published_at": "published",
    "started_at": "started",
    "finished_at": "finished",
    "last_fetch_at": "fetched",
    "last_success_at": "fetched successfully",
}


@dataclass(frozen=True)
class TimelineEntry:
    at: datetime
    where: str
    what: str
    trace_id: str | None = None

    def shown(self) -> dict[str, Any]:
        return {"at": self.at.isoformat(), "where": self.where, "what": self.what, "trace_id": self.trace_id}


@dataclass(frozen=True)
class Timeline:
    entries: list[TimelineEntry]  # in chronological order
    without: str | None = None  # why there are no spans


async def read_timeline(clients: Clients, id_: str, telemetry: SpanStore | None) -> Timeline:
    """`telemetry` is where spans can be asked for, if anywhere."""
    found: list[TimelineEntry] = []
    documents = await find_anywhere(clients, id_)
    for container, stored in documents:
        found += _of_document(container, stored)
        for query in RELATED.get(container, ()):
            found += await _related(clients, query, id_)
    found += await _failures(clients, id_)
    found += await _dead_letters(clients, id_)
    found += await _audits(clients, id_)
    spans, without = await _asked_spans(telemetry, id_, [container for container, _ in documents])
    found += _spans(spans)
    return Timeline(sorted(set(found), key=lambda entry: (entry.at, entry.where)), without)


async def _asked_spans(
    telemetry: SpanStore | None, id_: str, containers: Sequence[str]
) -> tuple[list[dict[str, Any]], str | None]:
    if telemetry is None:
        return [], NOBODY_ASKED
    try:
        return await telemetry.about(id_, containers), None
    except NoSpansError as error:
        return [], str(error)


def _of_document(container: str, stored: dict[str, Any]) -> list[TimelineEntry]:
    return [
        TimelineEntry(_moment(stored[name]), f"{container}/{stored['id']}", _said(what, name, stored))
        for name, what in _TIMES.items()
        if isinstance(stored.get(name), str)
    ]


def _said(what: str, name: str, stored: dict[str, Any]) -> str:
    if name != "lastAttemptTime":
        return what
    error = f": {stored['lastError']}" if stored.get("lastError") else ""
    return f"attempt {stored.get('attemptCount', '?')}, now {stored.get('status', '?')}{error}"


async def _related(clients: Clients, query: NamedQuery, id_: str) -> list[TimelineEntry]:
    rows = [row async for row in clients.store.query(query, Session(), id=id_)]
    return [entry for row in rows for entry in _of_document(query.container, row)]


async def _failures(clients: Clients, id_: str) -> list[TimelineEntry]:
    rows = [row async for row in clients.store.query(FAILURES_ABOUT, Session(), id=id_)]
    return [
        TimelineEntry(
            _moment(row["timestamp"]),
            row["stage"],
            f"failed ({row['error_kind']}, {row['abandoned_reason']}, attempt {row.get('attempt', 1)}):"
            f" {row['last_error']}",
            row.get("trace_id"),
        )
        for row in rows
    ]


async def _dead_letters(clients: Clients, id_: str) -> list[TimelineEntry]:
    wanted = id_.encode()
    found = []
    for diagnosed in await diagnosed_letters(clients, QUEUES):
        letter = diagnosed.letter
        named = (
            letter.message_id,
            letter.properties.get("requeued_from"),
            letter.properties.get("idempotency_key"),
            *str(letter.properties.get("traceparent")).split("-"),
            diagnosed.cause.trace_id,
        )
        if id_ in named or wanted in letter.copy.data():
            what = f"dead letter {letter.sequence_number} of {letter.queue}: {diagnosed.cause.error}"
            found.append(TimelineEntry(diagnosed.cause.seen_at, letter.queue, what, diagnosed.cause.trace_id))
    return found


async def _audits(clients: Clients, id_: str) -> list[TimelineEntry]:
    return [
        TimelineEntry(
            audit.started_at, "operator", f"{audit.action} by {audit.actor}: {audit.status} ({audit.id})"
        )
        for audit in await last_audits(clients.store, AUDITS_SEARCHED)
        if id_ == audit.id or id_ in json.dumps(audit.selection)
    ]


def _spans(spans: Iterable[dict[str, Any]]) -> list[TimelineEntry]:
    return [
        TimelineEntry(
            _moment(span["start"]),
            str(span["attributes"].get("pipeline.stage") or "telemetry"),
            f"span {span['name']}: {_milliseconds(span)}, {'ok' if span['success'] else 'failed'}",
            span["trace_id"],
        )
        for span in spans
    ]


def _milliseconds(span: dict[str, Any]) -> str:
    return f"{float(span['duration_ms']):,.0f} ms"


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
