"""Makes the digests that were touched: one version for each content, however often this runs."""

import logging
from datetime import datetime

from shared.clients.classify import classify
from shared.clients.connections import Clients
from shared.clients.cosmos.session import Session
from shared.core.ids import digest_summary_id
from shared.core.times import stored_time
from shared.documents.queries.reports import TOUCHED_DIGESTS
from shared.documents.reports import Digest, ReportedThread, Summary
from shared.documents.threads import Chunk
from shared.domain.summaries.digest_scopes import DigestScope, parse_scope
from shared.domain.summaries.html import render_html
from shared.pipeline.event_types import SummaryComplete
from shared.pipeline.events.builders import summary_complete
from shared.pipeline.events.envelope import Event
from shared.pipeline.lifecycle.digests import digest_failed, digest_made, digest_named, digest_started
from shared.pipeline.lifecycle.summaries import digest_flags_settled, summary_revived
from shared.summarization.digests.composing import Composed, compose, content_hash
from shared.summarization.digests.selection import DigestThread, Selected, select_threads

log = logging.getLogger(__name__)
MODEL = "digest-v1"
MAX_A_RUN = 200


async def refresh_due(clients: Clients, now: datetime, limit: int = MAX_A_RUN) -> list[str]:
    """Make those that were touched since they were made, as many as the limit allows; which they were."""
    touched = clients.store.query(TOUCHED_DIGESTS, Session(), limit=limit)
    due, failures = [row["scope"] async for row in touched], []
    for scope in due:
        try:
            await refresh_digest(clients, parse_scope(scope), now)
        except Exception as error:
            log.exception("The digest %s could not be made", scope)
            await digest_failed(clients.store, parse_scope(scope).id, classify(error), now)
            failures.append(error)
    if failures:
        raise failures[0]
    return due


async def refresh_digest(clients: Clients, scope: DigestScope, now: datetime) -> Summary | None:
    """The digest as it has to be now; None where there is nothing to say. It is announced if it is new."""
    store, session = clients.store, Session()
    digest = await _begin(clients, scope, now)
    selected = await select_threads(clients, scope, session)
    summary = await _stored(clients, scope, selected, now, session) if selected.shown else None
    is_last = await digest_named(store, digest, summary.id if summary else None, session)
    await digest_flags_settled(store, scope.name, session)
    if not is_last:
        log.info("A later refresh of %s was faster", scope.name)
        return summary
    if summary is not None:
        await clients.bus.publish([Event.of(announcement(summary), session=session.tokens(), now=now)])
    await digest_made(store, digest)
    return summary


async def _begin(clients: Clients, scope: DigestScope, now: datetime) -> Digest:
    """Note which touches this refresh has seen, before it looks at any thread."""
    store = clients.store
    await store.create(Digest(id=scope.id, scope=scope.name, created_at=now), Session())
    digest = await store.read(Digest, scope.id, scope.id, Session())
    await digest_started(store, digest)
    return digest


async def _stored(
    clients: Clients, scope: DigestScope, selected: Selected, now: datetime, session: Session
) -> Summary:
    version = content_hash(selected)
    id_ = digest_summary_id(scope.name, version, _template(scope), MODEL)
    known = await clients.store.find(Summary, id_, scope.name, session)
    if known is None:
        composed = compose(scope, selected, await _chunk_texts(clients, selected, session))
        known = _document(id_, scope, version, selected, composed, now)
        await clients.store.create(known, session)
    elif known.outdated:
        known = await summary_revived(clients.store, known, now, session)
    return known


def _template(scope: DigestScope) -> str:
    return f"{scope.kind.value}-digest-v1"


async def _chunk_texts(clients: Clients, selected: Selected, session: Session) -> dict[str, str]:
    keys = {
        (citation.chunk_id, entry.thread.id)
        for entry in selected.shown
        for citation in entry.summary.citations
    }
    await clients.store.catch_up(Chunk, {thread for _, thread in keys}, session)
    found = await clients.store.find_many(Chunk, sorted(keys), session)
    return {id_: chunk.text for id_, chunk in found.items()}


def _document(
    id_: str, scope: DigestScope, version: str, selected: Selected, composed: Composed, now: datetime
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
        outdated=True,  # until it is named
        prompt_template=_template(scope),
        metadata={
            "source": scope.source,
            "draft_mentions": [scope.draft] if scope.draft else [],
            "label": scope.label,
            "threads": selected.threads,
            "messages": selected.messages,
            "outcomes": [_reported(entry).model_dump(mode="json") for entry in selected.shown],
            "first_message_date": stored_time(min(firsts)) if firsts else None,
            "last_message_date": stored_time(max(lasts)) if lasts else None,
        },
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


def announcement(summary: Summary) -> SummaryComplete:
    return summary_complete(summary, backend="extractive", model=summary.generated_by)
