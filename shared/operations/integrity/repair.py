"""Repairs findings: the work is requeued, or orphaned documents are deleted."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.azure.connections import Clients
from shared.azure.cosmos.session import Patch, Session
from shared.azure.servicebus.bus import to_message
from shared.models.queries.threads import VERSIONS_OF_PARTITION
from shared.models.reports import Summary
from shared.models.sources import Archive
from shared.models.threads import Chunk, Thread
from shared.operations import due_documents
from shared.operations.due_documents import Policy
from shared.operations.integrity.checks import Finding, FindingKind
from shared.operations.removal.thread_part import relabel
from shared.operations.requeue import Requeue, Requeuer, rebuild_events
from shared.pipeline.event_builders import summary_complete, summary_request
from shared.pipeline.events import Event
from shared.pipeline.readiness import ready_thread
from shared.pipeline.stage import DocumentRef
from shared.pipeline.state.archives import NOT_EMBEDDED
from shared.pipeline.state.attempts import reopen_document
from shared.pipeline.state.summaries import delete_orphan_report
from shared.pipeline.state.threads import NO_SUMMARY, requested_version
from shared.pipeline.topology import REPORTING
from shared.summaries.digest_scopes import parse_scope
from shared.summarization.digest_touching import touch
from shared.thread_store.chunk_sets import delete_stale
from shared.thread_store.commit import ThreadCommit
from shared.thread_store.message_writer import MessageWriter


@dataclass
class Repairer:
    clients: Clients
    done: set[str] = field(default_factory=set)  # archives and threads that this run has repaired

    async def repair(self, finding: Finding) -> bool:
        """Repair the finding if possible. Differences from the archives are left to an operator."""
        repair = REPAIRS.get(finding.kind)
        return repair is not None and await repair(self, finding)

    def _requeuer(self) -> Requeuer:
        """Return a requeuer that bypasses the topic, because the topic drops repeated events for a time."""
        return Requeuer(self.clients, bypass_topic=True)

    async def embed_again(self, finding: Finding) -> bool:
        return await self._requeue(due_documents.CHUNKS, finding, NOT_EMBEDDED)

    async def chunk_again(self, finding: Finding) -> bool:
        return await self._requeue(due_documents.MESSAGES, finding, {})

    async def label_again(self, finding: Finding) -> bool:
        patch = Patch(finding.data["chunk_id"], set={"label_version": 0})  # older than any version
        await self.clients.store.patch_all(Chunk, [patch], Session(), condition="true")
        return await self.chunk_again(finding)

    async def _requeue(
        self, collection: due_documents.Collection, finding: Finding, undone: Mapping[str, Any]
    ) -> bool:
        """Reopen the document, then requeue it. After a crash in between, the sweep requeues it."""
        policy = Policy.from_settings(self.clients.settings)
        attempts = min(finding.data.get("attemptCount") or 1, policy.max_attempts[collection.name] - 1)
        due = await self._reopen(collection, finding.id, finding.partition, finding, attempts, undone)
        if due is None:
            return False
        settings = self.clients.settings

        def rebuild(dues: Sequence[due_documents.DueDocument]) -> list[Requeue]:
            return rebuild_events(dues, policy, settings, alone=True)

        return bool(await self._requeuer().requeue([due], rebuild))

    async def _reopen(
        self,
        collection: due_documents.Collection,
        id_: str,
        partition: str,
        finding: Finding,
        attempts: int,
        undone: Mapping[str, Any],
    ) -> due_documents.DueDocument | None:
        error = f"Inconsistent: {finding.kind}: {finding.detail}"[:500]
        subject = DocumentRef(collection.model, id_)
        if not await reopen_document(
            self.clients.store, subject, Session(), attempts=attempts, error=error, also=undone
        ):
            return None
        row = {**finding.data, "id": id_, "attemptCount": attempts, "lastError": error}
        row |= {"lastAttemptTime": None, "requeued_at": None}
        return due_documents.DueDocument.of(collection, due_documents.RetryReason.FAILED, row, partition)

    async def recount(self, finding: Finding) -> bool:
        """Parse the archives again. They contain missing messages, and parsing corrects wrong labels."""
        parsed = [await self._parse_again(archive, finding) for archive in finding.data["archives"]]
        return any(parsed)

    async def parse_archives(self, finding: Finding) -> bool:
        parsed = [await self._parse_again(archive, finding) for archive in finding.data["archive_ids"]]
        return any(parsed)

    async def _parse_again(self, archive_id: str, finding: Finding) -> bool:
        if archive_id in self.done:
            return True
        archive = await self.clients.store.find(Archive, archive_id, Session())
        if archive is None:
            return False
        self.done.add(archive_id)
        data = {**archive.to_cosmos(), "attemptCount": archive.attemptCount}
        asked = Finding(finding.kind, "archives", archive_id, archive_id, finding.detail, data)
        return await self._requeue(due_documents.ARCHIVES, asked, {})

    async def summarize_again(self, finding: Finding) -> bool:
        """Delete the summary first, because the same version has the same id and is not created twice."""
        thread_id = finding.data["thread_id"]
        await self.delete_summary(finding)
        if thread_id is None:  # a digest, whose scope is its partition
            await touch(self.clients, [parse_scope(finding.partition)])
            return True
        return await self._request_summary(thread_id, finding)

    async def _request_summary(self, thread_id: str, finding: Finding) -> bool:
        ready = await ready_thread(self.clients, thread_id, Session())
        if ready is None:
            return True  # orchestration requests it later
        attempts = min(ready.thread.attemptCount, self.clients.settings.RETRY_JOB_MAX_ATTEMPTS_THREADS - 1)
        due = await self._reopen(due_documents.THREADS, thread_id, thread_id, finding, attempts, NO_SUMMARY)
        if due is None:
            return False
        version, settings = ready.version, self.clients.settings

        def rebuild(dues: Sequence[due_documents.DueDocument]) -> list[Requeue]:
            return [(summary_request(due.id, version, settings), due.next_attempt) for due in dues]

        noted = {thread_id: requested_version(version, ends_claim=False)}
        return bool(await self._requeuer().requeue([due], rebuild, **noted))

    async def publish_again(self, finding: Finding) -> bool:
        summary = await self.clients.store.find(Summary, finding.id, Session(), partition=finding.partition)
        if summary is None:
            return False
        if summary.thread_id is None:  # the refresh of its digest publishes it again
            await touch(self.clients, [parse_scope(finding.partition)])
            return True
        thread = await self.clients.store.read(Thread, summary.thread_id, Session())
        number = thread.summary_number
        complete = summary_complete(summary, number, backend=summary.generated_by, model=summary.generated_by)
        message = to_message(Event.of(complete, now=self.clients.runtime.now()))
        await self.clients.bus.send_to_queue(REPORTING.name, [message])
        return True

    async def delete_vector(self, finding: Finding) -> bool:
        await self.clients.index.delete([finding.id])
        return True

    async def place_vector(self, finding: Finding) -> bool:
        await self.clients.index.upsert([{"chunk_id": finding.id, "thread_id": finding.partition}])
        return True

    async def delete_chunk(self, finding: Finding) -> bool:
        return bool(await delete_stale(self.clients, [finding.data["message_key"]], Session()))

    async def delete_summary(self, finding: Finding) -> bool:
        await self.clients.store.delete(Summary, finding.id, Session(), partition=finding.partition)
        return await delete_orphan_report(self.clients.store, finding.id, finding.partition, Session())

    async def delete_report(self, finding: Finding) -> bool:
        summary_id = str(finding.data["summary_id"])
        return await delete_orphan_report(self.clients.store, summary_id, finding.partition, Session())

    async def delete_message(self, finding: Finding) -> bool:
        """Delete the message and its chunks, unless an archive contains it now."""
        session = Session()
        commit = ThreadCommit(self.clients, finding.data["source"], session)
        await self.clients.store.refresh(Thread, session)
        await commit.state.read()
        await MessageWriter(self.clients, commit.state, session).write([finding.id], {})
        await relabel(self.clients, [finding.id], session)
        return True

    async def forget_threads(self, finding: Finding) -> bool:
        """Remove the missing threads from the entry. A thread that exists again is kept."""
        store, session = self.clients.store, Session()
        existing = await store.find_many(Thread, finding.data["threads"], session)
        rows = store.query(VERSIONS_OF_PARTITION, session, partition=finding.partition)
        for source in [row["source"] async for row in rows]:
            lost = set(finding.data["threads"]) - existing.keys()
            await ThreadCommit(self.clients, source, session).forget([finding.id], lost)
        return True


REPAIRS: Mapping[FindingKind, Callable[[Repairer, Finding], Awaitable[bool]]] = {
    FindingKind.CHUNK_WITHOUT_VECTOR: Repairer.embed_again,
    FindingKind.VECTOR_WITHOUT_CHUNK: Repairer.delete_vector,
    FindingKind.VECTOR_MISPLACED: Repairer.place_vector,
    FindingKind.MESSAGE_WITHOUT_CHUNKS: Repairer.chunk_again,
    FindingKind.CHUNK_WITHOUT_MESSAGE: Repairer.delete_chunk,
    FindingKind.CHUNK_STALE: Repairer.delete_chunk,
    FindingKind.CHUNK_MISLABELLED: Repairer.label_again,
    FindingKind.MESSAGE_WITHOUT_ENTRY: Repairer.delete_message,
    FindingKind.MESSAGE_WITHOUT_THREAD: Repairer.parse_archives,
    FindingKind.THREAD_COUNT_WRONG: Repairer.recount,
    FindingKind.CITATION_BROKEN: Repairer.summarize_again,
    FindingKind.SUMMARY_WITHOUT_THREAD: Repairer.delete_summary,
    FindingKind.SUMMARY_WITHOUT_REPORT: Repairer.publish_again,
    FindingKind.REPORT_WITHOUT_SUMMARY: Repairer.delete_report,
    FindingKind.ENTRY_WITHOUT_THREAD: Repairer.forget_threads,
}
"""The kinds of damage that can be repaired. Other kinds are left to an operator."""
