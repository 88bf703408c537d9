"""Checks of threads, citations and reports against the archived messages."""

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from shared.azure.blobs import ARCHIVES_CONTAINER
from shared.azure.connections import Clients
from shared.azure.cosmos.session import Session
from shared.core.concurrency import batches_of, in_pages
from shared.core.errors import DocumentNotFoundError
from shared.core.ids import message_key, thread_id
from shared.core.times import stored_time
from shared.ingestion.archive_reader import Reader, opened_archive, reader_pool
from shared.models.containers import read_document
from shared.models.queries.operations import ALL_ARCHIVE_IDS, SOURCES_IN_FLIGHT
from shared.models.queries.reports import REPORT_EVIDENCE, SUMMARIES_TO_CHECK
from shared.models.queries.threads import (
    MEMBER_FACTS,
    MESSAGE_ARCHIVES,
    MESSAGES_OF_ARCHIVE,
    STORED_COPIES,
    THREADS_TO_CHECK,
)
from shared.models.reports import Summary
from shared.models.sources import Archive, ArchiveStatus
from shared.models.threads import Chunk, Message, Thread
from shared.models.values import Citation
from shared.operations.integrity.checks import PAGE_SIZE, Finding, FindingKind
from shared.pipeline.readiness import member_keys
from shared.pipeline.state.summaries import is_current
from shared.summaries.citations import verify_stored
from shared.thread_store.commit import ThreadCommit
from shared.thread_store.message_documents import (
    MAX_COPIES,
    ArchiveOfSource,
    IncomingMessage,
    provenance,
    stored_message,
)
from shared.thread_store.plan import CommitPlan
from shared.thread_store.thread_documents import MAX_PARTICIPANTS, facts_of_thread
from shared.threading.assignment import ThreadState
from shared.threading.opening import opening_of

SLICE = 500
NOT_COMPARED = frozenset({"id", "message_key"})  # created by this system, not read from the archive
Row = Mapping[str, Any]
Places = set[tuple[str | int, ...]]


async def check_archives(clients: Clients, before: int) -> AsyncIterator[Finding]:
    ids = [str(row) async for row in clients.store.query(ALL_ARCHIVE_IDS, Session())]
    for id_ in sorted(ids):
        archive = await clients.store.find(Archive, id_, Session())
        if archive is None or archive.status is not ArchiveStatus.PROCESSED:
            continue
        async for finding in _check_archive(clients, archive):
            if not await is_in_flight(clients, archive.source):
                yield finding
    async for finding in _without_archive(clients, set(ids), before):
        yield finding


async def is_in_flight(clients: Clients, source: str) -> bool:
    """Return whether an archive of the source is being parsed or deleted. It is then not checked."""
    return source in [str(row) async for row in clients.store.query(SOURCES_IN_FLIGHT, Session())]


async def _check_archive(clients: Clients, archive: Archive) -> AsyncIterator[Finding]:
    if await is_in_flight(clients, archive.source):
        return
    changed = await _file_damage(clients, archive)
    if changed is not None:
        yield Finding(FindingKind.ARCHIVE_CHANGED, "archives", archive.id, archive.id, changed)
        return
    async with opened_archive(clients.blobs, archive.file_path, archive.file_size_bytes) as path:
        places: Places = set()
        async with Reader(await reader_pool(clients), path, archive.file_path) as reader:
            async for batch in reader.slices(SLICE):
                for finding in await _check_slice(clients, archive, batch.arrivals, places):
                    yield finding
        async for finding in _find_added(clients, archive, places):
            yield finding


async def _file_damage(clients: Clients, archive: Archive) -> str | None:
    """Return the description of the damage of the file, or None."""
    digest = hashlib.sha256()
    try:
        async for piece in clients.blobs.read(ARCHIVES_CONTAINER, archive.file_path):
            digest.update(piece)
    except DocumentNotFoundError:
        return "its file is missing"
    found = digest.hexdigest()
    return None if found == archive.file_hash else f"its file has the hash {found}, not {archive.file_hash}"


async def _check_slice(
    clients: Clients, archive: Archive, messages: Sequence[Any], places: Places
) -> list[Finding]:
    if not messages:
        return []
    part = ArchiveOfSource(archive.id, archive.source, stored_time(archive.ingestion_date))
    session = Session()
    incoming, plan = await ThreadCommit(clients, archive.source, session, part).preview(messages, part)
    posts = sorted({mail.message.document["id"] for mail in incoming.values()})
    rows = await clients.store.query_by_ids(STORED_COPIES, posts, session)
    texts = await _changed_texts(clients, archive, incoming, rows, session)
    for message in messages:
        key = message_key(message.node, archive.source)
        places |= {(key,), (key, *message.document["place"])}
    found = [
        finding
        for node, mail in incoming.items()
        for finding in _compare(mail, plan, rows, texts.get(node, []))
    ]
    return [*found, *_find_changed_threads(plan)]


