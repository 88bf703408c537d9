"""One thread's part in the deletion of an archive: found, counted, removed; the rest of it made whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.session import Patch, Session
from shared.clients.cosmos.store import Store
from shared.clients.servicebus.bus import to_message
from shared.core.times import stored_time
from shared.documents.queries.named_query import NamedQuery
from shared.documents.queries.operations import FAILURES_OF_THREAD
from shared.documents.queries.reports import (
    REPORTS_ABOUT,
    REPORTS_PUBLISHED_SINCE,
    SUMMARIES_ABOUT,
    THREAD_SUMMARIES_MADE_SINCE,
)
from shared.documents.queries.threads import (
    CHUNK_ARCHIVES_OF_THREAD,
    MESSAGE_ARCHIVES_OF_THREAD,
    REDIRECTS_TO,
    STORED_COPIES,
)
from shared.documents.records import FailureRecord
from shared.documents.reports import Report, Summary
from shared.documents.sources import Archive
from shared.documents.threads import Chunk, Message, Thread
from shared.domain.summaries.digest_scopes import DigestScope, parse_scope
from shared.domain.threading.assignment import ThreadState
from shared.pipeline.event_builders import archive_ingested
from shared.pipeline.events import Event
from shared.pipeline.lifecycle.attempts import reopened
from shared.pipeline.lifecycle.summaries import orphan_deleted
from shared.pipeline.readiness import load_messages
from shared.pipeline.stage import Subject
from shared.pipeline.topology import PARSING
from shared.summarization.digest_touching import touch
from shared.threads.index import ThreadIndex
from shared.threads.message_documents import provenance
from shared.threads.moving import absorb, announce_messages
from shared.threads.registry import Registry
from shared.upkeep.requeue import request_summary


async def drop_thread(
    clients: Clients, thread: Thread, session: Session, redirects: Sequence[str] = ()
) -> None:
    """Delete its document and the redirects to it, after their entries in the index.

    An entry may still name a thread that was merged into this one. Redirects can form a chain: the last one
    goes first, so that a crash leaves no redirect to nothing.
    """
    names = [thread.id, *redirects]
    if "members" in thread.threading:  # one of the version before has none
        state = ThreadState.from_document(thread.threading)
        index = ThreadIndex(clients.store, clients.runtime.now)
        await index.leave(names, state, thread.source or "", session)
    for name in reversed(names):
        await clients.store.delete(Thread, name, session)


async def rebuild_thread(clients: Clients, thread_id: str, session: Session) -> set[str]:
    """Thread the messages that are left with this label; the ids of the threads that they make now.

    The caller holds the threading lease and has dropped the thread.
    """
    messages = await load_messages(clients, thread_id, session)
    rebuilt: set[str] = set()
    for source in sorted({message.source for message in messages}):
        own = [message for message in messages if message.source == source]
        threaded = await Registry(clients).rethread(own, source, session, origin=thread_id)
        await announce_messages(clients, threaded.relabelled, session)
        rebuilt |= {*threaded.threads.values(), *threaded.touched.values()}
    return rebuilt


Rows = list[dict[str, Any]]
MAX_DELETE_ATTEMPTS = 5  # others set a summary's flag at the same time


@dataclass
class ThreadPart:
    """What an archive has in one thread."""

    archive: str
    thread_id: str
    thread: Thread | None
    gone: list[str] = field(default_factory=list)  # messages that are in no other archive
    posts_gone: list[str] = field(default_factory=list)  # what other sources know them by
    read_again: set[str] = field(default_factory=set)  # archives with another copy of a message that goes
    shared: dict[str, dict[str, Any]] = field(default_factory=dict)  # those that are: where from, then
    staying: set[str] = field(default_factory=set)  # all messages that stay
    archives_of: dict[str, set[str]] = field(default_factory=dict)  # which archives each of these has then
    archives: set[str] = field(default_factory=set)  # all archives that stay
    chunks_gone: Rows = field(default_factory=list)
    chunks_shared: Rows = field(default_factory=list)
    summaries: Rows = field(default_factory=list)
    reports: Rows = field(default_factory=list)
    failures: Rows = field(default_factory=list)
    redirects: list[str] = field(default_factory=list)  # ids of threads that were merged into this one

    @property
    def loses(self) -> bool:
        """Whether the thread loses messages: now, or before a crash that this run resumes after.

        Or chunks that a stage wrote after their message was deleted: a summary may quote them.
        """
        if self.thread is None or self.thread.merged_into is not None:
            return self.thread is None
        return bool(self.gone or self.chunks_gone) or self.thread.message_count != len(self.staying)

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


async def _latest_thread(clients: Clients, thread_id: str, session: Session) -> Thread | None:
    """Its members are seen as they are now, and those of a thread that it absorbs are with them."""
    store = clients.store
    await store.catch_up(Thread, [thread_id], session)
    await store.catch_up_source(Message, thread_id, session)
    for derived in (Chunk, Summary, Report):
        await store.refresh(derived, session)
    thread = await store.find(Thread, thread_id, session)
    if thread is not None:
        await absorb(clients, thread, session)
    return thread


async def find_part(clients: Clients, archive: str, thread_id: str, session: Session) -> ThreadPart:
    store, thread = clients.store, await _latest_thread(clients, thread_id, session)
    part = ThreadPart(archive, thread_id, thread)
    async for row in store.query(MESSAGE_ARCHIVES_OF_THREAD, session, thread=thread_id):
        _take(row, part)
    keys = [*part.gone, *part.staying]
    rows = [row async for row in store.query(CHUNK_ARCHIVES_OF_THREAD, session, thread=thread_id, keys=keys)]
    # A chunk whose message is in another thread now has the old label until chunking passes on the new one.
    strange = sorted({row["message_key"] for row in rows} - set(keys))
    elsewhere = await store.find_many(Message, strange, session)
    for row in rows:
        if row["message_key"] in elsewhere:
            continue
        if row["message_key"] not in part.staying:
            part.chunks_gone.append(row)
        elif row["message_key"] in part.shared or archive in (row["archive_id"], *row.get("archive_ids", ())):
            part.chunks_shared.append(row)
    if part.loses:
        await _find_derived(clients, part, session)
        # Who stood still may have found what was made of the thread that another run has made anew: the fence
        # tells, before any of it is deleted.
        await store.catch_up(Thread, [thread_id], session)
    return part


def _take(row: dict[str, Any], part: ThreadPart) -> None:
    others = set(row["archive_ids"]) - {part.archive}
    copies = [copy for copy in row["copies"] if copy["archive_id"] != part.archive]
    if not others or not copies or copies[0]["variant"] != row["variant"]:
        # What another archive has is not the same: it is read from there.
        part.read_again |= others
        part.gone.append(row["id"])
        part.posts_gone.append(row["post_id"])
        return
    part.staying.add(row["id"])
    part.archives_of[row["id"]] = others
    part.archives |= others
    if part.archive in row["archive_ids"]:
        part.shared[row["id"]] = provenance(row["source"], copies, others, row["elsewhere"])


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
    clients: Clients, part: ThreadPart, progress: Callable[[str], None], session: Session
) -> None:
    """Remove it, each document before the one that it is found by. The caller holds the threading lease."""
    store = clients.store
    await touch(clients, part.digests())
    chunks = [chunk["id"] for chunk in part.chunks_gone]
    await clients.index.delete(chunks)
    progress("vectors")
    await store.delete_all(Chunk, chunks, session)
    progress("chunks")
    await _keep_shared(clients, part, session)
    conflicts = await _forget_elsewhere(clients, part, session)
    await _read_again(clients, part, session)
    progress("shared")
    for row in part.summaries:
        await delete_summary(store, row, session)
    # Also those that were published since: who publishes looks for the summary afterwards.
    published = {(row["id"], row["scope"]) for row in part.summaries}
    known = {(row["summary_id"], row["scope"]) for row in part.reports}
    for summary_id, scope in sorted(published | known):
        # One whose summary was made anew since was so, too.
        await orphan_deleted(store, summary_id, scope, session)
    for failure in part.failures:
        await store.delete(FailureRecord, failure["id"], session, partition=failure["stage"])
    progress("derived")
    await store.delete_all(Message, part.gone, session)
    progress("messages")
    await _finish_thread(clients, part, progress, session)
    for thread_id in sorted(conflicts):
        await request_summary(clients, thread_id, session)
    await touch(clients, part.digests())  # again: a refresh may have started since the first touch


async def _keep_shared(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Messages that other archives have, too, stay without this archive; their chunks and vectors first."""
    archives = {
        chunk["id"]: {"archive_id": left[0], "archive_ids": left}
        for chunk in part.chunks_shared
        if (left := sorted(part.archives_of[chunk["message_key"]]))
    }
    patches = [Patch(id_, set=left) for id_, left in archives.items()]
    await clients.store.patch_all(Chunk, patches, session)
    embedded = [chunk["id"] for chunk in part.chunks_shared if chunk["embedding_generated"]]
    await clients.index.upsert([{"chunk_id": id_, **archives[id_]} for id_ in embedded])
    patches = [Patch(key, set=known) for key, known in part.shared.items()]
    await clients.store.patch_all(Message, patches, session)


