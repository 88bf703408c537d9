"""The history of a document or an event: from documents, failures, dead letters, audits and spans."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

import aiohttp

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.telemetry.workspace import ENDPOINT, LogsUnreadError, Workspace
from shared.core.errors import TransientError
from shared.documents.queries.operations import FAILURES_ABOUT
from shared.documents.queries.reports import REPORTS_OF_THREAD, SUMMARIES_OF_THREAD
from shared.documents.queries.threads import THREADS_WITH_ARCHIVE
from shared.pipeline.topology import QUEUES
from shared.settings.outgoing import LOOPBACK, connection_fields
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
TABLES = ("AppRequests", "AppDependencies")
MOST_TRACES = 50
MOST_SPANS = 5000
SECONDS = 5
OK = 200
_TRACE = re.compile(r"[0-9a-f]{32}")
# What our ids are made of. A quote or a backslash would end the text that they stand in.
_SAFE = re.compile(r"[\w.:-]{1,200}", re.ASCII)


class NoSpansError(TransientError):
    """Who keeps the spans could not be asked."""


def _attributes(containers: Sequence[str]) -> list[str]:
    """By which attributes a document of these containers is found; an event, where it is in none."""
    return [ATTRIBUTES[container] for container in containers if container in ATTRIBUTES] or [EVENT]


@dataclass(frozen=True)
class ReceivedSpans:
    """Those of the local telemetry receiver."""

    address: str

    async def about(self, id_: str, containers: Sequence[str]) -> list[dict[str, Any]]:
        """Whole traces that have to do with it; NoSpansError where they cannot be had."""
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
                    said = f"the telemetry receiver at {self.address} does not answer"
                    raise NoSpansError(said) from None
        return found


@dataclass(frozen=True)
class WorkspaceSpans:
    """Those of Application Insights, in its workspace: first the traces, then all spans of these."""

    workspace: Workspace

    async def about(self, id_: str, containers: Sequence[str]) -> list[dict[str, Any]]:
        if not _SAFE.fullmatch(id_):
            raise NoSpansError("spans have no ids with such characters")
        try:
            traces = [id_] if _TRACE.fullmatch(id_) else await self._traces(id_, containers)
            tables = await self.workspace.ask(*(self._spans(table, traces) for table in TABLES))
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
            f" | top {MOST_TRACES} by Last desc"
            for table in TABLES
        ]
        found = await self.workspace.ask(*queries)
        return sorted({str(row["OperationId"]) for rows in found for row in rows})

    def _spans(self, table: str, traces: Sequence[str]) -> str:
        wanted = ", ".join(f'"{trace}"' for trace in traces if _TRACE.fullmatch(trace)) or '""'
        return (
            f"{table} | where OperationId in ({wanted})"
            " | project TimeGenerated, Name, DurationMs, Success, OperationId, Properties"
            f" | top {MOST_SPANS} by TimeGenerated asc"
        )


SpanStore = ReceivedSpans | WorkspaceSpans


def span_store(settings: Mapping[str, str]) -> SpanStore | None:
    """By the app's connection string where that leads to this machine, else by LOG_WORKSPACE_ID."""
    connection = settings.get("APPLICATIONINSIGHTS_CONNECTION_STRING", "")
    address = connection_fields(connection).get("IngestionEndpoint", "").rstrip("/")
    if urlsplit(address).hostname in LOOPBACK:
        return ReceivedSpans(address)
    workspace = settings.get("LOG_WORKSPACE_ID")
    endpoint = settings.get("LOG_QUERY_ENDPOINT") or ENDPOINT
    return WorkspaceSpans(Workspace(workspace, endpoint)) if workspace else None


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
    found, spans = list[TimelineEntry](), list[dict[str, Any]]()
    without = None if telemetry else NOBODY_ASKED
    documents = await find_anywhere(clients, id_)
    for container, stored in documents:
        found += _of_document(container, stored)
        for query in RELATED.get(container, ()):
            rows = [row async for row in clients.store.query(query, Session(), id=id_)]
            found += [entry for row in rows for entry in _of_document(query.container, row)]
    found += await _failures(clients, id_)
    found += await _dead_letters(clients, id_)
    found += await _audits(clients, id_)
    if telemetry is not None:
        try:
            spans = await telemetry.about(id_, [container for container, _ in documents])
        except NoSpansError as error:
            without = str(error)
    found += map(_of_span, spans)
    return Timeline(sorted(set(found), key=lambda entry: (entry.at, entry.where)), without)


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


def _of_span(span: dict[str, Any]) -> TimelineEntry:
    ended = f"{float(span['duration_ms']):,.0f} ms, {'ok' if span['success'] else 'failed'}"
    where = str(span["attributes"].get("pipeline.stage") or "telemetry")
    return TimelineEntry(_moment(span["start"]), where, f"span {span['name']}: {ended}", span["trace_id"])


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