def _compare(
    mail: IncomingMessage, plan: CommitPlan, rows: Sequence[Row], texts: list[str]
) -> Iterable[Finding]:
    node, source = mail.message.node, mail.archive.source
    key, home = mail.key, plan.homes[node]
    copies = [row for row in rows if row["post_id"] == mail.message.document["id"]]
    stored = next((row for row in copies if row["source"] == source), None)
    if stored is None:
        yield Finding(
            FindingKind.MESSAGE_MISSING, "messages", key, home, f"{node} of its archive is not stored"
        )
        return
    elsewhere = [row for row in copies if row["source"] != source]
    known = provenance(source, mail.copies_with(stored["copies"]), stored["archive_ids"], elsewhere)
    changed = [*texts, *(name for name in known if known[name] != stored[name] and name not in texts)]
    if changed:
        detail = f"{node}: not as in its archive: {', '.join(changed)}"
        yield Finding(FindingKind.MESSAGE_CHANGED, "messages", key, stored["thread_id"], detail)
    if stored["thread_id"] != home:
        detail = f"{node} is in thread {stored['thread_id']} and belongs to {home}"
        yield Finding(FindingKind.MESSAGE_MOVED, "messages", key, stored["thread_id"], detail)


def _find_changed_threads(plan: CommitPlan) -> Iterable[Finding]:
    """Yield a finding for each thread that differs from the threads that its mails form."""
    result = plan.result
    if result is None:
        return
    names = {*result.threads, *(merge.thread_id for merge in result.merges)}
    for name in sorted(names | {old for old, _ in result.moved.values()}):
        detail = "its members are not the messages that its archives contain"
        yield Finding(FindingKind.THREAD_CHANGED, "threads", name, name, detail)


async def _changed_texts(
    clients: Clients,
    archive: Archive,
    incoming: Mapping[str, IncomingMessage],
    rows: Sequence[Row],
    session: Session,
) -> dict[str, list[str]]:
    """Return the changed fields of messages whose first copy is in this archive."""
    stored = {row["id"]: row for row in rows}
    first = {
        mail.key: mail
        for mail in incoming.values()
        if mail.key in stored and mail.is_first(mail.copies_with(stored[mail.key]["copies"]))
    }
    changed: dict[str, list[str]] = {}
    for ids in batches_of(list(first), PAGE_SIZE):
        for id_, message in (await clients.store.find_many(Message, ids, session)).items():
            mail = first[id_]
            names = _differences(message, mail, archive.source)
            changed |= {mail.message.node: names} if names else {}
    return changed


def _differences(message: Message, mail: IncomingMessage, source: str) -> list[str]:
    """Compare the stored message with the archived message, both as read by the current model."""
    stored = message.to_cosmos()
    document = mail.message.document
    parsed = {**stored, **stored_message(mail.message, message.thread_id, source, stored["created_at"])}
    expected = read_document(Message, parsed).to_cosmos()
    names = [*(document.keys() - NOT_COMPARED), "post_id", "source"]
    return sorted(name for name in names if stored.get(name) != expected.get(name))


async def _find_added(clients: Clients, archive: Archive, places: Places) -> AsyncIterator[Finding]:
    """Yield messages that name this archive although the archive does not contain them."""
    async for row in clients.store.query(MESSAGES_OF_ARCHIVE, Session(), archive=archive.id):
        copies = row.get("copies", [])
        here = [(row["id"], *copy["place"]) for copy in copies if copy["archive_id"] == archive.id]
        left_out = not here and len(copies) >= MAX_COPIES and (row["id"],) in places
        if not left_out and (not here or any(place not in places for place in here)):
            detail = f"archive {archive.id} does not have it"
            yield Finding(FindingKind.MESSAGE_ADDED, "messages", row["id"], row["thread_id"], detail)


async def _without_archive(clients: Clients, ids: set[str], before: int) -> AsyncIterator[Finding]:
    """Yield messages that name a missing archive. `ids` may lack archives that were added after the query."""
    async for page in in_pages(clients.store.query(MESSAGE_ARCHIVES, Session(), before=before), PAGE_SIZE):
        for row in page:
            unknown = {row["archive_id"], *row.get("archive_ids", ())} - ids
            gone = [id_ for id_ in sorted(unknown) if await _is_gone(clients, id_)]
            if gone:
                detail = f"archive {gone[0]} does not exist"
                yield Finding(FindingKind.MESSAGE_ADDED, "messages", row["id"], row["thread_id"], detail)


async def _is_gone(clients: Clients, archive_id: str) -> bool:
    return await clients.store.find(Archive, archive_id, Session()) is None


SUMMARIES_AT_ONCE = 50  # whole documents, which can be large


