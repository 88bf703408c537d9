"""The original event of a document, rebuilt from the document."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from shared.core.concurrency import batches_of
from shared.pipeline.event_types import EventData
from shared.pipeline.events.builders import PreparedChunk, archive_ingested, chunks_prepared, json_parsed
from shared.settings.app import Settings
from shared.upkeep.requeue.due_document import ARCHIVES, CHUNKS, MESSAGES, DueDocument
from shared.upkeep.requeue.policy import Policy

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
    # In this order the documents of a thread stay together.
    return batches_of(sorted(group, key=lambda due: (due.partition, due.id)), size)


def _archive(dues: Sequence[DueDocument], settings: Settings) -> EventData:  # noqa: ARG001 - as the others
    (due,) = dues
    stored = due.fields
    return archive_ingested(
        due.id,
        stored,
        started_at=datetime.fromisoformat(stored["ingestion_date"]),
        completed_at=datetime.fromisoformat(stored.get("created_at") or stored["ingestion_date"]),
    )


def _messages(dues: Sequence[DueDocument], settings: Settings) -> EventData:  # noqa: ARG001 - as the others
    return json_parsed(dues[0].fields["archive_id"], [(due.id, due.partition) for due in dues])


def _chunks(dues: Sequence[DueDocument], settings: Settings) -> EventData:
    chunks = [
        PreparedChunk(due.id, due.partition, due.fields["message_key"], due.fields.get("token_count") or 0)
        for due in dues
    ]
    return chunks_prepared(
        chunks,
        message_keys=list(dict.fromkeys(chunk.message_key for chunk in chunks)),
        thread_ids={due.partition for due in dues},
        strategy=settings.CHUNKING_STRATEGY,
        archive_id=dues[0].fields.get("archive_id"),
    )


_EVENTS: dict[str, Callable[[Sequence[DueDocument], Settings], EventData]] = {
    ARCHIVES.name: _archive,
    MESSAGES.name: _messages,
    CHUNKS.name: _chunks,
}
