"""Checks what is said about mails against the messages: threads, citations, and the archives of reports."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from shared.clients.connections import Clients
from shared.clients.cosmos.lease import THREADING, Lease
from shared.clients.cosmos.session import Session
from shared.core.concurrency import in_pages
from shared.core.ids import thread_id
from shared.documents.containers import read_document
from shared.documents.queries.reports import REPORT_EVIDENCE, SUMMARIES_TO_CHECK
from shared.documents.queries.threads import CHUNKS_BY_ID, MEMBER_FACTS, THREADS_TO_CHECK
from shared.documents.reports import Summary
from shared.documents.sources import Archive
from shared.documents.threads import Chunk, Message, Thread
from shared.documents.values import Citation
from shared.domain.summaries.citations import verify_stored
from shared.domain.threading.assignment import ThreadState
from shared.threads.thread_documents import MAX_PARTICIPANTS, facts_of_thread
from shared.upkeep.integrity.check_archives import is_in_flight
from shared.upkeep.integrity.findings import PAGE_SIZE, Finding, FindingKind

SUMMARIES_AT_ONCE = 50  # whole documents, which can be large


async def check_thread_facts(clients: Clients, before: int) -> AsyncIterator[Finding]:  # noqa: ARG001 - the lease keeps what is under way out
    async for page in in_pages(clients.store.query(THREADS_TO_CHECK, Session()), PAGE_SIZE):
        for row in page:
            finding = await _check_thread(clients, row["id"])
            if finding is not None:
                yield finding


async def check_citations(clients: Clients, before: int) -> AsyncIterator[Finding]:
    async for page in in_pages(
        clients.store.query(SUMMARIES_TO_CHECK, Session(), before=before), SUMMARIES_AT_ONCE
    ):
        for summary in [read_document(Summary, row) for row in page]:
            if summary.citations and not summary.outdated:
                async for finding in _check_citations(clients, summary):
                    yield finding


async def check_evidence(clients: Clients, before: int) -> AsyncIterator[Finding]:
    async for page in in_pages(clients.store.query(REPORT_EVIDENCE, Session(), before=before), PAGE_SIZE):
        for row in page:
            async for finding in _check_report(clients, row):
                yield finding


async def _check_thread(clients: Clients, id_: str) -> Finding | None:
    """Under the lease, so that no message is between two threads."""
    session = Session()
    async with Lease(clients.store, THREADING, clients.runtime).held(session):
        thread = await clients.store.find(Thread, id_, id_, session)
        if thread is None or not thread.source or _is_unfinished(thread):
            return None
        rows = clients.store.query(MEMBER_FACTS, session, partition_value=id_)
        facts = [row async for row in rows]
    changed = list(_differences(thread, facts))
    if not changed or await is_in_flight(clients, thread.source):
        return None
    detail = f"not as its messages make it: {', '.join(changed)}"
    return Finding(FindingKind.THREAD_CHANGED, "threads", id_, id_, detail)


def _is_unfinished(thread: Thread) -> bool:
    """Whether messages are still on their way to it or from it, or all are gone to another."""
    return bool(thread.merged_into or thread.absorbing or thread.losing)


def _differences(thread: Thread, facts: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    if "members" not in thread.threading:
        yield "threading, which is that of an earlier version"
        return
    state = ThreadState.from_document(thread.threading)
    if state.present != sorted(fact["message_id"] for fact in facts):
        yield "messages"
    if not state.members or thread_id(state.root, thread.source or "") != thread.id:
        yield "root"
    expected = facts_of_thread(facts)
    people = [(person.email, person.name) for person in expected.pop("participants")]
    # Which of more are shown depends on who came first.
    shown = [(person.email, person.name) for person in thread.participants]
    if len(people) < MAX_PARTICIPANTS and people != shown:
        yield "participants"
    yield from (name for name, value in expected.items() if getattr(thread, name) != value)


async def _check_citations(clients: Clients, summary: Summary) -> AsyncIterator[Finding]:
    """A citation's chunk has to be a part of its message: the quote is found in the chunk."""
    ids = sorted({citation.chunk_id for citation in summary.citations})
    rows = await clients.store.query_by_ids(CHUNKS_BY_ID, ids, Session())
    chunks = {row["id"]: read_document(Chunk, row) for row in rows}
    keys = sorted({(chunk.message_key, chunk.thread_id) for chunk in chunks.values()})
    messages = await clients.store.find_many(Message, keys, Session())
    texts = {id_: chunk.text for id_, chunk in chunks.items()}
    broken = verify_stored(summary.citations, texts)  # these are found by another check
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
        return f"message {chunk.message_key} of chunk {chunk.id} is not there"
    named = citation.message_id, citation.message_key or message.id
    if named != (message.message_id, message.id):
        return f"chunk {chunk.id} is of {message.message_id}"
    parts = [message.body_raw[start:end] for start, end in chunk.metadata.get("spans", [])]
    if parts and "\n\n".join(parts) != chunk.text:
        return f"the text of chunk {chunk.id} does not stand in message {message.id}"
    return None


async def _check_report(clients: Clients, row: Mapping[str, Any]) -> AsyncIterator[Finding]:
    """An archive that was deleted since is no damage: the report is then made again."""
    keys = [(archive["archive_id"], archive["archive_id"]) for archive in row["evidence"]]
    found = await clients.store.find_many(Archive, keys, Session())
    for named in row["evidence"]:
        archive = found.get(named["archive_id"])
        if archive is not None and archive.file_hash != named["file_hash"]:
            detail = f"it names archive {archive.id} with another hash"
            yield Finding(FindingKind.EVIDENCE_CHANGED, "reports", row["id"], row["scope"], detail)
