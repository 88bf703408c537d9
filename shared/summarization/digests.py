"""Refresh stale digests. The same content gives the same version, however often this runs."""

import hashlib
import heapq
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.azure.classify import classify
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.ids import digest_summary_id
from shared.core.times import stored_time
from shared.models.containers import read_document
from shared.models.queries.named_query import NamedQuery
from shared.models.queries.reports import DUE_DIGESTS
from shared.models.queries.threads import COUNT_OF_MESSAGES_WITHIN, THREADS_OF_DRAFT, THREADS_WITHIN
from shared.models.reports import (
    Digest,
    ReportedArchive,
    ReportedThread,
    Summary,
    SummaryClaim,
    SummaryMetadata,
)
from shared.models.threads import Chunk, Thread
from shared.models.values import Citation, SummaryType, Tier, rejoined
from shared.pipeline.event_builders import summary_complete
from shared.pipeline.event_types import SummaryComplete
from shared.pipeline.events import Event
from shared.pipeline.state.summaries import (
    clear_deleted_summary,
    fail_digest,
    finish_digest,
    name_digest,
    start_digest,
    withdraw_report,
)
from shared.reading.positions import OutcomeGroup, outcome_group
from shared.summaries.citations import verify_stored
from shared.summaries.digest_scopes import DigestScope, parse_scope
from shared.summaries.markdown import escape_markdown, render_html
from shared.summarization.report_document import evidence_of

MAX_SHOWN = 40


@dataclass(frozen=True, slots=True)
class DigestThread:
    thread: Thread
    summary: Summary


@dataclass(frozen=True, slots=True)
class Selected:
    """The threads that the digest shows, the newest first, and the number of all its threads and messages."""

    shown: list[DigestThread]
    threads: int = 0
    messages: int = 0


async def select_threads(clients: Clients, scope: DigestScope, session: Session) -> Selected:
    query, values = _query(scope)
    # Without new session tokens, a replica may lack the change that made the digest stale, and no later
    # change would mark it again.
    await clients.store.refresh(Thread, session)
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
    """Return whether a message is from the period. A thread can pause between its first and last message."""
    if scope.period is None:
        return True
    start, end = scope.period
    if any(date and start <= date < end for date in (thread.first_message_date, thread.last_message_date)):
        return True
    period = {"start": stored_time(start), "end": stored_time(end)}
    query = clients.store.query(COUNT_OF_MESSAGES_WITHIN, session, thread=thread.id, **period)
    return any([count async for count in query])


def _weight(thread: Thread) -> tuple[bool, bool, bool, int, str]:
    is_read = thread.consensus_type is not None
    return _is_decided(thread), thread.has_consensus, is_read, thread.message_count, _last(thread)


def _is_decided(thread: Thread) -> bool:
    return thread.outcome is not None and thread.outcome.tier is Tier.SAID


async def _with_summaries(clients: Clients, threads: list[Thread], session: Session) -> list[DigestThread]:
    keys = [(str(thread.summary_id), thread.id) for thread in threads]
    await clients.store.refresh(Summary, session)
    found = await clients.store.find_many_in(Summary, keys, session)
    pairs = [
        DigestThread(thread, found[thread.summary_id]) for thread in threads if thread.summary_id in found
    ]
    return sorted(pairs, key=lambda entry: (_last(entry.thread), entry.thread.id), reverse=True)


def _last(thread: Thread) -> str:
    return stored_time(thread.last_message_date) if thread.last_message_date else ""


# The number of claims from each thread.
CLAIMS = {SummaryType.WEEKLY: 3, SummaryType.CONSENSUS: 5, SummaryType.DRAFT_FOCUSED: 4}
_ORDER = (
    "decisions", "dissent", "agreed", "possible decisions", "concerns", "open issues", "proposals",
    "key points",
)  # fmt: skip


@dataclass
class Composed:
    claims: list[SummaryClaim] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    markdown: str = ""


def content_hash(selected: Selected) -> str:
    """Return a hash of the summaries in the digest and of the counts in its opening."""
    made_of = [[entry.thread.id, entry.summary.id] for entry in selected.shown]
    text = json.dumps([made_of, selected.threads, selected.messages])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compose(scope: DigestScope, selected: Selected, chunk_texts: Mapping[str, str]) -> Composed:
    """Compose the text and the claims whose every citation still matches its chunk."""
    composed, parts = Composed(), dict[OutcomeGroup, list[str]]()
    for entry in selected.shown:
        before = len(composed.claims)
        for claim in _select_claims(scope, entry):
            _add(composed, entry, claim, chunk_texts)
        parts.setdefault(_group(entry), []).extend(_thread_lines(entry, composed.claims[before:]))
    composed.markdown = "\n".join(_lines(scope, selected, parts, composed)).rstrip() + "\n"
    return composed


