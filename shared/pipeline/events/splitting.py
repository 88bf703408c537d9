"""Splits an event whose lists make it too large, so that it stays far under the broker's 256 KB."""

from typing import Any, TypeVar

from shared.core.errors import PermanentError
from shared.pipeline.event_types import (
    ChunksPrepared,
    EmbeddingsGenerated,
    EventData,
    JSONParsed,
    SummarizationRequested,
)

MAX_EVENT_BYTES = 64 * 1024
Data = TypeVar("Data", bound=EventData)


class EventTooLargeError(PermanentError):
    """An event is too large and cannot be split."""


# The list to cut, the lists that run beside it, and the field that counts it.
_CUTS: dict[type[EventData], tuple[str, tuple[str, ...], str | None]] = {
    JSONParsed: ("message_keys", ("message_threads",), "message_count"),
    ChunksPrepared: ("chunk_ids", ("chunk_threads", "chunk_messages"), "chunk_count"),
    EmbeddingsGenerated: ("chunk_ids", ("chunk_threads",), "embedding_count"),
    SummarizationRequested: ("thread_ids", ("content_hashes",), None),
}


def split_to_fit(data: Data, *, limit: int = MAX_EVENT_BYTES, overhead: int = 4096) -> list[Data]:
    """The same announcement in as many events as needed; `overhead` is for the envelope and its tokens."""
    size = len(data.model_dump_json().encode()) + overhead
    if size <= limit:
        return [data]
    cut = _CUTS.get(type(data))
    if cut is None or len(getattr(data, cut[0])) <= 1:
        raise EventTooLargeError(f"{type(data).__name__} has {size} bytes, at most {limit} are sent")
    middle = _middle(data, cut[0])
    return [
        part
        for piece in (slice(None, middle), slice(middle, None))
        for part in split_to_fit(_cut(data, piece), limit=limit, overhead=overhead)
    ]


def _middle(data: EventData, name: str) -> int:
    """Half-way, moved to the nearest border between two threads: a thread stays whole where it can."""
    half = len(getattr(data, name)) // 2
    threads = getattr(data, "message_threads", None) or getattr(data, "chunk_threads", [])
    borders = [i for i in range(1, len(threads)) if threads[i] != threads[i - 1]]
    return min(borders, key=lambda border: abs(border - half), default=half)


def _cut(data: Data, piece: slice) -> Data:
    name, beside, counter = _CUTS[type(data)]
    items = getattr(data, name)[piece]
    changes: dict[str, Any] = {name: items}
    changes |= {field: getattr(data, field)[piece] for field in beside}
    if counter is not None:
        changes[counter] = len(items)
    if isinstance(data, JSONParsed) and data.message_threads:
        changes["thread_ids"] = list(dict.fromkeys(changes["message_threads"]))
        changes["thread_count"] = len(changes["thread_ids"])
    if isinstance(data, ChunksPrepared) and data.chunk_messages:
        changes["message_keys"] = list(dict.fromkeys(changes["chunk_messages"]))
    if isinstance(data, ChunksPrepared | EmbeddingsGenerated) and data.thread_ids:
        changes["thread_ids"] = _threads(data, piece)
    return data.model_copy(update=changes)


def _threads(data: ChunksPrepared | EmbeddingsGenerated, piece: slice) -> list[str]:
    """Those of the piece's chunks; and with the first piece, those that have no chunk in the event."""
    with_chunks = list(dict.fromkeys(data.chunk_threads[piece]))
    if piece.start is not None:
        return with_chunks
    named = set(data.chunk_threads)
    return [*with_chunks, *(thread_id for thread_id in data.thread_ids if thread_id not in named)]
