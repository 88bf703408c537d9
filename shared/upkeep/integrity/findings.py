"""The kinds of inconsistency, and how each is repaired."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

PAGE_SIZE = 100  # rows that a check holds at a time, however much is stored


class FindingKind(StrEnum):
    CHUNK_WITHOUT_VECTOR = "chunk_without_vector"  # embedded again
    VECTOR_WITHOUT_CHUNK = "vector_without_chunk"  # deleted
    VECTOR_MISPLACED = "vector_misplaced"  # its thread is corrected
    MESSAGE_WITHOUT_CHUNKS = "message_without_chunks"  # chunked again
    CHUNK_WITHOUT_MESSAGE = "chunk_without_message"  # deleted, with its vector
    MESSAGE_WITHOUT_THREAD = "message_without_thread"  # threaded again
    THREAD_COUNT_WRONG = "thread_count_wrong"  # its archives parsed again, or threaded again
    CITATION_BROKEN = "citation_broken"  # the summary is made again
    SUMMARY_WITHOUT_THREAD = "summary_without_thread"  # deleted, with its report
    SUMMARY_WITHOUT_REPORT = "summary_without_report"  # published again
    REPORT_WITHOUT_SUMMARY = "report_without_summary"  # deleted
    ENTRY_WITHOUT_THREAD = "entry_without_thread"  # the entry forgets the thread
    ARCHIVE_CHANGED = "archive_changed"  # these are for a person to judge
    MESSAGE_CHANGED = "message_changed"
    MESSAGE_MISSING = "message_missing"
    MESSAGE_ADDED = "message_added"
    MESSAGE_MOVED = "message_moved"
    THREAD_CHANGED = "thread_changed"
    EVIDENCE_CHANGED = "evidence_changed"


@dataclass(frozen=True)
class Finding:
    kind: FindingKind
    container: str
    id: str
    partition: str
    detail: str
    data: dict[str, Any] = field(default_factory=dict)  # what its repair needs

    def shown(self) -> dict[str, Any]:
        return {
            "kind": self.kind.value,
            "container": self.container,
            "id": self.id,
            "partition": self.partition,
            "detail": self.detail,
        }
