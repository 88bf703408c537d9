"""The part of one thread in the deletion of an archive: found, counted and removed.

A commit takes the archive's messages out of the thread. Everything derived is deleted next, then messages
that no other archive contains, and last the entries, by which an interrupted deletion is resumed.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.azure.cosmos.store import Store
from shared.azure.servicebus.bus import to_message
from shared.core.ids import message_key
from shared.core.times import stored_time
from shared.models.containers import read_document
from shared.models.queries.named_query import NamedQuery
from shared.models.queries.operations import FAILURES_OF_THREAD
from shared.models.queries.reports import (
    REPORTS_ABOUT,
    REPORTS_PUBLISHED_SINCE,
    SUMMARIES_ABOUT,
    THREAD_SUMMARIES_MADE_SINCE,
)
from shared.models.queries.threads import (
    CHUNKS_OF_KEYS,
    MESSAGES_BY_KEY,
    REDIRECTS_TO,
    STORED_COPIES,
    STORED_LABELS,
)
from shared.models.records import FailureRecord
from shared.models.reports import Report, Summary
from shared.models.sources import Archive
from shared.models.threads import Chunk, Message, Thread
from shared.operations.requeue import request_summary
from shared.pipeline.event_builders import archive_ingested
from shared.pipeline.events import Event
from shared.pipeline.readiness import member_keys
from shared.pipeline.stage import DocumentRef
from shared.pipeline.state.attempts import reopen_document
from shared.pipeline.state.summaries import delete_orphan_report
from shared.pipeline.topology import PARSING
from shared.summaries.digest_scopes import DigestScope, parse_scope
from shared.summarization.digest_touching import touch
from shared.thread_store.chunk_sets import LABELS, delete_chunks, delete_stale, index_labels, label_chunks
from shared.thread_store.commit import ThreadCommit
from shared.thread_store.finishing import announce_moves
from shared.thread_store.message_writer import MessagesChangedError, MessageWriter, cross_post_changes

Rows = list[dict[str, Any]]
MAX_DELETE_ATTEMPTS = 5  # other workers set a flag of a summary at the same time


@dataclass
class ThreadPart:
    """The documents of an archive in one thread. Messages are named by their keys."""

    archive: str
    source: str
    thread_id: str
    thread: Thread | None
    entries: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # all messages of the archive in this thread
    gone: dict[str, str] = field(
        default_factory=dict
    )  # messages that no other archive contains in the same form, with their Message-IDs
    posts_gone: list[str] = field(default_factory=list)  # the keys of these messages in other sources
    read_again: set[str] = field(default_factory=set)  # archives with another copy of a deleted message
    staying: set[str] = field(default_factory=set)  # all remaining messages of the thread
    chunks_gone: Rows = field(default_factory=list)
    summaries: Rows = field(default_factory=list)
    reports: Rows = field(default_factory=list)
    failures: Rows = field(default_factory=list)
    redirects: list[str] = field(default_factory=list)  # ids of threads that were merged into this thread

    @property
    def shared(self) -> list[str]:
        return sorted(self.entries.keys() - self.gone.keys())

    @property
    def loses_messages(self) -> bool:
        """Return whether the thread loses messages, now or before a crash. A summary may quote them."""
        return bool(self.gone or self.chunks_gone)

    def digests(self) -> list[DigestScope]:
        scopes = {summary["scope"] for summary in self.summaries} - {self.thread_id, *self.redirects}
        return [parse_scope(scope) for scope in sorted(scopes)]

    def tally(self) -> dict[str, int]:
        return {
            "messages": len(self.gone),
            "messages_kept": len(self.shared),
            "chunks": len(self.chunks_gone),
            "vectors": sum(bool(chunk["embedding_generated"]) for chunk in self.chunks_gone),
            "summaries": len(self.summaries),
            "reports": len(self.reports),
            "failures": len(self.failures),
            "threads": int(not self.staying and self.thread is not None),
            "threads_rebuilt": int(self.loses_messages and bool(self.staying)),
        }


async def find_part(
    clients: Clients, archive: str, source: str, thread_id: str, entries: Rows, session: Session
) -> ThreadPart:
    """Return the part. `entries` are the entries of the archive's messages in this thread."""
    store = clients.store
    for model in (Thread, Message, Chunk, Summary, Report):
        await store.refresh(model, session)
    thread = await store.find(Thread, thread_id, session)
    part = ThreadPart(archive, source, thread_id, thread)
    part.entries = {entry["id"].partition("-")[2]: entry for entry in entries}
    rows = await store.query_by_ids(STORED_LABELS, sorted(part.entries), session)
    variants = {row["id"]: row["variant"] for row in rows}
    for key, entry in part.entries.items():
        others = set(entry["archives"]) - {archive}
        copies = other_copies(entry, archive)
        # The copy of another archive is different, so it is parsed from there.
        if not others or not copies or copies[0]["variant"] != variants.get(key, copies[0]["variant"]):
            part.gone[key] = entry["message_id"]
            part.posts_gone.append(message_key(entry["message_id"]))
            part.read_again |= others
    members = set(member_keys(thread)) if thread is not None else set[str]()
    part.staying = members - part.gone.keys()
    part.chunks_gone = await store.query_by_ids(CHUNKS_OF_KEYS, sorted(part.gone), session)
    if part.loses_messages:
        await _find_derived(clients, part, session)
    return part