async def _forget_elsewhere(clients: Clients, part: ThreadPart, session: Session) -> set[str]:
    """Other sources' copies of the messages that go know of them; the threads that lose a conflict so."""
    rows = await clients.store.query_by_ids(STORED_COPIES, sorted(set(part.posts_gone)), session)
    gone = {row["post_id"]: row["source"] for row in rows if row["id"] in part.gone}
    patches, threads = [], set()
    for row in rows:
        others = [one for one in row["elsewhere"] if one["source"] != gone.get(row["post_id"])]
        if row["id"] in part.gone or others == row["elsewhere"]:
            continue
        known = provenance(row["source"], row["copies"], row["archive_ids"], others)
        patches.append(Patch(row["id"], set=known))
        threads |= {row["thread_id"]} if known["conflicts"] != row["conflicts"] else set()
    await clients.store.patch_all(Message, patches, session)
    return threads


async def _read_again(clients: Clients, part: ThreadPart, session: Session) -> None:
    """Before the messages go: the reading waits for the lease that the caller holds."""
    for archive_id in sorted(part.read_again):
        archive = await clients.store.find(Archive, archive_id, session)
        if archive is None or archive.removing:
            continue
        subject = Subject(Archive, archive_id)
        why = f"read again: archive {part.archive}, which had the same messages, was deleted"
        await reopened(clients.store, subject, session, attempts=1, error=why, also={})
        now = clients.runtime.now()
        ingested = archive_ingested(
            archive_id, archive.to_cosmos(), started_at=archive.ingestion_date, completed_at=now
        )
        event = Event.of(ingested, session=session.tokens(), attempt=2, now=now)
        await clients.bus.send_to_queue(PARSING.name, [to_message(event)])


async def _finish_thread(
    clients: Clients, part: ThreadPart, progress: Callable[[str], None], session: Session
) -> None:
    thread = part.thread
    if thread is not None and (part.loses or not part.archives):
        await drop_thread(clients, thread, session, part.redirects)
        progress("thread_dropped")
    elif thread is not None:
        archives = sorted(part.archives)
        changes: dict[str, Any] = {
            "archive_ids": archives,
            "archive_id": archives[0],
        }
        await clients.store.patch(Thread, Patch(thread.id, set=changes), session)
    if part.loses and part.staying:
        rebuilt = await rebuild_thread(clients, part.thread_id, session)
        progress("thread_rebuilt")
        for thread_id in sorted(rebuilt):
            await request_summary(clients, thread_id, session)


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
            await orphan_deleted(store, row["summary_id"], row["scope"], session)