async def check_thread_facts(clients: Clients, before: int) -> AsyncIterator[Finding]:  # noqa: ARG001 - a second read shows which work is in progress
    async for page in in_pages(clients.store.query(THREADS_TO_CHECK, Session()), PAGE_SIZE):
        for row in page:
            finding = await _check_facts(clients, row["id"])
            if finding is not None:
                yield finding


async def check_citations(clients: Clients, before: int) -> AsyncIterator[Finding]:
    async for page in in_pages(
        clients.store.query(SUMMARIES_TO_CHECK, Session(), before=before), SUMMARIES_AT_ONCE
    ):
        for summary in [read_document(Summary, row) for row in page]:
            if summary.citations and await is_current(clients.store, summary, Session()):
                async for finding in _check_citations(clients, summary):
                    yield finding


async def check_evidence(clients: Clients, before: int) -> AsyncIterator[Finding]:
    async for page in in_pages(clients.store.query(REPORT_EVIDENCE, Session(), before=before), PAGE_SIZE):
        for row in page:
            async for finding in _check_report(clients, row):
                yield finding


async def _check_facts(clients: Clients, id_: str) -> Finding | None:
    """Compare the facts of a thread with its messages. Read both again if they differ."""
    changed: list[str] = []
    for _ in range(LOOKS):
        session = Session()
        for model in (Thread, Message):
            await clients.store.refresh(model, session)
        thread = await clients.store.find(Thread, id_, session)
        if thread is None or not thread.source or thread.merged_into or thread.inexact:
            return None
        facts = await clients.store.query_by_ids(MEMBER_FACTS, member_keys(thread), session)
        changed = list(_thread_differences(thread, facts))
        if not changed or await is_in_flight(clients, thread.source):
            return None
    detail = f"not as its messages make it: {', '.join(changed)}"
    return Finding(FindingKind.THREAD_CHANGED, "threads", id_, id_, detail)


LOOKS = 2


def _thread_differences(thread: Thread, facts: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    if "members" not in thread.threading:
        yield "threading, which is that of an earlier version"
        return
    state = ThreadState.from_document(thread.threading)
    if state.present != sorted(fact["message_id"] for fact in facts):
        yield "messages"
    if not state.members or thread_id(state.root, thread.source or "") != thread.id:
        yield "root"
    expected = facts_of_thread(facts, opening_of(state))
    people = [(person.email, person.name) for person in expected.pop("participants")]
    # Of a larger number, the arrival order determines which participants are stored.
    stored = [(person.email, person.name) for person in thread.participants]
    if len(people) < MAX_PARTICIPANTS and people != stored:
        yield "participants"
    yield from (name for name, value in expected.items() if getattr(thread, name) != value)


async def _check_citations(clients: Clients, summary: Summary) -> AsyncIterator[Finding]:
    """Check that each cited chunk is part of its message, because the quote is searched in the chunk."""
    ids = sorted({citation.chunk_id for citation in summary.citations})
    chunks = await clients.store.find_many(Chunk, ids, Session())
    keys = sorted({chunk.message_key for chunk in chunks.values()})
    messages = await clients.store.find_many(Message, keys, Session())
    texts = {id_: chunk.text for id_, chunk in chunks.items()}
    broken = verify_stored(summary.citations, texts)  # findings of another check
    for citation in summary.citations:
        if citation in broken:
            continue
        wrong = _wrong(citation, chunks[citation.chunk_id], messages)
        if wrong:
            detail = f"{wrong}, which it cites as {citation.message_id}"
            data = {"thread_id": summary.thread_id}
            yield Finding(FindingKind.CITATION_BROKEN, "summaries", summary.id, summary.scope, detail, data)
            return


def _wrong(citation: Citation, chunk: Chunk, messages: Mapping[str, Message]) -> str | None:
    message = messages.get(chunk.message_key)
    if message is None:
        return f"message {chunk.message_key} of chunk {chunk.id} does not exist"
    named = citation.message_id, citation.message_key or message.id
    if named != (message.message_id, message.id):
        return f"chunk {chunk.id} belongs to {message.message_id}"
    parts = [message.body_raw[start:end] for start, end in chunk.metadata.get("spans", [])]
    if parts and "\n\n".join(parts) != chunk.text:
        return f"the text of chunk {chunk.id} is not in message {message.id}"
    return None


async def _check_report(clients: Clients, row: Mapping[str, Any]) -> AsyncIterator[Finding]:
    """Check the hash of each archive that the report names. A deleted archive is no damage."""
    keys = [archive["archive_id"] for archive in row["evidence"]]
    found = await clients.store.find_many(Archive, keys, Session())
    for named in row["evidence"]:
        archive = found.get(named["archive_id"])
        if archive is not None and archive.file_hash != named["file_hash"]:
            detail = f"it names archive {archive.id} with another hash"
            yield Finding(FindingKind.EVIDENCE_CHANGED, "reports", row["id"], row["scope"], detail)
