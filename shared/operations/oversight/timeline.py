"""The history of a document or an event, from documents, failures, dead letters, audits and spans."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.azure.telemetry.spans import NoSpansError, ReceivedSpans, WorkspaceSpans
from shared.models.queries.operations import FAILURES_ABOUT
from shared.models.queries.reports import REPORTS_OF_THREAD, SUMMARIES_OF_THREAD
from shared.models.queries.threads import THREADS_WITH_ARCHIVE
from shared.operations.audit import last_audits
from shared.operations.deadletters.diagnosis import diagnosed_dead_letters
from shared.operations.oversight.stuck_documents import find_anywhere
from shared.pipeline.topology import QUEUES

AUDITS_SEARCHED = 500
NO_WORKSPACE = "LOG_WORKSPACE_ID is not set. It names the workspace of Application Insights"

RELATED = {"archives": (THREADS_WITH_ARCHIVE,), "threads": (SUMMARIES_OF_THREAD, REPORTS_OF_THREAD)}
# The times that a document stores, and their events.
_TIMES = {
    "ingestion_date": "ingested",
    "created_at": "stored",
    "requeued_at": "requested again by the sweep or an operator",
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


async def read_timeline(
    clients: Clients, id_: str, telemetry: ReceivedSpans | WorkspaceSpans | None
) -> tuple[list[TimelineEntry], str | None]:
    """Return the entries in chronological order, and the reason if there are no spans."""
    found, spans = list[TimelineEntry](), list[dict[str, Any]]()
    without = None if telemetry else NO_WORKSPACE
    documents = await find_anywhere(clients, id_)
    for container, stored in documents:
        found += _of_document(container, stored)
        for query in RELATED.get(container, ()):
            rows = [row async for row in clients.store.query(query, Session(), id=id_)]
            found += [entry for row in rows for entry in _of_document(query.container, row)]
    async for row in clients.store.query(FAILURES_ABOUT, Session(), id=id_):
        how = f"{row['error_kind']}, {row['abandoned_reason']}, attempt {row.get('attempt', 1)}"
        what = f"failed ({how}): {row['last_error']}"
        found.append(TimelineEntry(_moment(row["timestamp"]), row["stage"], what, row.get("trace_id")))
    found += await _dead_letters(clients, id_)
    for audit in await last_audits(clients.store, AUDITS_SEARCHED):
        if id_ == audit.id or id_ in json.dumps(audit.selection):
            what = f"{audit.action} by {audit.actor}: {audit.status} ({audit.id})"
            found.append(TimelineEntry(audit.started_at, "operator", what))
    if telemetry is not None:
        try:
            spans = await telemetry.about(id_, [container for container, _ in documents])
        except NoSpansError as error:
            without = str(error)
    found += map(_of_span, spans)
    return sorted(set(found), key=lambda entry: (entry.at, entry.where)), without


def _of_document(container: str, stored: dict[str, Any]) -> list[TimelineEntry]:
    error = f": {stored['lastError']}" if stored.get("lastError") else ""
    attempt = f"attempt {stored.get('attemptCount', '?')}, now {stored.get('status', '?')}{error}"
    where, times = f"{container}/{stored['id']}", {**_TIMES, "lastAttemptTime": attempt}
    return [
        TimelineEntry(_moment(stored[name]), where, what)
        for name, what in times.items()
        if isinstance(stored.get(name), str)
    ]


async def _dead_letters(clients: Clients, id_: str) -> list[TimelineEntry]:
    wanted = id_.encode()
    found = []
    for diagnosed in await diagnosed_dead_letters(clients, QUEUES):
        dead_letter = diagnosed.dead_letter
        named = (
            dead_letter.message_id,
            dead_letter.properties.get("requeued_from"),
            dead_letter.properties.get("idempotency_key"),
            *str(dead_letter.properties.get("traceparent")).split("-"),
            diagnosed.cause.trace_id,
        )
        if id_ in named or wanted in dead_letter.copy.data():
            what = (
                f"dead letter {dead_letter.sequence_number} of {dead_letter.queue}: {diagnosed.cause.error}"
            )
            found.append(
                TimelineEntry(diagnosed.cause.seen_at, dead_letter.queue, what, diagnosed.cause.trace_id)
            )
    return found


def _of_span(span: dict[str, Any]) -> TimelineEntry:
    ended = f"{float(span['duration_ms']):,.0f} ms, {'ok' if span['success'] else 'failed'}"
    where = str(span["attributes"].get("pipeline.stage") or "telemetry")
    return TimelineEntry(_moment(span["start"]), where, f"span {span['name']}: {ended}", span["trace_id"])


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