def other_copies(entry: dict[str, Any], archive: str) -> Rows:
    return [copy for copy in entry["copies"] if copy["archive_id"] != archive]


async def _find_derived(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Find summaries, reports and failures of the thread and of merged threads, which quote the messages."""

    async def rows(query: NamedQuery, thread: str) -> list[Any]:
        return [row async for row in clients.store.query(query, session, thread=thread)]

    names = [part.thread_id]
    found: tuple[dict[str, dict[str, Any]], ...] = ({}, {}, {})
    for name in names:  # the list grows because redirects can form a chain
        names += await rows(REDIRECTS_TO, name)
        for query, rows_by_id in zip(
            (SUMMARIES_ABOUT, REPORTS_ABOUT, FAILURES_OF_THREAD), found, strict=True
        ):
            rows_by_id.update({row["id"]: row for row in await rows(query, name)})
    part.summaries, part.reports, part.failures = (list(rows_by_id.values()) for rows_by_id in found)
    part.redirects = names[1:]


async def delete_summary(store: Store, row: dict[str, Any], session: Session) -> None:
    """Delete the summary unless it was created again. A paused worker may find newer summaries."""
    for _ in range(MAX_DELETE_ATTEMPTS):
        await store.refresh(Summary, session)
        found = await store.find(Summary, row["id"], session, partition=row["scope"])
        if found is None or stored_time(found.created_at) != row["created_at"]:
            return
        if await store.delete(Summary, found.id, session, partition=found.scope, etag=found.etag):
            return


async def remove_part(
    clients: Clients,
    part: ThreadPart,
    progress: Callable[[str], None],
    session: Session,
    check: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Remove the part, with the entries last. `check` is called before each commit."""
    commit = ThreadCommit(clients, part.source, session)
    await touch(clients, part.digests())
    if not await _take_out_of_thread(clients, commit, part, session, check):
        await _keep_new_summaries(clients, part, session)
    progress("committed")
    await _delete_derived(clients, part, progress, session)
    await _reopen_archives(clients, part, session)
    await _delete_messages(clients, part, session)
    conflicts = await _update_other_sources(clients, part, session)
    progress("messages")
    writer = MessageWriter(clients, commit.state, session, labels_chunks=True)
    await commit.take_out([f"id-{key}" for key in part.shared], part.archive)
    await writer.write(part.shared, {})
    await relabel(clients, part.shared, session)
    progress("shared")
    result = await commit.finish_open()
    await announce_moves(clients, commit, result, session)
    for thread_id in sorted({*conflicts, *result.moved.values()}):
        await request_summary(clients, thread_id, session)
    await commit.take_out([f"id-{key}" for key in sorted(part.gone)], part.archive)
    await writer.write(part.gone.keys(), {})
    await _request_parsing(clients, part, session)
    await touch(clients, part.digests())  # again, because a refresh may have started since the first call
    progress("entries")


async def _take_out_of_thread(
    clients: Clients,
    commit: ThreadCommit,
    part: ThreadPart,
    session: Session,
    check: Callable[[], Awaitable[None]] | None,
) -> bool:
    """Return False if another run has already taken the messages out of the thread."""

    async def load(keys: Sequence[str]) -> list[Message]:
        rows = await clients.store.query_by_ids(MESSAGES_BY_KEY, keys, session)
        return [read_document(Message, row) for row in rows]

    nodes, names = set(part.gone.values()), [part.thread_id, *part.redirects]
    await commit.state.read()
    await commit.forget(await commit.entries_of_these_alone(part.thread_id, nodes), names)
    plan = await commit.remove(
        part.thread_id, nodes, load, archive_id=part.archive, redirects=part.redirects, check=check
    )
    for redirect in part.redirects:
        await commit.remove(redirect, (), load, archive_id=part.archive)
    return plan.takes_out


async def _keep_new_summaries(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Keep summaries that were created after another run had removed the messages from the thread."""
    await clients.store.refresh(Thread, session)
    thread = await clients.store.find(Thread, part.thread_id, session)
    if thread is None or thread.merged_into is not None:
        return
    created_at = stored_time(thread.created_at)
    part.summaries = [
        row for row in part.summaries if row["created_at"] < created_at and row["id"] != thread.summary_id
    ]


async def _delete_derived(
    clients: Clients, part: ThreadPart, progress: Callable[[str], None], session: Session
) -> None:
    store = clients.store
    await delete_chunks(clients, part.chunks_gone, session)
    progress("chunks")
    for row in part.summaries:
        await delete_summary(store, row, session)
    # Include reports that were published since. A publisher checks for the summary after it publishes.
    published = {(row["id"], row["scope"]) for row in part.summaries}
    known = {(row["summary_id"], row["scope"]) for row in part.reports}
    for summary_id, scope in sorted(published | known):
        # The report of a summary that was created again was also published again.
        await delete_orphan_report(store, summary_id, scope, session)
    for failure in part.failures:
        await store.delete(FailureRecord, failure["id"], session, partition=failure["stage"])
    progress("derived")


async def _delete_messages(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Delete the messages, unless another archive has stored its own copy since."""
    store, left = clients.store, set(part.gone)
    for _ in range(MAX_DELETE_ATTEMPTS):
        rows = await store.query_by_ids(STORED_LABELS, sorted(left), session)
        left = set()
        for row in rows:
            copies = other_copies(part.entries[row["id"]], part.archive)
            is_read_again = bool(copies) and copies[0]["variant"] == row["variant"]
            if not is_read_again and not await store.delete(Message, row["id"], session, etag=row["_etag"]):
                left.add(row["id"])
        if not left:
            return
        await store.refresh(Message, session)
    raise MessagesChangedError


async def relabel(clients: Clients, keys: Sequence[str], session: Session) -> None:
    """Give chunks and vectors the labels of their messages. Delete chunks without a message."""
    await delete_stale(clients, keys, session)
    messages = {row["id"]: row for row in await clients.store.query_by_ids(STORED_LABELS, keys, session)}
    labelled = await label_chunks(clients, messages, session, is_announced=False)
    embedded = [
        {**row, **{name: messages[row["message_key"]][name] for name in LABELS}}
        for row in labelled
        if row["embedding_generated"]
    ]
    await index_labels(clients, embedded, session)


async def _update_other_sources(clients: Clients, part: ThreadPart, session: Session) -> set[str]:
    """Update copies in other sources. Return the threads in which a conflict between copies is resolved."""
    store, threads = clients.store, set[str]()
    for _ in range(MAX_DELETE_ATTEMPTS):
        await store.refresh(Message, session)
        rows = await store.query_by_ids(STORED_COPIES, sorted(set(part.posts_gone)), session)
        patches = []
        for row in rows:
            others = [other for other in rows if other["post_id"] == row["post_id"]]
            others = [other for other in others if other["source"] != row["source"]]
            changed = cross_post_changes(row, others)
            if changed:
                patches.append(Patch(row["id"], set=changed, etag=row["_etag"]))
                threads |= {row["thread_id"]} if "conflicts" in changed else set()
        if not patches:
            return threads
        await store.patch_all(Message, patches, session)
    raise MessagesChangedError


async def _reopen_archives(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Reopen archives that must be parsed again, so that the sweep requests them after a crash."""
    for archive_id in sorted(part.read_again):
        archive = await clients.store.find(Archive, archive_id, session)
        if archive is not None and not archive.removing:
            why = f"parsed again: archive {part.archive}, which had the same messages, was deleted"
            subject = DocumentRef(Archive, archive_id)
            await reopen_document(clients.store, subject, session, attempts=1, error=why, also={})


async def _request_parsing(clients: Clients, part: ThreadPart, session: Session) -> None:
    for archive_id in sorted(part.read_again):
        archive = await clients.store.find(Archive, archive_id, session)
        if archive is None or archive.removing:
            continue
        now = clients.runtime.now()
        ingested = archive_ingested(
            archive_id, archive.to_cosmos(), started_at=archive.ingestion_date, completed_at=now
        )
        event = Event.of(ingested, session=session.tokens(), attempt=2, now=now)
        await clients.bus.send_to_queue(PARSING.name, [to_message(event)])


LATE_AFTER = timedelta(minutes=20)  # longer than a host pauses and a request takes
LATE_UNTIL = timedelta(days=7)
MADE_BEFORE = timedelta(hours=1)  # late writes were created before the deletion began


async def delete_late_summaries(clients: Clients, since: datetime, session: Session) -> None:
    """Delete late summaries of threads that are deleted or created again. They may quote deleted messages."""
    store = clients.store
    rows = [
        row
        async for row in store.query(
            THREAD_SUMMARIES_MADE_SINCE, session, since=stored_time(since - MADE_BEFORE)
        )
        if row["scope"] == row["thread_id"]
    ]
    scopes = sorted({row["scope"] for row in rows})
    await store.refresh(Thread, session)
    threads = await store.find_many(Thread, scopes, session)
    for row in rows:
        if _is_late(row, threads.get(row["scope"])):
            await delete_summary(store, row, session)


def _is_late(row: dict[str, Any], thread: Thread | None) -> bool:
    if thread is None:
        return True
    made_before = bool(row["created_at"] < stored_time(thread.created_at))
    return thread.summary_id != row["id"] and made_before


async def delete_late_reports(clients: Clients, since: datetime, session: Session) -> None:
    """Delete reports whose summary was deleted. A summary is stored before its report."""
    store = clients.store
    rows = [
        row
        async for row in store.query(REPORTS_PUBLISHED_SINCE, session, since=stored_time(since - MADE_BEFORE))
    ]
    await store.refresh(Summary, session)
    summaries = await store.find_many_in(
        Summary, [(row["summary_id"], row["scope"]) for row in rows], session
    )
    for row in rows:
        if row["summary_id"] not in summaries:
            await delete_orphan_report(store, row["summary_id"], row["scope"], session)