def _select_claims(scope: DigestScope, entry: DigestThread) -> list[SummaryClaim]:
    """Return the most important claims: first claims on the draft, then decisions and objections."""

    def weight(claim: SummaryClaim) -> tuple[bool, int]:
        quotes = " ".join(entry.summary.citations[index].quote for index in claim.citations)
        on_topic = scope.draft is not None and scope.draft.lower() in f"{claim.text} {quotes}".lower()
        return not on_topic, _ORDER.index(claim.section) if claim.section in _ORDER else len(_ORDER)

    return sorted(entry.summary.claims, key=weight)[: CLAIMS[scope.kind]]


def _add(
    composed: Composed, entry: DigestThread, claim: SummaryClaim, chunk_texts: Mapping[str, str]
) -> None:
    """Add the claim to the digest, unless one of its citations is no longer valid."""
    cited = [entry.summary.citations[index] for index in claim.citations]
    if verify_stored(cited, chunk_texts):
        return
    indexes = []
    for citation in cited:
        of_thread = citation.model_copy(update={"thread_id": entry.thread.id})
        if of_thread not in composed.citations:
            composed.citations.append(of_thread)
        indexes.append(composed.citations.index(of_thread))
    composed.claims.append(claim.model_copy(update={"citations": indexes, "thread_id": entry.thread.id}))


def _group(entry: DigestThread) -> OutcomeGroup:
    """Return the outcome group that the thread's own report shows."""
    reading = entry.summary.reading
    return outcome_group(
        has_consensus=reading is not None and reading.has_consensus,
        kind=reading.outcome.kind if reading else None,
        tier=reading.outcome.tier if reading else Tier.REMARK,
        divided=entry.thread.consensus_type,
    )


def _thread_lines(entry: DigestThread, claims: Sequence[SummaryClaim]) -> list[str]:
    people = len(entry.thread.participants)
    statistics = f"{_plural(entry.thread.message_count, 'message')}, {_plural(people, 'participant')}."
    reading = entry.summary.reading
    outcome = [f"**{escape_markdown(reading.outcome.shown.headline)}**", ""] if reading else []
    lines = [f"### {escape_markdown(entry.summary.title)}", "", *outcome, statistics, ""]
    lines += map(_item, claims)
    return [*lines, ""] if claims else lines


def _item(claim: SummaryClaim) -> str:
    speaker = f"**{escape_markdown(claim.speaker)}**: " if claim.speaker else ""
    marks = " ".join(f"[[{index + 1}]](#citation-{index + 1})" for index in claim.citations)
    return f"- {speaker}{escape_markdown(rejoined(claim.text))} {marks}"


def _lines(
    scope: DigestScope, selected: Selected, parts: Mapping[OutcomeGroup, list[str]], composed: Composed
) -> Iterator[str]:
    yield from (f"# {escape_markdown(scope.title)}", "", _opening(selected), "")
    for group in OutcomeGroup:
        if group in parts:
            yield from (f"## {group}", "", *parts[group])
    yield from ("## Citations", "")
    for number, citation in enumerate(composed.citations, 1):
        quote, message = escape_markdown(rejoined(citation.quote)), escape_markdown(citation.message_id)
        yield f'{number}. <a id="citation-{number}"></a>“{quote}” ({message})'
    if not composed.citations:
        yield "None."


def _opening(selected: Selected) -> str:
    hidden = selected.threads - len(selected.shown)
    more = (
        f" The {_plural(hidden, 'thread')} with less activity or no outcome are not shown." if hidden else ""
    )
    reached = sum(_group(entry) is OutcomeGroup.AGREED for entry in selected.shown)
    return (
        f"**{_plural(selected.threads, 'thread')}**, {_plural(selected.messages, 'message')};"
        f" consensus in {reached} of the threads below.{more}"
    )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


log = logging.getLogger(__name__)
MODEL, TEMPLATE = "digest-v1", "{}-digest-v1"
MAX_A_RUN = 200


