"""Documents for tests: the fields that storing requires, and the fields that the test sets."""

from datetime import UTC, datetime
from typing import Any

from shared.core.ids import scope_id
from shared.models.reports import Report, Summary
from shared.models.sources import Archive
from shared.models.threads import Chunk, Message, Thread

CREATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def new_archive(id_: str = "a1", **fields: Any) -> Archive:
    values: dict[str, Any] = {
        "id": id_, "file_hash": "0" * 64, "file_size_bytes": 1, "source": "list", "source_url": "upload",
        "ingestion_date": CREATED, "created_at": CREATED, "file_path": f"{id_}/x.mbox",
    }  # fmt: skip
    return Archive(**{**values, **fields})


def new_thread(id_: str = "t1", **fields: Any) -> Thread:
    values: dict[str, Any] = {
        "id": id_, "root_message_id": f"<{id_}>", "archive_id": "a1", "created_at": CREATED,
    }  # fmt: skip
    return Thread(**{**values, **fields})


def new_message(id_: str = "m1", thread: str = "t1", **fields: Any) -> Message:
    values: dict[str, Any] = {
        "id": id_, "message_id": f"<{id_}>", "archive_id": "a1", "archive_ids": ["a1"], "thread_id": thread,
        "body_normalized": "hello", "created_at": CREATED,
    }  # fmt: skip
    return Message(**{**values, **fields})


def new_chunk(id_: str = "c1", thread: str = "t1", message: str = "m1", **fields: Any) -> Chunk:
    values: dict[str, Any] = {
        "id": id_, "message_key": message, "message_id": f"<{message}>", "archive_id": "a1",
        "thread_id": thread, "chunk_index": 0, "text": "hello", "token_count": 2, "start_offset": 0,
        "end_offset": 5, "created_at": CREATED,
    }  # fmt: skip
    return Chunk(**{**values, **fields})


def new_summary(id_: str, thread: str = "t1", **fields: Any) -> Summary:
    values: dict[str, Any] = {
        "id": id_, "scope": thread, "thread_id": thread, "thread_ids": [thread], "summary_type": "thread",
        "title": "A summary", "content_markdown": "", "content_html": "", "generated_by": "test",
        "generated_at": CREATED, "created_at": CREATED,
        "metadata": {"has_consensus": False, "consensus_type": None},
    }  # fmt: skip
    return Summary(**{**values, **fields})


def new_report(summary: Summary, **fields: Any) -> Report:
    values: dict[str, Any] = {
        "id": scope_id(summary.scope), "report_id": f"rpt-{summary.id}", "scope": summary.scope, "summary_id": summary.id,
        "thread_id": summary.thread_id, "title": summary.title, "published_at": CREATED,
        "created_at": CREATED,
    }  # fmt: skip
    return Report(**{**values, **fields})
