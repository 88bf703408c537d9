"""Which threads a digest shows: those of its period or draft in which the most was settled or said."""

import heapq
from dataclasses import dataclass
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.times import stored_time
from shared.documents.containers import read_document
from shared.documents.queries.named_query import NamedQuery
from shared.documents.queries.threads import COUNT_OF_MESSAGES_WITHIN, THREADS_OF_DRAFT, THREADS_WITHIN
from shared.documents.reports import Summary
from shared.documents.threads import Thread
from shared.documents.values import SummaryType, Tier
from shared.domain.summaries.digest_scopes import DigestScope

MAX_SHOWN = 40


@dataclass(frozen=True, slots=True)
class DigestThread:
    thread: Thread
    summary: Summary


@dataclass(frozen=True, slots=True)
class Selected:
    """Those that are shown, the newest first; and how many there are, and how many messages they have."""

    shown: list[DigestThread]
    threads: int = 0
    messages: int = 0


async def select_threads(clients: Clients, scope: DigestScope, session: Session) -> Selected:
    query, values = _query(scope)
    # The touch that led here tells of a change that a replica may not show yet, and nobody touches it again.
    await clients.store.catch_up_all(Thread, session)
    best: list[tuple[Any, ...]] = []
    threads = messages = 0
    async for stored in clients.store.query(query, session, **values):
        thread = read_document(Thread, stored)
        if not _is_summarised(thread, scope) or not await _is_active(clients, thread, scope, session):
            continue
        threads, messages = threads + 1, messages + thread.message_count
        item = (_weight(thread), thread.id, thread)
        (heapq.heappush if len(best) < MAX_SHOWN else heapq.heappushpop)(best, item)
    shown = await _with_summaries(clients, [item[-1] for item in best], session)
    return Selected(shown, threads, messages)


def _query(scope: DigestScope) -> tuple[NamedQuery, dict[str, Any]]:
    if scope.draft is not None:
        version = f"{scope.draft}-"
        return THREADS_OF_DRAFT, {"draft": scope.draft, "version": version, "length": len(version) + 2}
    if scope.period is None:
        raise ValueError(f"{scope.name} has neither a draft nor a period")
    start, end = scope.period
    return THREADS_WITHIN, {"source": scope.source, "start": stored_time(start), "end": stored_time(end)}


def _is_summarised(thread: Thread, scope: DigestScope) -> bool:
    if thread.summary_id is None:
        return False
    took_stances = thread.has_consensus or thread.consensus_type is not None
    return took_stances or _is_decided(thread) or scope.kind is not SummaryType.CONSENSUS


async def _is_active(clients: Clients, thread: Thread, scope: DigestScope, session: Session) -> bool:
    """Whether somebody wrote in the period: a thread can be silent between its first and its last mail."""
    if scope.period is None:
        return True
    start, end = scope.period
    if any(date and start <= date < end for date in (thread.first_message_date, thread.last_message_date)):
        return True
    period = {"start": stored_time(start), "end": stored_time(end)}
    query = clients.store.query(COUNT_OF_MESSAGES_WITHIN, session, partition_value=thread.id, **period)
    return any([count async for count in query])


def _weight(thread: Thread) -> tuple[bool, bool, bool, int, str]:
    return (
        _is_decided(thread),
        thread.has_consensus,
        thread.consensus_type is not None,
        thread.message_count,
        _last(thread),
    )


def _is_decided(thread: Thread) -> bool:
    return thread.outcome is not None and thread.outcome.tier is Tier.SAID


async def _with_summaries(clients: Clients, threads: list[Thread], session: Session) -> list[DigestThread]:
    keys = [(str(thread.summary_id), thread.id) for thread in threads]
    await clients.store.catch_up(Summary, [thread.id for thread in threads], session)
    found = await clients.store.find_many(Summary, keys, session)
    pairs = [
        DigestThread(thread, found[thread.summary_id])
        for thread in threads
        if thread.summary_id in found and not found[thread.summary_id].outdated
    ]
    return sorted(pairs, key=lambda entry: (_last(entry.thread), entry.thread.id), reverse=True)


def _last(thread: Thread) -> str:
    return stored_time(thread.last_message_date) if thread.last_message_date else ""