async def refresh_due(clients: Clients, now: datetime, limit: int = MAX_A_RUN) -> list[str]:
    """Refresh stale digests, and digests whose report is missing, up to the limit. Return their names."""
    settings = clients.settings
    found = clients.store.query(
        DUE_DIGESTS,
        Session(),
        limit=limit,
        silent_before=now.timestamp() - settings.RETRY_JOB_MAX_DELAY_SECONDS,
        most=settings.RETRY_JOB_MAX_ATTEMPTS_THREADS,
    )
    due, failures = [row["scope"] async for row in found], []
    for scope in due:
        try:
            await refresh_digest(clients, parse_scope(scope), now)
        except Exception as error:
            log.exception("The digest %s could not be refreshed", scope)
            await fail_digest(clients.store, parse_scope(scope).id, classify(error), now)
            failures.append(error)
    if failures:
        raise failures[0]
    return due


async def refresh_digest(clients: Clients, scope: DigestScope, now: datetime) -> Summary | None:
    """Refresh the digest, and announce it if it changed. Return None if it has no thread to show."""
    store, session = clients.store, Session()
    digest = await _begin(clients, scope, now)
    selected = await select_threads(clients, scope, session)
    digest = await clear_deleted_summary(store, digest, now, session)
    summary = await _store(clients, scope, selected, now, session) if selected.shown else None
    number = await name_digest(store, digest, summary.id if summary else None, now, session)
    if number is None:
        log.info("Another refresh of %s was faster", scope.name)
        return summary
    if summary is None:
        await withdraw_report(store, scope.name, None, session)
    else:
        complete = announcement(summary, number)
        await clients.bus.publish([Event.of(complete, session=session.tokens(), now=now)])
    await finish_digest(store, digest)
    return summary


async def _begin(clients: Clients, scope: DigestScope, now: datetime) -> Digest:
    """Note the changes that this refresh includes, before it reads any thread."""
    store = clients.store
    await store.create(Digest(id=scope.id, scope=scope.name, created_at=now), Session())
    digest = await store.read(Digest, scope.id, Session())
    await start_digest(store, digest)
    return digest


async def _store(
    clients: Clients, scope: DigestScope, selected: Selected, now: datetime, session: Session
) -> Summary:
    version = content_hash(selected)
    id_ = digest_summary_id(scope.name, version, TEMPLATE.format(scope.kind), MODEL)
    known = await clients.store.find(Summary, id_, session, partition=scope.name)
    if known is None:
        composed = compose(scope, selected, await _chunk_texts(clients, selected, session))
        evidence = await evidence_of(clients, [entry.thread for entry in selected.shown], session)
        known = _document(id_, scope, version, selected, composed, evidence, now)
        await clients.store.create(known, session)
    return known


async def _chunk_texts(clients: Clients, selected: Selected, session: Session) -> dict[str, str]:
    keys = {citation.chunk_id for entry in selected.shown for citation in entry.summary.citations}
    await clients.store.refresh(Chunk, session)
    found = await clients.store.find_many(Chunk, sorted(keys), session)
    return {id_: chunk.text for id_, chunk in found.items()}


def _document(
    id_: str,
    scope: DigestScope,
    version: str,
    selected: Selected,
    composed: Composed,
    evidence: list[ReportedArchive],
    now: datetime,
) -> Summary:
    threads = [entry.thread for entry in selected.shown]
    firsts = [thread.first_message_date for thread in threads if thread.first_message_date]
    lasts = [thread.last_message_date for thread in threads if thread.last_message_date]
    return Summary(
        id=id_,
        summary_id=id_,
        scope=scope.name,
        thread_id=None,
        thread_ids=[thread.id for thread in threads],
        summary_type=scope.kind,
        title=scope.title,
        content_markdown=composed.markdown,
        content_html=render_html(composed.markdown),
        citations=composed.citations,
        claims=composed.claims,
        generated_by=MODEL,
        generated_at=now,
        created_at=now,
        content_hash=version,
        evidence=evidence,
        prompt_template=TEMPLATE.format(scope.kind),
        metadata=SummaryMetadata(
            source=scope.source,
            draft_mentions=[scope.draft] if scope.draft else [],
            label=scope.label,
            threads=selected.threads,
            messages=selected.messages,
            outcomes=[_reported(entry) for entry in selected.shown],
            first_message_date=min(firsts, default=None),
            last_message_date=max(lasts, default=None),
        ),
    )


def _reported(entry: DigestThread) -> ReportedThread:
    reading = entry.summary.reading
    return ReportedThread(
        thread_id=entry.thread.id,
        title=entry.summary.title,
        outcome=reading.shown_outcome if reading else None,
        last_message_date=entry.thread.last_message_date,
        read_at=entry.summary.generated_at,
    )


def announcement(summary: Summary, number: int) -> SummaryComplete:
    return summary_complete(summary, number, backend="extractive", model=summary.generated_by)
