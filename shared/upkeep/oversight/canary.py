"""The canary: a small archive of our own that goes through now and then, and rings when it is late.

    store its note -> upload -> wait for its report -> delete it -> the next, when it is due

Its source has a name that no user can give, and is left out of lists, search, digests and webhooks. Its mail
is made of its note, so that a run which was broken off goes on with the same archive.
"""

import logging
from datetime import datetime, timedelta
from email.utils import format_datetime

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.clients.cosmos.store import Conflict
from shared.clients.telemetry.metrics import Metrics, pipeline_metrics
from shared.core.errors import DocumentNotFoundError
from shared.core.ids import archive_id, file_hash, removal_id
from shared.documents.removals import Removal
from shared.documents.runs import Run, RunStatus
from shared.documents.sources import CANARY_SOURCE
from shared.ingestion.uploads import Upload, take_upload
from shared.pipeline.progress import ArchiveProgress, archive_progress
from shared.pipeline.tombstones import DONE
from shared.pipeline.topology import REPORTING
from shared.upkeep.oversight.archive_why import why_not_done
from shared.upkeep.removal.requests import request_removal

log = logging.getLogger(__name__)
KIND = "canary"
ID = "latest"
BY = "canary"


async def last_canary(clients: Clients) -> Run | None:
    return await clients.store.find(Run, ID, KIND, Session())


async def tend_canary(clients: Clients, now: datetime, metrics: Metrics | None = None) -> None:
    """Look after the one that is under way; then send the next, where it is due."""
    note, interval = await last_canary(clients), timedelta(minutes=clients.settings.CANARY_INTERVAL_MINUTES)
    if not interval:
        await _ended_for_good(clients, note, now)
        return
    if note is not None and note.status is RunStatus.RUNNING:
        note = await _looked_after(clients, note, now, metrics or pipeline_metrics())
    if note is None or (note.status is not RunStatus.RUNNING and now - note.started_at >= interval):
        await _send(clients, note, now)


async def _ended_for_good(clients: Clients, note: Run | None, now: datetime) -> None:
    """None is asked for any more: what was there goes."""
    if note is not None:
        await _cleared_away(clients, note, now)
        await clients.store.delete(Run, ID, KIND, Session())


async def _send(clients: Clients, before: Run | None, now: datetime) -> None:
    if before is not None:
        await _cleared_away(clients, before, now)
    note = Run(
        id=ID,
        kind=KIND,
        requested_by="timer",
        started_at=now,
        created_at=now,
        cursor={"token": clients.runtime.new_id()},
        errors=before.errors if before is not None else [],  # of the last one that ended, until this one does
        examples=await _receipts_left(clients, before) if before is not None else [],
    )
    await clients.store.upsert(note, Session())
    await _upload(clients, note)


async def _upload(clients: Clients, note: Run) -> None:
    content = canary_mail(note)
    await take_upload(Upload(content, "canary.mbox", CANARY_SOURCE), clients)


async def _looked_after(clients: Clients, note: Run, now: datetime, metrics: Metrics) -> Run:
    try:
        progress = await archive_progress(clients, canary_archive(note))
    except DocumentNotFoundError:  # broken off before it was stored
        progress = None
    if progress is not None and _is_out(progress):
        return await _ended(clients, note, now, metrics)
    if now - note.started_at > timedelta(minutes=clients.settings.CANARY_BOUND_MINUTES):
        return await _ended(clients, note, now, metrics, await _why(clients, progress))
    if progress is None:
        await _upload(clients, note)
    return note


def _is_out(progress: ArchiveProgress) -> bool:
    """All of it is done, and nothing was given up."""
    return progress.complete and progress.stage(REPORTING.name).done > 0 and not progress.gaps


async def _why(clients: Clients, progress: ArchiveProgress | None) -> str:
    if progress is None:
        return "it could not be stored"
    held_up = (await why_not_done(clients, progress.archive_id)).obstacles
    if not held_up:
        return f"{progress.percent} % of its way is done"
    first = held_up[0]
    return f"it is held up in {first.stage}: {first.state}" + (f" ({first.error})" if first.error else "")


async def _ended(clients: Clients, note: Run, now: datetime, metrics: Metrics, late: str = "") -> Run:
    """It came out, or is late. What came out has served; the other stays for who looks into it."""
    ended = note.model_copy(
        update={
            "status": RunStatus.FAILED if late else RunStatus.SUCCEEDED,
            "finished_at": now,
            "errors": [late] if late else [],
        }
    )
    if await clients.store.replace(ended, Session()) is Conflict.CONFLICT:
        return note  # two runs of the housekeeping looked at once: the other one counts its end
    metrics.canary_runs.add(1, {"outcome": "late" if late else "out"})
    if late:
        log.error("canary archive %s did not come out: %s", canary_archive(note), late)
    else:
        metrics.canary_duration.record((now - note.started_at).total_seconds())
        await _cleared_away(clients, ended, now)
    return ended


async def _cleared_away(clients: Clients, note: Run, now: datetime) -> None:
    """Delete it with everything derived, where that is not done or asked for yet."""
    await request_removal(clients, "archive", canary_archive(note), requested_by=BY, now=now)


async def _receipts_left(clients: Clients, before: Run) -> list[dict[str, str]]:
    """Receipts of earlier ones, whose deletion is still under way. Those that are done go, or would pile up.

    A receipt is a tombstone for events in flight: there are none of a canary by the time of the next one.
    """
    left = []
    for known in [*before.examples, {"archive_id": canary_archive(before)}]:
        id_ = removal_id("archive", known["archive_id"])
        found = await clients.store.find(Removal, id_, id_, Session())
        if found is not None and found.status in DONE:
            await clients.store.delete(Removal, id_, id_, Session())
        elif found is not None:
            left.append(known)
    return left


def canary_archive(note: Run) -> str:
    """The id that its archive has."""
    return archive_id(file_hash(canary_mail(note)), CANARY_SOURCE)


def canary_mail(note: Run) -> bytes:
    """A question and its answer."""
    token, sent = note.cursor["token"], note.started_at
    subject, body = f"Canary {token}", "Does this archive come out of the pipeline?"
    answer = "It does, where this can be read."
    return _mail(token, sent, subject, body) + _mail(token, sent, f"Re: {subject}", answer, parent=token)


def _mail(token: str, sent: datetime, subject: str, body: str, *, parent: str | None = None) -> bytes:
    name = "answer" if parent else "question"
    lines = [
        f"From canary@canary.invalid {sent:%a %b %d %H:%M:%S %Y}",
        f"From: Canary's {name} <{name}@canary.invalid>",
        f"Date: {format_datetime(sent)}",
        f"Subject: {subject}",
        f"Message-ID: <{token}.{name}@canary.invalid>",
        *([f"In-Reply-To: <{parent}.question@canary.invalid>"] if parent else []),
    ]
    return "\n".join([*lines, "", body, "", ""]).encode()
