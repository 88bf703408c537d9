"""The original event of a document, rebuilt from the document."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from shared.pipeline.events.data import ArchiveIngested, ChunksPrepared, EventData, JSONParsed
from shared.settings.app import Settings
from shared.upkeep.requeue.due_document import ARCHIVES, CHUNKS, MESSAGES, DueDocument
from shared.upkeep.requeue.policy import Policy

__all__ = ["Requeue", "rebuild_events"]

LARGEST_BATCH = 500

Requeue = tuple[EventData, int]  # what to publish, as which attempt


def rebuild_events(
    dues: Iterable[DueDocument], policy: Policy, settings: Settings, *, alone: bool
) -> list[Requeue]:
    """Their events: documents of one archive and one attempt together, each by itself where `alone`."""
    groups: dict[tuple[str, int], list[DueDocument]] = {}
    for due in dues:
        groups.setdefault((str(due.fields.get("archive_id")), due.next_attempt), []).append(due)
    return [
        (_EVENTS[batch[0].collection.name](batch, settings), attempt)
        for (_, attempt), group in groups.items()
        for batch in _batches(group, 1 if alone else _size(group[0], policy))
    ]


def _size(due: DueDocument, policy: Policy) -> int:
    if due.collection is ARCHIVES:
        return 1
    return policy.batch_size(due.collection.name, due.next_attempt, LARGEST_BATCH)


def _batches(group: list[DueDocument], size: int) -> list[list[DueDocument]]:
    group = sorted(group, key=lambda due: (due.partition, due.id))  # whole threads together
    return [group[start : start + size] for start in range(0, len(group), size)]


def _archive(dues: Sequence[DueDocument], settings: Settings) -> EventData:  # noqa: ARG001 - as the others
    (due,) = dues
    stored = due.fields
    ingested = datetime.fromisoformat(stored["ingestion_date"])
    return ArchiveIngested(
        archive_id=due.id,
        source_name=stored["source"],
        source_type=stored.get("source_type") or "upload",
        source_url=stored["source_url"],
        file_path=stored["file_path"],
        file_size_bytes=stored["file_size_bytes"],
        file_hash_sha256=stored["file_hash"],
        ingestion_started_at=ingested,
        ingestion_completed_at=datetime.fromisoformat(stored.get("created_at") or stored["ingestion_date"]),
    )


def _messages(dues: Sequence[DueDocument], settings: Settings) -> EventData:  # noqa: ARG001 - as the others
    threads = [due.partition for due in dues]
    return JSONParsed(
        archive_id=dues[0].fields["archive_id"],
        message_count=len(dues),
        message_keys=[due.id for due in dues],
        thread_count=len(set(threads)),
        thread_ids=list(dict.fromkeys(threads)),
        parsing_duration_seconds=0.0,
        message_threads=threads,
    )


def _chunks(dues: Sequence[DueDocument], settings: Settings) -> EventData:
    sizes = [due.fields.get("token_count") or 0 for due in dues]
    return ChunksPrepared(
        message_keys=list(dict.fromkeys(due.fields["message_key"] for due in dues)),
        chunk_count=len(dues),
        chunk_ids=[due.id for due in dues],
        chunks_ready=True,
        chunking_strategy=settings.CHUNKING_STRATEGY,
        avg_chunk_size_tokens=round(sum(sizes) / len(sizes), 1),
        chunk_threads=[due.partition for due in dues],
        chunk_messages=[due.fields["message_key"] for due in dues],
        thread_ids=sorted({due.partition for due in dues}),
        archive_id=dues[0].fields.get("archive_id"),
    )


_EVENTS: dict[str, Callable[[Sequence[DueDocument], Settings], EventData]] = {
    ARCHIVES.name: _archive,
    MESSAGES.name: _messages,
    CHUNKS.name: _chunks,
}
