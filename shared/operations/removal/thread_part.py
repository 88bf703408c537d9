"""One thread's part in the deletion of an archive: found, counted, removed; the rest of it linked again.

What an archive has is known by the entries of the message ids that name it. A commit takes these messages
out of their thread. Then everything derived goes, then the messages, each on the condition that no other
archive has brought it since, and last the entries: so a deletion that broke off finds all that it has to go
on with.
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
MAX_DELETE_ATTEMPTS = 5  # others set a summary's flag at the same time


@dataclass
class ThreadPart:
    """What an archive has in one thread. Messages are named by their keys."""

    archive: str
    source: str
    thread_id: str
    thread: Thread | None
    entries: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # of all messages that the archive has here
    gone: dict[str, str] = field(default_factory=dict)  # those that no other archive has so, and their nodes
    posts_gone: list[str] = field(default_factory=list)  # what other sources know them by
    read_again: set[str] = field(default_factory=set)  # archives with another copy of a message that goes
    staying: set[str] = field(default_factory=set)  # all messages of the thread that stay
    chunks_gone: Rows = field(default_factory=list)
    summaries: Rows = field(default_factory=list)
    reports: Rows = field(default_factory=list)
    failures: Rows = field(default_factory=list)
    redirects: list[str] = field(default_factory=list)  # ids of threads that were merged into this one

    @property
    def shared(self) -> list[str]:
        return sorted(self.entries.keys() - self.gone.keys())

    @property
    def loses(self) -> bool:
        """Whether the thread loses messages, now or before a crash: then a summary may quote them."""
        return bool(self.gone or self.chunks_gone)

    def digests(self) -> list[DigestScope]:
        """The digests that cover the thread: they are made again without it."""
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
            "threads_rebuilt": int(self.loses and bool(self.staying)),
        }


async def find_part(
    clients: Clients, archive: str, source: str, thread_id: str, entries: Rows, session: Session
) -> ThreadPart:
    """`entries` are those of the archive's messages in this thread."""
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
        # What another archive has is not the same: it is read from there.
        if not others or not copies or copies[0]["variant"] != variants.get(key, copies[0]["variant"]):
            part.gone[key] = entry["message_id"]
            part.posts_gone.append(message_key(entry["message_id"]))
            part.read_again |= others
    members = set(member_keys(thread)) if thread is not None else set[str]()
    part.staying = members - part.gone.keys()
    part.chunks_gone = await store.query_by_ids(CHUNKS_OF_KEYS, sorted(part.gone), session)
    if part.loses:
        await _find_derived(clients, part, session)
    return part


def other_copies(entry: dict[str, Any], archive: str) -> Rows:
    return [copy for copy in entry["copies"] if copy["archive_id"] != archive]


async def _find_derived(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Summaries, reports and failures of the thread, and of those merged into it: they quote what goes."""

    async def rows(query: NamedQuery, thread: str) -> list[Any]:
        return [row async for row in clients.store.query(query, session, thread=thread)]

    names = [part.thread_id]
    found: tuple[dict[str, dict[str, Any]], ...] = ({}, {}, {})
    for name in names:  # the list grows: redirects can form a chain
        names += await rows(REDIRECTS_TO, name)
        for query, rows_by_id in zip(
            (SUMMARIES_ABOUT, REPORTS_ABOUT, FAILURES_OF_THREAD), found, strict=True
        ):
            rows_by_id.update({row["id"]: row for row in await rows(query, name)})
    part.summaries, part.reports, part.failures = (list(rows_by_id.values()) for rows_by_id in found)
    part.redirects = names[1:]


async def delete_summary(store: Store, row: dict[str, Any], session: Session) -> None:
    """Unless it was made anew since: who stood still may find what others wrote after the deletion."""
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
    """Remove it, and what others are found by last. `check` is asked before each commit."""
    commit = ThreadCommit(clients, part.source, session)
    await touch(clients, part.digests())
    if not await _take_out_of_thread(clients, commit, part, session, check):
        await _leave_what_is_new(clients, part, session)
    progress("committed")
    await _delete_derived(clients, part, progress, session)
    await _reopen_archives(clients, part, session)
    await _delete_messages(clients, part, session)
    conflicts = await _forget_elsewhere(clients, part, session)
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
    await _read_again(clients, part, session)
    await touch(clients, part.digests())  # again: a refresh may have started since the first touch
    progress("entries")


async def _take_out_of_thread(
    clients: Clients,
    commit: ThreadCommit,
    part: ThreadPart,
    session: Session,
    check: Callable[[], Awaitable[None]] | None,
) -> bool:
    """False where another run has done it before."""

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


async def _leave_what_is_new(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Another run has taken the messages out, and the thread is made anew: what is made of it stays."""
    await clients.store.refresh(Thread, session)
    thread = await clients.store.find(Thread, part.thread_id, session)
    if thread is None or thread.merged_into is not None:
        return
    made = stored_time(thread.created_at)
    part.summaries = [
        row for row in part.summaries if row["created_at"] < made and row["id"] != thread.summary_id
    ]


async def _delete_derived(
    clients: Clients, part: ThreadPart, progress: Callable[[str], None], session: Session
) -> None:
    store = clients.store
    await delete_chunks(clients, part.chunks_gone, session)
    progress("chunks")
    for row in part.summaries:
        await delete_summary(store, row, session)
    # Also those that were published since: who publishes looks for the summary afterwards.
    published = {(row["id"], row["scope"]) for row in part.summaries}
    known = {(row["summary_id"], row["scope"]) for row in part.reports}
    for summary_id, scope in sorted(published | known):
        # One whose summary was made anew since was so, too.
        await delete_orphan_report(store, summary_id, scope, session)
    for failure in part.failures:
        await store.delete(FailureRecord, failure["id"], session, partition=failure["stage"])
    progress("derived")


async def _delete_messages(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Those that go, unless another archive has brought its own copy since."""
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
    """Give chunks and their vectors the labels of their messages; those without a message go."""
    await delete_stale(clients, keys, session)
    messages = {row["id"]: row for row in await clients.store.query_by_ids(STORED_LABELS, keys, session)}
    labelled = await label_chunks(clients, messages, session, is_announced=False)
    embedded = [
        {**row, **{name: messages[row["message_key"]][name] for name in LABELS}}
        for row in labelled
        if row["embedding_generated"]
    ]
    await index_labels(clients, embedded, session)


async def _forget_elsewhere(clients: Clients, part: ThreadPart, session: Session) -> set[str]:
    """Other sources' copies of the messages that go forget them; the threads that lose a conflict so."""
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
    """Have the sweep ask for those that are read again, where this run breaks off before it asks itself."""
    for archive_id in sorted(part.read_again):
        archive = await clients.store.find(Archive, archive_id, session)
        if archive is not None and not archive.removing:
            why = f"read again: archive {part.archive}, which had the same messages, was deleted"
            subject = DocumentRef(Archive, archive_id)
            await reopen_document(clients.store, subject, session, attempts=1, error=why, also={})


async def _read_again(clients: Clients, part: ThreadPart, session: Session) -> None:
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


LATE_AFTER = timedelta(minutes=20)  # longer than a host stands still, and a request is under way
LATE_UNTIL = timedelta(days=7)
MADE_BEFORE = timedelta(hours=1)  # what arrives late was made before the deletion began


async def delete_late_summaries(clients: Clients, since: datetime, session: Session) -> None:
    """Those of threads that are gone, or were made anew since: they may quote what was deleted."""
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
    """Those whose summary was deleted. A summary is stored before its report, so one that comes has it."""
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
